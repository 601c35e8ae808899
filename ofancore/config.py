"""The grid of experiments: what `config/*.yaml` may say, and its expansion into run groups.

An experiment is a base scenario, axes to sweep (dotted scenario key -> values; several axes make their product), an
optional list of explicit points, the schemes that run in it, what is varied of single ones and the number of seeds. A
*run group* is one scheme of one experiment: one job of the pipeline, one file under `results/raw`. Everything is checked
before the first job starts, every scenario included; a refusal names the dotted key, the value and the rule. Here is what a key may be
by itself; what keys must be to each other is in `config_checks.py`.

    python -m ofancore.config schema                      print config/schema.yaml
    python -m ofancore.config check config/paper.yaml     status 2 and one line if it is not valid
    python -m ofancore.config cost config/paper.yaml      packet-hops and expected seconds of each experiment
    python -m ofancore.config measure config/full.yaml   core-hours, from one seed of each run made now (see ofancore/cost.py)
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError, model_validator

from ofancore.balancers.definitions import FILE_KIND, from_file, with_code
from ofancore.config_checks import refuse_bad_keys, refuse_what_would_fail
from ofancore.console import exit_status
from ofancore.errors import ScenarioError
from ofancore.palette import STYLES
from ofancore.plan import Group, json_text
from ofancore.reading import is_text, parts, read_yaml

ROOT = Path(__file__).resolve().parent.parent

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=100)]  # files are named so
ScenarioPart = dict[str, Any]
DottedKey = Annotated[str, Field(pattern=r"^[a-z_]+(\.[a-z_]+)*$")]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Experiment(_Strict):
    """Runs that differ along stated axes only."""

    about: str = Field(description="What is varied, and why.")
    scenario: ScenarioPart = Field({}, description="Scenario keys (nested) that differ from the paper's setup.")
    sweep: dict[DottedKey, Annotated[list[Any], Field(min_length=1)]] = Field(
        {}, description="Dotted scenario key -> values; several keys make their product."
    )
    points: list[dict[DottedKey, Any]] = Field([], description="Explicit points (dotted scenario keys), each crossed with the sweep.")
    schemes: Annotated[list[Name], Field(min_length=1)] = Field(description="Labels out of `schemes`; one run group each.")
    one_at_a_time: dict[Name, Annotated[dict[DottedKey, Annotated[list[Any], Field(min_length=1)]], Field(min_length=1)]] = Field(
        {},
        description="Scheme -> its key (balancer.NAME) -> values: at every point it runs as it is and with one key at a time at a value.",
    )
    seeds: Annotated[int, Field(ge=1, le=1000)] | None = Field(None, description="Seeds a point, if other than the config's.")


class Figure(_Strict):
    """One executed notebook: SVG, PNG, HTML, numbers."""

    notebook: Name = Field(description="notebooks/figures/<notebook>.ipynb; several figures may share one.")
    category: Annotated[str, Field(min_length=1, max_length=200)] = Field(description="The heading in the report.")
    experiments: Annotated[list[Name], Field(min_length=1)] = Field(description="The experiments that the notebook reads.")
    parameters: dict[Name, JsonValue] = Field({}, description="Values for the notebook's parameters cell.")
    more: list[Annotated[str, Field(pattern=r"^(_[a-z0-9_]+\.csv|\.md)$")]] = Field(
        [], description="What it writes to tables/ beside <name>.csv: ends of names, after the figure's own."
    )


class Check(_Strict):
    """One measurable part of a claim; it passes when the measure's whole 95% interval lies within the band."""

    says: str = Field(description="The criterion in words.")
    experiment: Name
    measure: Literal["value", "ratio", "exponent"] = Field(
        description="value: mean of the metric; ratio: mean over that of `against`; exponent: fitted power of `along`, one fit a seed."
    )
    metric: Name = Field(description="A column of the raw tables, such as cct_inflation or queue_max_packets.")
    schemes: Annotated[list[Name], Field(min_length=1)] = Field(description="Each is measured on its own.")
    against: Name | None = Field(None, description="The scheme in a ratio's denominator.")
    along: DottedKey | None = Field(None, description="The swept key of an exponent.")
    where: dict[DottedKey, Any] = Field({}, description="Only these points (dotted scenario key -> value).")
    beyond: float | None = Field(None, description="Exponents: points with `along` of at least this.")
    at_least: float | None = None
    at_most: float | None = None

    @model_validator(mode="after")
    def _complete(self) -> Check:
        if (self.measure == "ratio") != (self.against is not None):
            raise ValueError("`against` belongs to measure = ratio, and a ratio needs it")
        if (self.measure == "exponent") != (self.along is not None):
            raise ValueError("`along` belongs to measure = exponent, and an exponent needs it")
        if self.at_least is None and self.at_most is None:
            raise ValueError("needs at_least, at_most or both")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            raise ValueError("at_least must not be above at_most")
        if self.beyond is not None and self.along is None:
            raise ValueError("`beyond` belongs to measure = exponent")
        return self


class ReportCheck(_Strict):
    """A part of a claim that compilers' reports on the P4 programs answer (data/p4/reports): a number without an interval."""

    says: str = Field(description="The criterion in words.")
    measure: Literal["share", "increment"] = Field(
        description="share: of what the chip has, taken by the whole program; increment: the same less that of `ecmp`."
    )
    quantity: Name = Field(description="A resource of the reports, such as sram; largest: the one of which most is taken, stages apart.")
    programs: Annotated[list[Literal["ofan", "pofan", "ecmp"]], Field(min_length=1)] = Field(description="Each is measured on its own.")
    targets: Annotated[list[Literal["tofino", "tofino2"]], Field(min_length=1)] = Field(description="Chips, each on its own.")
    radix: Annotated[int, Field(ge=8, le=64)]
    at_most: float


