"""pyproject.toml, requirements.lock and environment.yml describe one environment."""

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml

from ofancore.bundle import code_files
from ofancore.provenance import commit

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCK = (ROOT / "requirements.lock").read_text()
CONDA = yaml.safe_load((ROOT / "environment.yml").read_text())


def name_of(requirement: str) -> str:
    return re.match(r"[A-Za-z0-9._-]+", requirement)[0].lower().replace("_", "-")


def locked_versions() -> dict[str, set[str]]:
    """Every name in the lock with its versions: several where a marker splits them."""
    versions: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([a-z0-9._-]+)==([^\s;\\]+)", LOCK, re.MULTILINE):
        versions.setdefault(name, set()).add(version)
    return versions


def conda_versions() -> dict[str, str]:
    """The pinned packages of both sections; `python` and `pip` are the conda environment's own."""
    plain = [entry for entry in CONDA["dependencies"] if isinstance(entry, str)]
    piped = [entry for section in CONDA["dependencies"] if isinstance(section, dict) for entry in section["pip"]]
    pinned = [entry.replace("==", "=").split("=") for entry in plain + piped if name_of(entry) not in ("python", "pip")]
    return dict(pinned)


DIRECT = sorted(
    name_of(requirement) for group in [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()] for requirement in group
)


@pytest.mark.parametrize("name", DIRECT)
def test_direct_dependency_has_one_version_in_lock_and_conda(name):
    # One version for every Python: a result must not depend on which of them made it.
    assert locked_versions().get(name) == {conda_versions().get(name)}


def test_conda_names_only_direct_dependencies():
    assert sorted(conda_versions()) == DIRECT


def test_conda_and_project_allow_the_same_pythons():
    python = next(entry for entry in CONDA["dependencies"] if isinstance(entry, str) and name_of(entry) == "python")
    assert python == "python" + PROJECT["requires-python"]


def test_every_lock_entry_is_pinned_and_hashed():
    entries = re.split(r"\n(?=\S)", re.sub(r"^\s*#.*\n?", "", LOCK, flags=re.MULTILINE).strip())
    assert len(entries) > len(DIRECT)
    for entry in entries:
        assert re.match(r"[a-z0-9._-]+==[^\s;\\]+", entry), entry
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", entry), entry


def test_lock_holds_no_address_and_no_path():
    assert not re.search(r"https?:|://|--(extra-)?index-url|--find-links|file:|(^|\s)/\w", LOCK)


DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")


def test_the_container_copies_files_that_are_there():
    copied = [line.split()[2:-1] for line in re.findall(r"^COPY --chown=ofan .*$", DOCKERFILE, re.MULTILINE)]
    sources = [name for names in copied for name in names]
    assert len(sources) > 15
    ignored = {line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")}
    for name in sources:
        assert (ROOT / name).exists(), name
        assert name not in ignored
    tracked = {path.name for path in ROOT.iterdir() if path.suffix in (".md", ".toml", ".cff", ".yml", ".lock", ".json")}
    assert tracked <= set(sources)
    assert DOCKERFILE.count("COPY") == len(copied) + DOCKERFILE.count("# COPY")


def test_the_container_is_pinned_locked_and_not_root():
    image = re.search(r"^FROM (\S+)$", DOCKERFILE, re.MULTILINE)[1]
    assert re.fullmatch(r"python:3\.1[123]-slim", image)
    assert "--require-hashes -r requirements.lock" in DOCKERFILE
    assert DOCKERFILE.index("\nUSER ofan\n") < DOCKERFILE.index("\nCMD ")
    assert (
        DOCKERFILE.index("COPY --chown=ofan requirements.lock") < DOCKERFILE.index("require-hashes") < DOCKERFILE.index("ofancore ofancore")
    )
    assert not re.search(r"https?://", DOCKERFILE)


DOCKERFILE = re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text())
IGNORED = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")]


def test_the_container_is_given_what_is_there_and_all_that_make_and_the_tests_need():
    """Without a container engine: sources of COPY exist and are not ignored, and nothing of the project is forgotten."""
    copied = {
        name for line in re.findall(r"^COPY (.*)$", DOCKERFILE, re.MULTILINE) for name in line.split()[:-1] if not name.startswith("--")
    }
    assert [name for name in copied if not (ROOT / name).exists() or name in IGNORED] == []
    known = {path.split("/")[0] for path in code_files(ROOT, commit())}
    assert known - copied <= {"results", "Dockerfile", ".dockerignore", ".gitattributes", ".gitignore"}


def test_the_container_sets_up_as_make_does():
    """The same pip, the same stamp, a Python that the lock is for."""
    (python,) = re.findall(r"^FROM python:(3\.\d+)-slim$", DOCKERFILE, re.MULTILINE)
    assert f"Programming Language :: Python :: {python}" in PROJECT["classifiers"]
    makefile = re.sub(r"\\\n", " ", (ROOT / "Makefile").read_text())
    for word in ("--require-hashes -r requirements.lock", "--disable-pip-version-check"):
        assert word in DOCKERFILE
        assert word in makefile
    assert "touch .venv/.locked" in DOCKERFILE
    assert "$(VENV)/.locked: requirements.lock" in makefile
    (command,) = re.findall(r"^CMD (.*)$", DOCKERFILE, re.MULTILINE)
    program, target = json.loads(command)
    assert program == "make"
    assert re.search(rf"^{target}:", makefile, re.MULTILINE)
