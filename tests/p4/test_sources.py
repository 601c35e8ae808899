"""The P4 sources as the package sees them: sizes, and a digest of what a compiler reads."""

import re
import shutil
import subprocess

import pytest

from ofancore.errors import ScenarioError
from ofancore.fabric import Fabric
from ofancore.p4 import sources
from ofancore.p4.sources import P4, PROGRAMS, digest, program_file, sizes, source_text, without_comments


@pytest.mark.parametrize("radix", [8, 12, 16, 30, 32, 64])
def test_sizes_follow_the_fabric(radix):
    fabric, size = Fabric.build(radix), sizes(radix)
    assert size.edges == fabric.n_edges
    assert size.pointers == 2 * fabric.n_edges
    assert size.routes >= fabric.n_edges + fabric.S
    # all 64 orders of a healthy switch, and of one schedule with weights
    assert size.slots >= 64 * fabric.A + 64 * (fabric.A * fabric.C - 1)
    assert size.slots >= 2 << size.hash_bits
    assert size.pointers <= 1 << 12, "pointer_t"
    assert size.edges <= 1 << 11, "group_t"


@pytest.mark.skipif(not shutil.which("cpp"), reason="needs the C preprocessor")
@pytest.mark.parametrize("radix", [8, 16, 32, 64])
def test_sizes_are_those_of_the_preprocessor(radix):
    names = ["EDGES", "POINTERS", "ROUTES", "SLOTS", "HASH_BITS"]
    text = '#include "sizes.p4"\n' + "".join(f"size_{name} {name}\n" for name in names)
    done = subprocess.run(
        ["cpp", "-P", f"-DRADIX={radix}", "-I", str(P4 / "include")], input=text, capture_output=True, text=True, check=True
    )
    found = {name: eval(value.replace("/", "//")) for name, value in re.findall(r"size_(\w+) (.*)", done.stdout)}
    size = sizes(radix)
    assert found == dict(zip(names, (size.edges, size.pointers, size.routes, size.slots, size.hash_bits)))


@pytest.mark.parametrize("radix", [7, 6, 66, 0, -8])
def test_a_radix_that_cannot_be_built_is_refused(radix):
    with pytest.raises(ScenarioError, match=f"radix = {radix}: must be even, from 8 to 64"):
        digest("ofan", "tofino", radix)


def test_unknown_names_are_refused():
    with pytest.raises(ScenarioError, match="program = 'rr'"):
        digest("rr", "tofino", 8)
    with pytest.raises(ScenarioError, match="target = 'ebpf'"):
        digest("ofan", "ebpf", 8)


def test_every_build_has_a_digest_of_its_own():
    found = [digest(p, t, r) for p in PROGRAMS for t in sources.TARGETS for r in (8, 16, 32, 64)]
    assert len(set(found)) == len(found)


def test_comments_do_not_change_the_digest_and_tokens_do(tmp_path, monkeypatch):
    for folder in ("include", "ofan"):
        shutil.copytree(P4 / folder, tmp_path / folder)
    before = digest("ofan", "tofino", 8)
    monkeypatch.setattr(sources, "P4", tmp_path)
    assert digest("ofan", "tofino", 8) == before
    forward = tmp_path / "include" / "forward.p4"
    forward.write_text("// a comment\n\n/* and\nanother */\n" + forward.read_text().replace("    apply {", "\tapply   {  // so"))
    assert digest("ofan", "tofino", 8) == before
    forward.write_text(forward.read_text().replace("meta.dead == 1", "meta.dead == 0"))
    assert digest("ofan", "tofino", 8) != before


def test_a_target_has_a_digest_over_its_own_language_alone(tmp_path, monkeypatch):
    for folder in ("include", "ofan"):
        shutil.copytree(P4 / folder, tmp_path / folder)
    monkeypatch.setattr(sources, "P4", tmp_path)
    before = {target: digest("ofan", target, 8) for target in sources.TARGETS}
    links = tmp_path / "include" / "tna" / "links.p4"
    links.write_text(links.read_text().replace("dead = 1", "dead = 0"))
    assert digest("ofan", "v1model", 8) == before["v1model"]
    assert digest("ofan", "tofino", 8) != before["tofino"]
    assert digest("ofan", "tofino2", 8) != before["tofino2"]
    target = tmp_path / "include" / "target.p4"
    after = digest("ofan", "tofino", 8)
    target.write_text(target.read_text().replace("PACKET_GENERATOR 6\n", "PACKET_GENERATOR 7\n"))
    assert digest("ofan", "tofino", 8) == after


def test_what_a_target_reads_is_what_the_preprocessor_leaves():
    for target, tofino in sources.TARGETS.items():
        text = source_text(program_file("ofan"), tofino)
        assert ("RegisterAction" in text, "v1model" in text) == ((True, False) if tofino else (False, True)), target
        architectures = ("<v1model.p4>", "<tna.p4>", "<t2na.p4>")
        assert [name for name in architectures if name in text] == [architectures[tofino]]
        assert "__TARGET_TOFINO__" not in text


def test_the_programs_differ_in_the_choice_alone():
    texts = {program: source_text(program_file(program)).splitlines() for program in PROGRAMS}
    own = {program: [line for line in text if line not in texts["ofan"]] for program, text in texts.items()}
    assert own == {"ofan": [], "pofan": ["#define POINTERS_OF_PIPES"], "ecmp": ["#define CHOOSE_BY_HASH"]}


def test_every_include_is_guarded():
    for path in (P4 / "include").rglob("*.p4"):
        text = without_comments(path.read_text())
        assert "#ifndef" in text or "#ifdef __TARGET_TOFINO__" in text, path