class Claim(_Strict):
    """A claim of the paper and what would make this artifact say that it reproduced."""

    text: str
    paper: str = Field(description="The paper's value.")
    source: str = Field(description="Where the paper says so.")
    figure: Name | None = Field(None, description="The figure that shows it.")
    checks: list[Check] = Field([], description="None, and no reports: listed as not yet measured.")
    reports: list[ReportCheck] = Field([], description="Checks of compilers' reports; one without a report counts as open.")


Claims = dict[Annotated[str, Field(pattern=r"^C[0-9]+$")], Claim]


class Config(_Strict):
    """A whole grid; `config/paper.yaml` is the default one."""

    # a path below the project: not absolute, and no `..` on the way
    results: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*/?$")] = Field(
        description="The folder that everything is written to."
    )
    seeds: Annotated[int, Field(ge=1, le=1000)] = Field(description="Seeds a point: 0, 1, ...")
    schemes: Annotated[dict[Name, ScenarioPart], Field(min_length=1)] = Field(
        description="Label -> the scenario's balancer. One of your own: {kind: own, module: FILE}, the file seen from the project."
    )
    experiments: Annotated[dict[Name, Experiment], Field(min_length=1)]
    figures: dict[Name, Figure]
    animation: bool = Field(False, description="Whether queues building up on the tree are drawn too, from two runs of their own.")
    notice: str | None = Field(None, description="Said above the verdicts, such as that the grid is too small for them to count.")
    claims: Annotated[Claims, BeforeValidator(lambda given: {} if given is None else given, json_schema_input_type=Claims | None)] = Field(
        {}, description="None: no verdicts, and no place for them."
    )

    def group(self, experiment: str, label: str) -> Group:
        e = self.experiments[experiment]
        balancer = with_code(self.schemes[label])
        seeds = self.seeds if e.seeds is None else e.seeds
        return Group(experiment, label, e.scenario, balancer, e.sweep, e.points, seeds, e.one_at_a_time.get(label, {}))

    def groups(self, experiments: list[str] | None = None) -> list[Group]:
        """The run groups of the given experiments (all of them by default), in the order of the config."""
        names = self.experiments if experiments is None else experiments
        return [self.group(name, label) for name in names for label in self.experiments[name].schemes]

    def names(self) -> dict[str, str]:
        """Label -> name in figures of the schemes that have no style of their own: the title in their file, else the label."""
        titles = {x: from_file(s["module"]).title for x, s in self.schemes.items() if s.get("kind") == FILE_KIND and s.get("module")}
        return {label: titles.get(label) or label for label in self.schemes if label not in STYLES}

    def experiments_of_claims(self) -> list[str]:
        used = {check.experiment for claim in self.claims.values() for check in claim.checks}
        return [name for name in self.experiments if name in used]


def _dotted(error: ValidationError) -> ScenarioError:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"] if part != "[key]") or "config"
    rule = "is not a key here" if first["type"] == "extra_forbidden" else first["msg"].removeprefix("Value error, ")
    if key == "results" and first["type"] == "string_pattern_mismatch":
        rule = "must be a folder below the project, of names without a leading dot (letters, digits, _ . -)"
    value = None if first["type"] == "missing" else first["input"]
    return ScenarioError(key, value, rule[0].lower() + rule[1:])


def load_config(source: str | Path | dict, scenarios: bool = True) -> Config:
    """Read and check a config (a file or a dict). ScenarioError for the first rule that is broken.

    `scenarios=False` looks at its keys only: not at scenarios, files of figures and what the checks of claims measure.
    """
    data = source if isinstance(source, dict) else read_yaml(source, "config")
    if not isinstance(data, dict):
        raise ScenarioError("config", str(source), "must hold keys, such as experiments and figures")
    for key, _, value in parts(data):
        if not is_text(value):
            raise ScenarioError(key, value, "holds half of a surrogate pair, which is no text")
    try:
        config = Config.model_validate(data)
    except ValidationError as error:
        raise _dotted(error) from None
    refuse_bad_keys(config)
    if scenarios:
        refuse_what_would_fail(config, ROOT)
    return config


SCHEMA_HEADER = "# Generated by `python -m ofancore.config schema > config/schema.yaml`; a test compares.\n"


def schema_text() -> str:
    return SCHEMA_HEADER + yaml.safe_dump(Config.model_json_schema(), sort_keys=True, width=120, allow_unicode=True)


def main(arguments: list[str]) -> int:
    match arguments:
        case ["schema"]:
            sys.stdout.write(schema_text())
        case ["check", path]:
            load_config(path)
            print(f"{path} is valid")
        case ["cost", path]:
            from ofancore.cost import cost_table

            print(cost_table(load_config(path)))
        case ["measure", path, *names]:
            from ofancore.cost import measured

            config = load_config(path)
            for name in names:
                if name not in config.experiments:
                    raise ScenarioError("experiments", name, f"must be one of {', '.join(config.experiments)}")
            for line in measured(config, names or list(config.experiments)):
                print(line, flush=True)
        case ["show", path]:
            print(json_text(load_config(path, scenarios=False).model_dump(mode="json")))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(exit_status("ofancore.config", lambda: main(sys.argv[1:])))
