"""Files from outside: what is given twice, endless or explosive is refused at once, in one line."""

import os
import time

import pytest

from ofancore.errors import ScenarioError, brief
from ofancore.reading import DEEPEST, LARGEST_FILE, parse_json, parse_yaml, read_yaml

LAUGHS = "a0: &a0 [x, x, x, x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 30))


def refusal(call, *arguments) -> str:
    began = time.monotonic()
    with pytest.raises(ScenarioError) as caught:
        call(*arguments)
    assert time.monotonic() - began < 5
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1000
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\nb:\n  c: 1\n  'c': [2]\n", "b.c = [2]: is given twice, on lines 3 and 4"),
        ('{"a": 1, "a": 2}', "a = 2: is given twice, on line 1"),
        ("a: [{}, {x: 1, x: 2}]", "a.1.x = 2: is given twice, on line 1"),
        (LAUGHS, "file = 'f': is not YAML: more than 400000 values"),
        ("a: &a [*a]", "file = 'f': is not YAML: the alias a is part of what it stands for"),
        ("[" * 100_000, f"file = 'f': is not YAML: more than {DEEPEST} levels"),
        ("a: *b", "file = 'f': is not YAML: found undefined alias 'b'"),
        ("a: " + "9" * 5000, "file = 'f': is not YAML: Exceeds the limit"),
    ],
)
def test_texts_that_are_refused(text, line):
    assert refusal(parse_yaml, text, "file", "f").startswith(line)


def test_aliases_and_merged_keys_are_taken():
    assert parse_yaml("a: &a {x: 1}\nb: {<<: *a, x: 2}\nc: {<<: *a}\nd: [*a, *a]", "file", "f")["d"] == [{"x": 1}] * 2


def test_json_that_is_refused():
    assert parse_json('{"a": [Infinity, 1e5]}', "option") == {"a": [float("inf"), 1e5]}
    assert refusal(parse_json, '{"b": {"a": 1, "a": 2}}', "option") == "a = 2: is given twice"
    assert refusal(parse_json, "{", "option").startswith("option = '{': is not JSON: ")
    assert refusal(parse_json, "[" * 100_000, "option").startswith("option = '[[")


def test_files_that_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with open(tmp_path / "large", "wb") as file:
        file.truncate(LARGEST_FILE + 1)
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for path, rule in [
        ("/dev/zero", "is not a plain file"),
        ("/dev/urandom", "is not a plain file"),
        (tmp_path / "pipe", "is not a plain file"),
        (tmp_path, "cannot be read: Is a directory"),
        (tmp_path / "none", "cannot be read: No such file or directory"),
        (tmp_path / "large", "is too large: at most 16 MiB are read"),
        (tmp_path / "binary", "is not YAML: 'utf-8' codec can't decode"),
        ("a\0b", "is not YAML: embedded null byte"),
    ]:
        assert refusal(read_yaml, path, "file").startswith(f"file = {str(path)!r}: {rule}")


def test_values_of_any_size_are_shown_briefly():
    deep, wide = [], {}
    for _ in range(10_000):
        deep = [deep]
    for _ in range(50):
        wide = {str(i): wide for i in range(12)}
    for value in (deep, wide, "x" * 10**7, 10**5000, [10**5000], "a\nb", [[1] * 10**6] * 10):
        assert len(brief(value)) <= 120
        assert brief(value).isprintable()
    assert brief(10**5000) == "a number of 16610 bits"
    assert [brief(v) for v in (10**30, [3, 5, 3], {"a": None}, "x")] == [str(10**30), "[3, 5, 3]", "{'a': None}", "'x'"]
