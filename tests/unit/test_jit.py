"""Machine code on disk: whatever is wrong with it costs time and nothing else."""

import ast
import os
import shutil
import subprocess
import sys

import pytest

from ofancore import jit
from ofancore.jit import cache


@pytest.fixture
def code(tmp_path):
    file = cache.Forgiving(str(tmp_path), "kernel", source_stamp=1)
    file.save("signature", ("machine", "code"))
    assert file.load("signature") == ("machine", "code")
    return file


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("kept", [0, 1, 10, -1])
def test_files_cut_short_are_made_anew(code, tmp_path, suffix, kept):
    (path,) = tmp_path.glob(f"*.{suffix}")
    path.write_bytes(path.read_bytes()[:kept])
    assert code.load("signature") is None
    code.save("signature", ("anew",))
    assert code.load("signature") == ("anew",)


@pytest.mark.parametrize("at", [0, 40, -1])
def test_a_flipped_byte_is_noticed(code, tmp_path, at):
    (path,) = tmp_path.glob("*.nbc")
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    assert code.load("signature") is None
    code.save("signature", ("anew",))
    assert code.load("signature") == ("anew",)


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_files_of_something_else_are_made_anew(code, tmp_path, suffix):
    (path,) = tmp_path.glob(f"*.{suffix}")
    path.write_bytes(b"\0" * 1000)
    assert code.load("signature") is None
    code.save("signature", ("anew",))
    assert code.load("signature") == ("anew",)


def test_what_cannot_be_written_is_not_kept(tmp_path):
    (tmp_path / "file").touch()
    file = cache.Forgiving(str(tmp_path / "file"), "kernel", source_stamp=1)
    file.save("signature", ("machine", "code"))
    assert file.load("signature") is None


def test_what_was_compiled_of_sources_that_changed_meanwhile_is_not_kept(tmp_path, monkeypatch):
    file = cache.Forgiving(str(tmp_path), "kernel", source_stamp=1)
    monkeypatch.setattr(cache, "digest_of", lambda names: "another")
    file.save("signature", ("machine", "code"))
    assert file.load("signature") is None


def test_who_waits_for_a_compilation_is_told_once():
    told = []
    add = jit.kernel(lambda a, b: a + b, cache=False)
    double = jit.kernel(lambda a: 2 * a, cache=False)
    with jit.before_compiling(lambda: told.append("wait")):
        assert add(1, 2) == 3
        assert add(3, 4) == 7
        assert double(2) == 4
    assert told == ["wait"]
    with jit.before_compiling(lambda: told.append("again")):
        assert add(5, 6) == 11
    assert told == ["wait"]
    assert double(2.0) == 4.0  # compiled anew, when nobody wants to know
    assert told == ["wait"]


def folder(tmp_path, **environment):
    """Where a process of that environment keeps its machine code."""
    line = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path = {sys.path!r}; import ofancore.jit as j; print(j.CACHE)"],
        env={"TMPDIR": str(tmp_path / "tmp"), **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return line.stdout.strip()


def test_places_that_cannot_be_written_are_passed_over(tmp_path):
    (tmp_path / "tmp").mkdir()
    (tmp_path / "file").touch()
    file = str(tmp_path / "file")
    assert folder(tmp_path, HOME=str(tmp_path)).startswith(f"{tmp_path}/.cache/ofancore/")
    assert folder(tmp_path, HOME=file).startswith(f"{tmp_path}/tmp/ofancore-")
    assert folder(tmp_path, HOME=str(tmp_path), OFAN_CACHE_DIR=f"{tmp_path}/own").startswith(f"{tmp_path}/own/")
    assert folder(tmp_path, HOME=str(tmp_path), OFAN_CACHE_DIR=file) == "None"  # as asked, or nowhere


def test_no_two_columns_share_a_name():
    """`layout` names columns by unpacking ranges, where a second use of a name would go unnoticed."""
    tree = ast.parse((jit.PACKAGE / "engine" / "layout.py").read_text())
    names = [node for statement in tree.body if isinstance(statement, ast.Assign) for node in ast.walk(statement)]
    targets = [node.id for node in names if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    assert len(targets) == len(set(targets)), sorted({name for name in targets if targets.count(name) > 1})


KERNEL = "from ofancore.jit import kernel\n\n\n@kernel\ndef add(a, b):\n    return a + b\n"
CALL = """
from ofancore.jit import before_compiling
from ofancore.small import add
with before_compiling(lambda: print("compiles")):
    print(add(1, 2))
"""


def test_checkouts_of_the_same_sources_share_machine_code(tmp_path):
    def said(checkout: str) -> list[str]:
        environment = {"HOME": str(tmp_path), "PYTHONPATH": str(tmp_path / checkout), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run([sys.executable, "-c", CALL], env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.split()

    for checkout in ("one", "two"):
        shutil.copytree(jit.PACKAGE, tmp_path / checkout / "ofancore", ignore=shutil.ignore_patterns("__pycache__"))
        (tmp_path / checkout / "ofancore/small.py").write_text(KERNEL)
    os.utime(tmp_path / "two/ofancore/small.py", (0, 0))
    assert [said(checkout) for checkout in ("one", "two", "one")] == [["compiles", "3"], ["3"], ["3"]]
    (tmp_path / "two/ofancore/small.py").write_text(KERNEL.replace("+", "-"))
    assert said("two") == ["compiles", "-1"]
