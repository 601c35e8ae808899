"""What a figure's notebook needs: its runs, and a place to put what it made.

Under the pipeline a notebook is given a `source`: the results folder and the groups that it must find there. It then reads
raw runs and refuses missing, damaged, stale or mixed ones. Opened by hand it has no source: `Source.small()` takes the
grid of `config/smoke.yaml` and simulates what it lacks there and then.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
from pandas.api.types import is_numeric_dtype

from ofancore.config import ROOT, load_config
from ofancore.errors import OfanError, brief
from ofancore.files import write_file
from ofancore.metrics import METRICS, OF_THREE_TIERS
from ofancore.palette import know
from ofancore.plan import Group, expand, simulate_group

SMALL_CONFIG = ROOT / "config" / "smoke.yaml"


ANEW = "delete it and run the pipeline again"


class MissingRun(OfanError):
    """Raw runs that are not there or not what the config asks for."""


def read_rows(path: Path) -> pd.DataFrame:
    """A Parquet file that the pipeline makes. MissingRun if it is not there or damaged."""
    try:
        return pd.read_parquet(path)
    except FileNotFoundError:
        raise MissingRun(f"{path}: missing; the pipeline makes it") from None
    except Exception as error:  # pyarrow raises many kinds for a damaged file
        raise MissingRun(f"{path}: not readable ({' '.join(str(error).split())}); {ANEW}") from None


def read_group(group: Group, results: str | Path) -> pd.DataFrame:
    """The raw runs of a group, exactly those that the config asks for. MissingRun if they are not there whole, or another version's."""
    from ofancore.result import scenario_columns, source_digest
    from ofancore.scenario import Scenario

    path = group.raw_path(results)
    runs = read_rows(path)
    scenarios = [Scenario.from_dict(s) for s in expand(group)]
    if list(runs.get("digest", [])) != [s.digest for s in scenarios]:
        raise MissingRun(f"{path}: holds other runs than the config asks for; {ANEW}")
    made_by = set(runs.get("source", [None]))
    if made_by != {source_digest()}:
        shown = ", ".join(sorted(map(str, made_by)))
        raise MissingRun(f"{path}: made by another version of the simulator ({shown}, this is {source_digest()}); {ANEW}")
    wanted = {"experiment", "label", "finished", *METRICS, *(key for s in scenarios for key in scenario_columns(s))}
    if any(s.fabric.tiers == 3 for s in scenarios):
        wanted.update(OF_THREE_TIERS)
    lost = sorted(wanted - set(runs.columns)) or [name for name in METRICS if not is_numeric_dtype(runs[name])]
    if lost:
        raise MissingRun(f"{path}: the columns {brief(lost)} are not there as they should be; {ANEW}")
    return runs


@dataclass
class Source:
    """Where runs come from: raw files under `results`, or simulations made on the spot."""

    results: str
    groups: list[Group]
    simulate: bool = False
    drawn: dict = field(default_factory=dict)
    _read: dict[str, pd.DataFrame] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, data: dict | None) -> Source:
        """`{"results": folder, "groups": [group, ...]}` as the pipeline gives it; empty: the small version.

        `drawn`, if it is there, is what the figure's files are to say of the drawing (see provenance.record); `names` are those of schemes
        that have no style of their own ([label, name], ...), all of the config, in its order: a scheme looks the same in every figure.
        """
        if not data:
            return cls.small()
        know(dict(data.get("names", [])))
        return cls(data["results"], [Group.from_json(json.dumps(g)) for g in data["groups"]], drawn=data.get("drawn", {}))

    @classmethod
    def small(cls) -> Source:
        config = load_config(SMALL_CONFIG, scenarios=False)
        know(config.names())
        return cls(str(ROOT / config.results), config.groups(), simulate=True)

    def runs(self, experiment: str) -> pd.DataFrame:
        """All runs of an experiment, one row each, from this version of the simulator."""
        if experiment not in self._read:
            groups = [g for g in self.groups if g.experiment == experiment]
            if not groups:
                raise MissingRun(f"{experiment}: not among the experiments that this figure reads (config: figures.*.experiments)")
            self._read[experiment] = pd.concat([self._group(g) for g in groups], ignore_index=True)
        return self._read[experiment].copy()

    def read_runs(self) -> list[pd.DataFrame]:
        """The runs that were read, a table an experiment."""
        return list(self._read.values())

    def read_groups(self) -> dict[str, tuple[Group, list[str]]]:
        """Of the raw files that were read: path below the results -> its group, the digests of its scenarios."""
        there = {}
        for g in self.groups:
            if g.experiment in self._read:
                runs = self._read[g.experiment]
                path = g.raw_path(self.results).relative_to(self.results).as_posix()
                there[path] = (g, list(runs.loc[runs["label"] == g.label, "digest"]))
        return there

    def _group(self, group: Group) -> pd.DataFrame:
        try:
            return read_group(group, self.results)
        except MissingRun:
            if not self.simulate:
                raise
        return pd.DataFrame(simulate_group(group))


