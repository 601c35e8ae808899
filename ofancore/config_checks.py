"""What a config's keys must be to each other and to files: names that are known, figures that can be drawn, scenarios that can run, checks
that measure something. Each function here raises ScenarioError for the first rule that is broken.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from ofancore.balancers import BALANCERS
from ofancore.balancers.definitions import compile_all
from ofancore.balancers.own import Own
from ofancore.errors import ScenarioError, brief
from ofancore.metrics import METRICS, OF_THREE_TIERS
from ofancore.notebook import NotebookError, declared
from ofancore.plan import expand, json_text

if TYPE_CHECKING:
    from ofancore.config import Check, Config

MOST_RUNS = 100_000  # of a scheme in an experiment
LONGEST_PARAMETERS = 20_000  # bytes of what a notebook is given beside
LONGEST_COMMAND = 100_000  # bytes of what a job is given on its command line, which Linux limits to 128 KiB
SET_BY_PIPELINE = ("figure", "source")  # parameters of every notebook of a figure


def refuse_what_would_fail(config: Config, root: Path) -> None:
    """Look at all that jobs will be given. `root`: the folder of notebooks and captions."""
    _refuse_bad_figures(config, root)
    columns = _refuse_bad_scenarios(config)
    _refuse_runs_alike(config, columns)
    _refuse_bad_checks(config, columns)
    _refuse_long_commands(config)


def refuse_bad_keys(config: Config) -> None:
    """Names that stand for nothing, keys that are set twice, too many runs: what the config alone tells."""

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
        if len(set(figure.experiments)) < len(figure.experiments):  # each run would count twice
            raise ScenarioError(f"figures.{f}.experiments", figure.experiments, "must name each experiment once")
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
    parameters = {f"figures.{f}.parameters": figure.parameters for f, figure in config.figures.items()}
    for key, experiments in {**readers, "claims": config.experiments_of_claims()}.items():
        size = sum(len(group.to_json().encode()) for group in config.groups(experiments))
        if size > LONGEST_COMMAND:
            rule = f"take {size} bytes to describe, at most {LONGEST_COMMAND} are possible: fewer schemes or shorter lists of hosts"
            raise ScenarioError(key, experiments, rule)
    for key, values in parameters.items():
        if (size := len(json_text(values).encode())) > LONGEST_PARAMETERS:
            raise ScenarioError(key, values, f"take {size} bytes, at most {LONGEST_PARAMETERS} are possible")


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


def _refuse_runs_alike(config: Config, columns: dict[str, dict[str, list[dict]]]) -> None:
    """Figures that show each run or setting by itself need an experiment whose runs they can tell apart."""
    from ofancore import league

    for f, figure in config.figures.items():
        if figure.notebook not in league.TOLD_APART:
            continue
        name, by = league.TOLD_APART[figure.notebook]
        if name not in figure.experiments:
            raise ScenarioError(f"figures.{f}.experiments", figure.experiments, f"must name {name}, which {figure.notebook} reads")
        names = [{"experiment": name, "label": label} for label in columns[name]]
        seeds = range(config.experiments[name].seeds or config.seeds)
        rows = [n | point | {"seed": point["seed"] + i} for n in names for point in columns[name][n["label"]] for i in seeds]
        league.refuse_alike(league.with_settings(pd.DataFrame(rows)), by)


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
