"""Input from outside, read warily: plain files of bounded size, YAML and JSON that say everything once and stay small when expanded."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from ofancore.errors import ScenarioError

LARGEST_FILE = 16 << 20  # bytes
MOST_VALUES = 400_000  # of a document, what an alias stands for being counted each time
DEEPEST = 100  # levels of a document


def read_yaml(path: str | Path, key: str) -> Any:
    """The document of a YAML (or JSON) file. ScenarioError names `key`, the path and why the file cannot be used."""
    return parse_yaml(read_text(path, key), key, str(path))


def parse_yaml(text: str, key: str, value: str) -> Any:
    """The one document of a text. ScenarioError names `key` and `value`, or the key that is given twice."""
    try:
        return yaml.load(text, _Loader)
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a date or a number that cannot be
        raise ScenarioError(key, value, "is not YAML: " + " ".join(str(error).split())) from None


def parse_json(text: str, key: str) -> Any:
    """The value of a JSON text. ScenarioError names `key`, or the key that is given twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        data: dict[str, Any] = {}
        for name, value in pairs:
            if name in data:
                raise ScenarioError(name, value, "is given twice")
            data[name] = value
        return data

    try:
        return json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise ScenarioError(key, text, f"is not JSON: {error}") from None


def parts(data: Any) -> Iterator[tuple[str, int, Any]]:
    """All that mappings and lists hold, their keys too: (dotted key, level below `data`, value), outer ones first. Of any depth."""
    rest = [("", 0, data)]
    while rest:
        key, level, value = rest.pop()
        yield key, level, value
        inner = list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
        for name, held in reversed(inner):
            at = f"{key}.{name}" if key else str(name)
            rest.append((at, level + 1, held))
            if isinstance(name, str):
                rest.append((at, level + 1, name))


def is_text(value: Any) -> bool:
    """False for a string that UTF-8 cannot encode: one half of a surrogate pair is in it."""
    return not (isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value))


def read_text(path: str | Path, key: str, what: str = "YAML") -> str:
    """The text of a plain file. ScenarioError names `key`, the path and why the file cannot be used; `what` it should hold."""
    data = read_bytes(path, key, what)
    try:
        return data.decode()
    except ValueError as error:
        raise ScenarioError(key, str(path), f"is not {what}: {error}") from None


def read_bytes(path: str | Path, key: str, what: str = "a file") -> bytes:
    """What a plain file holds. ScenarioError names `key`, the path and why the file cannot be used."""
    try:
        # Nonblocking: to open a pipe would otherwise wait for its writer.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ScenarioError(key, str(path), "is not a plain file")
            data = file.read(LARGEST_FILE + 1)
        if len(data) > LARGEST_FILE:
            raise ScenarioError(key, str(path), f"is too large: at most {LARGEST_FILE >> 20} MiB are read")
        return data
    except OSError as error:
        raise ScenarioError(key, str(path), f"cannot be read: {error.strerror}") from None
    except ValueError as error:  # a name that no file can have
        raise ScenarioError(key, str(path), f"is not {what}: {error}") from None


class _Loader(yaml.SafeLoader):
    """Plain data only. YAML itself lets the last of equal keys win, and a few lines of aliases stand for any amount of data."""

    def __init__(self, text: str):
        super().__init__(text)
        self._path: list[str] = []
        self._values = 0
        self._sizes: dict[int, int] = {}  # of the nodes that are complete, by id

    def compose_node(self, parent, index):
        event, before = self.peek_event(), self._values
        self._path.append(str(index.value if isinstance(index, yaml.ScalarNode) else index))
        if len(self._path) > DEEPEST:
            raise yaml.MarkedYAMLError(None, None, f"more than {DEEPEST} levels", event.start_mark)
        node = super().compose_node(parent, index)
        if isinstance(event, yaml.AliasEvent):
            if id(node) not in self._sizes:
                raise yaml.MarkedYAMLError(None, None, f"the alias {event.anchor} is part of what it stands for", event.start_mark)
            self._values += self._sizes[id(node)]
        else:
            self._values += 1
            self._sizes[id(node)] = self._values - before
        if self._values > MOST_VALUES:
            raise yaml.MarkedYAMLError(None, None, f"more than {MOST_VALUES} values", event.start_mark)
        self._path.pop()
        return node

    def compose_mapping_node(self, anchor):
        node = super().compose_mapping_node(anchor)
        lines: dict[tuple[str, str], int] = {}
        for name, value in node.value:
            if isinstance(name, yaml.ScalarNode):  # another one cannot be made a key
                line = name.start_mark.line + 1
                before = lines.setdefault((name.tag, name.value), 0)
                if before:
                    key = ".".join([*self._path[1:], name.value])
                    where = f"on line {line}" if line == before else f"on lines {before} and {line}"
                    raise ScenarioError(key, self.construct_object(value, deep=True), f"is given twice, {where}")
                lines[name.tag, name.value] = line
        return node