@dataclass
class Figure:
    """A figure in the making: `runs` in, `publish` out."""

    name: str
    source: Source

    @classmethod
    def open(cls, name: str, source: dict | None = None) -> Figure:
        return cls(name, Source.from_dict(source))

    def runs(self, experiment: str) -> pd.DataFrame:
        return self.source.runs(experiment)

    def folder(self, kind: str) -> Path:
        """Where its files of a kind lie: figures, tables, notebooks."""
        return Path(self.source.results) / kind

    def publish(self, chart, numbers: dict, table: pd.DataFrame, more: dict[str, pd.DataFrame | str] | None = None):
        """Write the chart (SVG, PNG, HTML), its numbers (JSON) and the table that was drawn (CSV), and show the chart.

        `more`: further tables, or texts, by the ends of their names (the config's `more` of the figure).
        Opened by hand, nothing is written: the small version must not pass for the real one.
        """
        from ofancore.charts import with_own

        chart = with_own(chart, {label for runs in self.source.read_runs() for label in runs["label"]})
        if not self.source.simulate:
            from IPython.display import SVG

            from ofancore.saving import save

            results = Path(self.source.results)
            texts = {".csv": table, **(more or {})}
            texts = {end: text if isinstance(text, str) else text.to_csv(index=False, float_format="%.6g") for end, text in texts.items()}
            said = json.dumps(plain(numbers), indent=1, ensure_ascii=False) + "\n"
            svg, *_ = save(chart, self.name, results / "figures", lambda drawings: self._record(drawings, said, texts))
            chart = SVG(filename=svg)  # shown as it was drawn, not drawn again
            for end, text in texts.items():
                write_file(results / "tables" / f"{self.name}{end}", text)
            write_file(results / "numbers" / f"{self.name}.json", said)
        return chart

    def _record(self, drawings: dict[str, bytes], numbers: str, tables: dict[str, str]) -> dict:
        """What the figure's files say of themselves."""
        from ofancore.provenance import raw_record, record, sha256

        files = {f"figures/{self.name}.{suffix}": sha256(data) for suffix, data in drawings.items()}
        files[f"numbers/{self.name}.json"] = sha256(numbers.encode())
        files |= {f"tables/{self.name}{end}": sha256(text.encode()) for end, text in tables.items()}
        read = self.source.read_groups()
        runs = {path: raw_record(group, self.source.results, digests) for path, (group, digests) in read.items()}
        return record(self.name, self.source.drawn, [group for group, _ in read.values()], runs, files, self.source.results)


def plain(value):
    """JSON without NaN: numbers rounded to six significant digits, what does not exist is null."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, str | bool | int) or value is None:
        return value
    number = float(value)
    return float(f"{number:.6g}") if number - number == 0 else None
