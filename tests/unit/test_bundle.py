"""The archive: complete, consistent, the same bytes each time, with check sums and metadata that hold together."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tomllib
from pathlib import Path

import pytest
import yaml
from project import NAME, Project

from ofancore import bundle, crate
from ofancore.result import source_digest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    return Project(tmp_path_factory.mktemp("made") / "project").root


@pytest.fixture
def project(made, tmp_path, monkeypatch) -> Path:
    """A copy with the times of the original, as the project that is archived."""
    root = tmp_path / "project"
    shutil.copytree(made, root)
    monkeypatch.setattr(bundle, "ROOT", root)
    return root


def run(root: Path, *more: str) -> int:
    words = ["--config", root / "config/small.yaml", "--results", root / "results", "--out", root / "dist"]
    return bundle.main([*map(str, words), *more])


def git(folder: Path, *arguments: str) -> str:
    who = {f"GIT_{role}_{part}": "a@b" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    when = {"GIT_AUTHOR_DATE": "2026-02-03T04:05:06+00:00", "GIT_COMMITTER_DATE": "2026-02-03T04:05:06+00:00"}
    outside = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    done = subprocess.run(["git", *arguments], cwd=folder, env=outside | who | when, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def archive(root: Path) -> Path:
    (path,) = (root / "dist").iterdir()
    return path


def entries(path: Path) -> dict[str, bytes]:
    """Path below the archive's one folder -> content."""
    with tarfile.open(path) as tar:
        names = [m.name for m in tar.getmembers()]
        assert names == sorted(names)
        assert {name.split("/")[0] for name in names} == {path.name.removesuffix(".tar.xz")}
        return {m.name.partition("/")[2]: tar.extractfile(m).read() for m in tar.getmembers()}


def test_an_archive_holds_code_lock_runs_figures_and_report(project):
    assert run(project) == 0
    assert archive(project).name == f"ofan-0.1.0-sources-{source_digest()}.tar.xz"
    found = entries(archive(project))
    results = [
        "raw/one/ops.parquet", "raw/one/ofan.parquet", f"figures/{NAME}.svg", f"figures/{NAME}.png", f"figures/{NAME}.html",
        f"numbers/{NAME}.json", f"tables/{NAME}.csv", f"notebooks/{NAME}.ipynb", "claims.json", "comparison.json", "report/index.html",
        "figures/queues_on_the_tree.html",
    ]  # fmt: skip
    code = ["Snakefile", "requirements.lock", "CITATION.cff", "codemeta.json", "ofancore/run.sh", "config/small.yaml", "results/.gitignore"]
    assert set(found) > {*(f"results/{name}" for name in results), *code, "SHA256SUMS", "ro-crate-metadata.json"}
    for name in ("results/raw/one/ops.parquet", "requirements.lock"):
        assert found[name] == (project / name).read_bytes()


def test_check_sums_are_those_of_all_files(project, tmp_path):
    run(project)
    subprocess.run(["tar", "-xf", archive(project)], cwd=tmp_path, check=True)
    folder = tmp_path / archive(project).name.removesuffix(".tar.xz")
    done = subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    listed = {line.split("  ", 1)[1] for line in (folder / "SHA256SUMS").read_text().splitlines()}
    there = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    assert listed == there - {"SHA256SUMS"}
    assert os.access(folder / "ofancore/run.sh", os.X_OK)
    (folder / "Snakefile").write_text("changed")
    assert subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=folder, capture_output=True).returncode == 1


def test_a_second_archive_is_the_same_whoever_makes_it_and_when(project, made):
    run(project)
    first = archive(project).read_bytes()
    archive(project).unlink()
    for path in project.rglob("*"):
        if path.is_file() and "results" not in path.parts:
            os.utime(path, (1, 1))
    (project / "__pycache__").mkdir()
    (project / "__pycache__/a.pyc").write_bytes(b"a")
    run(project)
    assert archive(project).read_bytes() == first


