"""What the record in a figure, an animation or the report must be like before anything is told from it (see `provenance.py`)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ofancore.reading import is_text, parts

DEEPEST = 40  # levels
Hex = Annotated[str, Field(pattern="^[0-9a-f]{7,64}$")]


class Part(BaseModel):
    """Strict in what it knows; a later version may say more."""

    model_config = ConfigDict(extra="allow", strict=True)


class Commit(Part):
    id: Hex
    changed: bool


class RawFile(Part):
    sha256: str
    scenarios: str
    runs: int
    numba: str = ""
    numpy: str = ""


class Experiment(Part):
    scenario: dict[str, Any]
    schemes: list[str]
    seeds: int


class Drawn(Part):
    """How a notebook draws a figure."""

    notebook: str | None = None
    category: str | None = None
    parameters: dict[str, Any] = {}


class FigureOfReport(Drawn):
    experiments: list[str]


class Record(Drawn):
    """Digests by path, raw files by path, schemes and experiments as in a config."""

    figure: str
    sources: str
    commit: Commit | None = None
    versions: dict[str, str]
    files: dict[str, str]
    runs: dict[str, RawFile]
    inputs: dict[str, str]
    schemes: dict[str, dict[str, Any]]
    experiments: dict[str, Experiment]
    config: str | None = None
    results: str = "results"
    # of an animation or the report
    made_by: str = ""
    command: Annotated[list[str], Field(min_length=1)] = []
    rule: str = ""
    folder: str = ""
    figures: dict[str, FigureOfReport] = {}


def damage(record: dict) -> str:
    """What is wrong with a record, by its first key; empty if nothing is."""
    for key, level, value in parts(record):
        if level > DEEPEST:
            return f"{key[:DEEPEST]}...: more than {DEEPEST} levels"
        if not is_text(value):
            return f"{key}: holds half of a surrogate pair, which is no text"
    try:
        Record.model_validate(record)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return ""
