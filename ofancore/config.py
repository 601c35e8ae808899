"""The grid of experiments: what `config/*.yaml` may say, and its expansion into run groups.

An experiment is a base scenario, axes to sweep (dotted scenario key -> values; several axes make their product), an
optional list of explicit points, the schemes that run in it, what is varied of single ones and the number of seeds. A
*run group* is one scheme of one experiment: one job of the pipeline, one file under `results/raw`. Everything is checked
before the first job starts, every scenario included; a refusal names the dotted key, the value and the rule.

    python -m ofancore.config schema                      print config/schema.yaml
    python -m ofancore.config check config/paper.yaml     status 2 and one line if it is not valid
    python -m ofancore.config cost config/paper.yaml      packet-hops and expected seconds of each experiment
    python -m ofancore.config measure config/full.yaml   core-hours, from one seed of each run made now (see ofancore/cost.py)
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from ofancore.balancers import BALANCERS
from ofancore.balancers.definitions import FILE_KIND, compile_all, from_file, with_code
from ofancore.balancers.own import Own
from ofancore.console import exit_status
from ofancore.errors import ScenarioError, brief
from ofancore.metrics import METRICS, OF_THREE_TIERS
from ofancore.notebook import NotebookError, declared
from ofancore.palette import STYLES
from ofancore.plan import Group, expand, json_text
from ofancore.reading import read_yaml

ROOT = Path(__file__).resolve().parent.parent
MOST_RUNS = 100_000  # of a scheme in an experiment
LONGEST_COMMAND = 100_000  # bytes of what a job is given on its command line, which Linux limits to 128 KiB
SET_BY_PIPELINE = ("figure", "source")  # parameters of every notebook of a figure

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
    category: str = Field(description="The heading in the report.")
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
    claims: dict[Annotated[str, Field(pattern=r"^C[0-9]+$")], Claim]

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


def _refuse_unknown_names(config: Config) -> None:
    def known(key: str, name: str, names, kind: str) -> None:
        if name not in names:
            raise ScenarioError(key, name, f"must be one of the {kind}: {', '.join(names)}")

    for e, experiment in config.experiments.items():
        for i, label in enumerate(experiment.schemes):
            known(f"experiments.{e}.schemes.{i}", label, config.schemes, "schemes")
        if len(set(experiment.schemes)) < len(experiment.schemes):
            raise ScenarioError(f"experiments.{e}.schemes", experiment.schemes, "must name each scheme once")
        for label in experiment.one_at_a_time:
            known(f"experiments.{e}.one_at_a_time.{label}", label, experiment.schemes, f"schemes of {e}")
        runs = math.prod(map(len, experiment.sweep.values())) * max(1, len(experiment.points)) * (experiment.seeds or config.seeds)
        runs *= 1 + max((sum(map(len, varied.values())) for varied in experiment.one_at_a_time.values()), default=0)
        if runs > MOST_RUNS:
            raise ScenarioError(f"experiments.{e}", runs, f"so many runs a scheme; at most {MOST_RUNS} are possible")
        if "balancer" in experiment.scenario:
            raise ScenarioError(f"experiments.{e}.scenario.balancer", experiment.scenario["balancer"], "belongs into `schemes`")
        for i, point in enumerate(experiment.points):
            for key in point.keys() & experiment.sweep.keys():
                raise ScenarioError(f"experiments.{e}.points.{i}.{key}", point[key], "is swept already")
        taken = {*experiment.sweep, *(key for point in experiment.points for key in point)}
        for label, varied in experiment.one_at_a_time.items():
            _refuse_bad_constants(f"experiments.{e}.one_at_a_time.{label}", varied, taken, config.schemes[label])
    for f, figure in config.figures.items():
        for i, name in enumerate(figure.experiments):
            known(f"figures.{f}.experiments.{i}", name, config.experiments, "experiments")
    for c, claim in config.claims.items():
        if claim.figure is not None:
            known(f"claims.{c}.figure", claim.figure, config.figures, "figures")
        for i, check in enumerate(claim.checks):
            at = f"claims.{c}.checks.{i}"
            known(f"{at}.experiment", check.experiment, config.experiments, "experiments")
            for label in [*check.schemes, *([check.against] if check.against else [])]:
                known(f"{at}.schemes", label, config.experiments[check.experiment].schemes, f"schemes of {check.experiment}")


def _refuse_bad_constants(at: str, varied: dict[str, list], taken: set[str], scheme: dict) -> None:
    """Constants varied one at a time are keys of the balancer, at values that the scheme does not have."""
    entry = BALANCERS.get(scheme["kind"])
    for key, values in varied.items():
        name = key.removeprefix("balancer.")
        if name == key or name == "kind":
            raise ScenarioError(f"{at}.{key}", values, "must be a key of the scheme, balancer.NAME, other than its kind")
        if key in taken:
            raise ScenarioError(f"{at}.{key}", values, "is swept or set by a point already")
        has = [scheme[name]] if name in scheme else [entry.model_fields[name].default] if entry and name in entry.model_fields else []
        for i, value in enumerate(values):
            if value in values[:i]:
                raise ScenarioError(f"{at}.{key}", value, "is given twice")
            if value in has:
                raise ScenarioError(f"{at}.{key}", value, "is what the scheme has as it is, which runs anyway")


def _refuse_long_commands(config: Config) -> None:
    """The jobs of figures and claims are told by their command line which runs they read."""
    readers = {f"figures.{f}.experiments": figure.experiments for f, figure in config.figures.items()}
    for key, experiments in {**readers, "claims": config.experiments_of_claims()}.items():
        size = sum(len(group.to_json().encode()) for group in config.groups(experiments))
        if size > LONGEST_COMMAND:
            rule = f"take {size} bytes to describe, at most {LONGEST_COMMAND} are possible: fewer schemes or shorter lists of hosts"
            raise ScenarioError(key, experiments, rule)


def _refuse_bad_figures(config: Config, root: Path) -> None:
    """A figure needs its notebook and its caption, and takes the parameters that the notebook declares."""
    for f, figure in config.figures.items():
        at = f"figures.{f}"
        try:
            names = [name for name in declared(root / "notebooks" / "figures" / f"{figure.notebook}.ipynb") if name not in SET_BY_PIPELINE]
        except NotebookError as error:
            raise ScenarioError(f"{at}.notebook", figure.notebook, str(error)) from None
        for name, value in figure.parameters.items():
            if name not in names:
                raise ScenarioError(f"{at}.parameters.{name}", value, f"must be a parameter of the notebook: {', '.join(names) or 'none'}")
        caption = root / "workflow" / "report" / f"{f}.rst"
        if not caption.is_file():
            raise ScenarioError(at, f, f"needs a caption in {caption}")


def _refuse_bad_scenarios(config: Config) -> dict[str, dict[str, list[dict]]]:
    """Build every scenario, and the traffic and failures of every seed: a bad value is refused before any job starts.

    Returns the columns of each experiment's points by scheme.
    """
    from ofancore.prepare import traffic_and_damage
    from ofancore.result import scenario_columns
    from ofancore.scenario import Scenario

    columns: dict[str, dict[str, list[dict]]] = {}
    sound = set()  # schemes share traffic and failures
    for group in config.groups():
        points = columns.setdefault(group.experiment, {}).setdefault(group.label, [])
        runs = set()
        try:
            given = expand(group)
            for i in range(0, len(given), group.seeds):
                scenario = Scenario.from_dict(given[i])
                if isinstance(scenario.balancer, Own):
                    compile_all(scenario.balancer.definition)
                points.append(scenario_columns(scenario))
                shared = (
                    scenario.packet.payload_bytes,
                    *(getattr(scenario, part).model_dump_json() for part in ("fabric", "workload", "failures")),
                )
                for seed in (data["seed"] for data in given[i : i + group.seeds]):
                    if (scenario.digest, seed) in runs:
                        raise ScenarioError("seed", seed, f"this run is there twice: {brief(given[i])}")
                    runs.add((scenario.digest, seed))
                    if (shared, seed) not in sound and (scenario.failures.any or seed == given[i]["seed"]):
                        traffic_and_damage(scenario.model_copy(update={"seed": seed}))
                        sound.add((shared, seed))
        except ScenarioError as error:
            key = f"experiments.{group.experiment}.{error.key} (scheme {group.label})"
            raise ScenarioError(key, error.value, error.rule) from error
    return columns


def _refuse_bad_checks(config: Config, columns: dict[str, dict[str, list[dict]]]) -> None:
    """A check measures what the runs have, at points that they have: `columns` are those of every experiment's schemes."""
    for c, claim in config.claims.items():
        for i, check in enumerate(claim.checks):
            at, schemes = f"claims.{c}.checks.{i}", columns[check.experiment]
            if config.experiments[check.experiment].one_at_a_time:
                raise ScenarioError(f"{at}.experiment", check.experiment, "varies constants one at a time: a scheme there is several")
            metrics = METRICS + OF_THREE_TIERS * any(p["fabric.tiers"] == 3 for points in schemes.values() for p in points)
            if check.metric not in metrics:
                raise ScenarioError(f"{at}.metric", check.metric, f"must be one of {', '.join(metrics)}")
            chosen = {label: _at(f"{at}.where", check, schemes[label]) for label in [*check.schemes, check.against] if label}
            if check.along:
                for label, points in chosen.items():
                    found = {p.get(check.along) for p in points}
                    least = -math.inf if check.beyond is None else check.beyond
                    if sum(isinstance(x, int | float) and least <= x < math.inf for x in found) < 2:
                        rule = f"must be a key of which {check.experiment} has two numbers or more here (scheme {label})"
                        raise ScenarioError(f"{at}.along", check.along, rule)


def _at(key: str, check: Check, points: list[dict]) -> list[dict]:
    """The points that a check looks at; ScenarioError if there is none."""
    for name, value in check.where.items():
        if not any(name in p for p in points):
            raise ScenarioError(f"{key}.{name}", value, f"is not a scenario key of {check.experiment}")
        known = {brief(p.get(name)): p.get(name) for p in points}
        if value not in known.values():
            raise ScenarioError(f"{key}.{name}", value, f"must be one of the values of {check.experiment} here: {', '.join(known)}")
        points = [p for p in points if p.get(name) == value]
    return points


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
    try:
        config = Config.model_validate(data)
    except ValidationError as error:
        raise _dotted(error) from None
    _refuse_unknown_names(config)
    if scenarios:
        _refuse_bad_figures(config, ROOT)
        _refuse_bad_checks(config, _refuse_bad_scenarios(config))
        _refuse_long_commands(config)
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