def test_of_a_clone_what_git_has_is_taken_and_the_commit_named(project, capsys):
    (project / "stray.txt").write_text("mine")
    git(project, "init", "-q")
    git(project, "add", "--all", "--", ":!stray.txt")
    git(project, "commit", "-q", "-m", "a")
    head = git(project, "rev-parse", "HEAD")[:12]
    assert run(project) == 0
    assert archive(project).name == f"ofan-0.1.0-{head}.tar.xz"
    assert capsys.readouterr().err == ""
    assert "stray.txt" not in entries(archive(project))
    with tarfile.open(archive(project)) as tar:
        assert {m.mtime for m in tar.getmembers()} == {1770091506}  # of the commit
        assert {(m.uid, m.gid, m.uname, m.gname) for m in tar.getmembers()} == {(0, 0, "", "")}
    archive(project).unlink()
    (project / "config/new.yaml").write_text("a: b")
    assert run(project) == 0
    assert archive(project).name == f"ofan-0.1.0-{head}-changed.tar.xz"
    assert "with changes that are not committed" in capsys.readouterr().err
    assert entries(archive(project))["config/new.yaml"] == b"a: b"


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ("raw/one/ofan.parquet", "missing"),
        (f"figures/{NAME}.png", "missing"),
        (f"numbers/{NAME}.json", "missing"),
        ("figures/queues_on_the_tree.html", "missing"),
        ("claims.json", "missing"),
        ("comparison.json", "missing"),
        ("report/index.html", "missing"),
    ],
)
def test_incomplete_results_are_refused_by_name(project, capsys, lost, said):
    (project / "results" / lost).unlink()
    assert run(project) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"ofancore.bundle: {project}/results/{lost}: {said}")
    assert err.count("\n") == 1
    assert not (project / "dist").exists()


def test_results_that_do_not_belong_together_are_refused(project, capsys):
    results = project / "results"
    svg = (results / f"figures/{NAME}.svg").read_bytes()
    (results / f"figures/{NAME}.svg").write_bytes(b"<svg></svg>")
    assert run(project) == 2
    (results / f"figures/{NAME}.svg").write_bytes(svg.replace(source_digest().encode(), b"0123456789abcdef"))
    assert run(project) == 2
    (results / f"figures/{NAME}.svg").write_bytes(svg)
    os.utime(results / "report/index.html", (1, 1))
    assert run(project) == 2
    lines = capsys.readouterr().err.splitlines()
    expected = ["does not say what made it", "of other sources (0123456789abcdef", "older than the runs or the figures"]
    assert len(lines) == 3
    assert all(words in line for words, line in zip(expected, lines, strict=True))


def test_a_figure_of_other_runs_is_refused(tmp_path, monkeypatch, capsys):
    project = Project(tmp_path / "project")
    monkeypatch.setattr(bundle, "ROOT", project.root)
    project.simulate(cct_ns=0.75)  # and not drawn again
    assert run(project.root) == 2
    assert f"{NAME}.svg: drawn from another raw/one/ops.parquet" in capsys.readouterr().err
    project.draw()
    assert run(project.root, "--check") == 0
    assert not (project.root / "dist").exists()


# ---- metadata


@pytest.fixture
def graph(project) -> dict[str, dict]:
    run(project)
    data = json.loads(entries(archive(project))["ro-crate-metadata.json"])
    assert data["@context"][0] == "https://w3id.org/ro/crate/1.1/context"
    ids = [entity["@id"] for entity in data["@graph"]]
    assert len(set(ids)) == len(ids)
    return {entity["@id"]: entity for entity in data["@graph"]}


def references(value):
    if isinstance(value, dict):
        if set(value) == {"@id"}:
            yield value["@id"]
        else:
            for v in value.values():
                yield from references(v)
    elif isinstance(value, list):
        for v in value:
            yield from references(v)


def test_every_entity_that_is_named_is_described(graph):
    outside = (
        "https://w3id.org/ro/crate/1.1",
        "https://snakemake.github.io",
        "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE",
    )
    for entity in graph.values():
        for name in references(entity):
            assert name in graph or name in outside, (entity["@id"], name)


def test_every_file_that_is_described_is_there_with_its_size(graph, project):
    found = entries(archive(project))
    files = {i: e for i, e in graph.items() if "File" in e["@type"]}
    assert all(int(e["contentSize"]) == len(found[i]) for i, e in files.items())
    assert all(e["sha256"] == hashlib.sha256(found[i]).hexdigest() for i, e in files.items())
    assert {i for i in found if i.startswith("results/") and not i.endswith((".gitignore", ".compiled"))} <= set(files)
    for i, e in graph.items():
        if e["@type"] == "Dataset" and i != "./":
            assert any(path.startswith(i) for path in found)


def test_the_crate_says_what_the_profile_asks_for(graph):
    """Workflow Run Crate 0.5 and what it extends: the musts."""
    root, top = graph["./"], graph["ro-crate-metadata.json"]
    assert top["about"] == {"@id": "./"}
    assert {"@id": "https://w3id.org/ro/crate/1.1"} in top["conformsTo"]
    profiles = [x["@id"] for x in root["conformsTo"]]
    assert profiles == [
        f"https://w3id.org/{x}" for x in ("ro/wfrun/process/0.5", "ro/wfrun/workflow/0.5", "workflowhub/workflow-ro-crate/1.0")
    ]
    assert all(graph[i]["@type"] == "CreativeWork" and graph[i]["version"] for i in profiles)
    assert {"name", "description", "datePublished", "license"} <= set(root)
    main = graph[root["mainEntity"]["@id"]]
    assert main["@id"] == "Snakefile"
    assert main["@type"] == ["File", "SoftwareSourceCode", "ComputationalWorkflow"]
    assert graph[main["programmingLanguage"]["@id"]]["@type"] == "ComputerLanguage"
    assert all(graph[x["@id"]]["additionalType"] for x in [main["input"], *main["output"]])
    actions = [e for e in graph.values() if e["@type"] == "CreateAction"]
    assert {x["@id"] for x in root["mentions"]} == {e["@id"] for e in actions}
    assert all(e["instrument"]["@id"] in graph and e["result"] for e in actions)
    assert [e["@id"] for e in actions if e["instrument"]["@id"] == "Snakefile"] == ["#run"]


def test_a_figures_action_has_its_runs_its_files_and_its_times(graph):
    action = graph[f"#draw-{NAME}"]
    assert action["instrument"]["@id"] == "notebooks/figures/fig_queue_scaling.ipynb"
    assert [x["@id"] for x in action["object"]] == ["results/raw/one/ops.parquet", "results/raw/one/ofan.parquet"]
    assert f"results/figures/{NAME}.png" in [x["@id"] for x in action["result"]]
    assert (action["startTime"], action["endTime"]) == ("2026-01-01T00:00:00+00:00", "2026-01-01T00:00:09+00:00")
    assert "fit_from" in action["description"]


def test_codemeta_is_of_this_version():
    kept = json.loads((ROOT / "codemeta.json").read_text())
    assert kept == crate.codemeta(), "run: python -m ofancore.crate > codemeta.json"
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert kept["version"] == package["version"] == citation["version"]
    assert kept["license"].endswith(package["license"])
    assert citation["license"] == package["license"]
    assert kept["author"][0]["name"] == citation["authors"][0]["name"] == package["authors"][0]["name"]
    needed = {r["name"]: r["version"] for r in kept["softwareRequirements"]}
    assert [f"{name}{spec}" for name, spec in needed.items()] == package["dependencies"]
    people = [person["familyName"] for person in kept["referencePublication"]["author"]]
    assert people == [person["family-names"] for person in citation["preferred-citation"]["authors"]]
    assert kept["referencePublication"]["identifier"] == "arXiv:2507.21372"


def test_the_version_is_one():
    from ofancore import __version__

    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == __version__


def test_packing_in_pieces_gives_a_whole_archive():
    files = {"b": (b"b" * 20_000, False), "a/" + "x" * 200: (b"a", True)}
    data = b"".join(bundle.packed("top", files, 7))
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        assert {m.name: hashlib.sha256(tar.extractfile(m).read()).digest() for m in tar.getmembers()} == {
            f"top/{name}": hashlib.sha256(content).digest() for name, (content, _) in files.items()
        }
