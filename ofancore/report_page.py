"""The report: `results/report/index.html`, one page with the claims, if the config has any, and every figure, which needs no network.

    python -m ofancore.report_page --config config/paper.yaml [--results results] [--out results/report/index.html]

The page holds Vega once, the specification of every chart (taken from `figures/NAME.html`), the captions of `workflow/report`, the
verdicts of `claims.json` and the tables that the figures draw. Its own parts are in `page/`. Everything else (pictures, notebooks,
numbers, raw runs) it links to where it lies under the results. The same results and commit give the same bytes.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import sys
from pathlib import Path
from string import Template

from ofancore import docstrings
from ofancore.balancers import BALANCERS
from ofancore.claims import figures_of
from ofancore.config import ROOT, Config, load_config
from ofancore.errors import OfanError
from ofancore.figures import ANEW, MissingRun
from ofancore.files import write_file
from ofancore.palette import STYLES, Style, know, name_of, style
from ofancore.provenance import embedded, report_record
from ofancore.reading import parse_json
from ofancore.report_charts import DARK, LIGHT, adapted, colours_in, dark_colours, schemes_in, spec_in
from ofancore.report_html import (
    VERDICTS,
    categories_of,
    claims_html,
    docs_html,
    e,
    figure_html,
    filters_html,
    list_html,
    runs_html,
)

SKIP_CLAIMS = '<a class="skip" href="#claims">Skip to the claims</a>\n'
ANIMATION = '<p>An animation shows <a href="../figures/queues_on_the_tree.html">queues building up on the tree</a>.</p>'
CAPTIONS = ROOT / "workflow" / "report"
PARTS = Path(__file__).parent / "page"


class Unreadable(OfanError):
    """A result that the page needs and cannot read."""


def contents(config: Config) -> dict:
    """What of a config the page shows, as plain JSON: figures, experiments, schemes, which experiments a claim's checks measure."""
    return {
        "results": config.results,
        "figures": {name: {"category": f.category, "experiments": f.experiments, "more": f.more} for name, f in config.figures.items()},
        "experiments": {name: {"about": e.about, "schemes": e.schemes} for name, e in config.experiments.items()},
        "animation": config.animation,
        "names": config.names(),
        "schemes": config.schemes,
        "claims": {key: sorted({check.experiment for check in claim.checks}) for key, claim in config.claims.items()},
    }


def prose(text: str, source: Path) -> tuple[str, str]:
    """A caption in reStructuredText as HTML: (its title or bold beginning, the rest). OfanError if it is not well-formed."""
    from docutils.core import publish_parts
    from docutils.utils import SystemMessage

    options = {"halt_level": 2, "report_level": 5, "raw_enabled": False, "file_insertion_enabled": False, "embed_stylesheet": False}
    try:
        parts = publish_parts(text, writer="html5", settings_overrides=options)
    except SystemMessage as problem:
        raise Unreadable(f"{source}: {' '.join(str(problem).split())}") from None
    body = parts["body"].strip()
    if parts["title"]:
        return parts["title"], body
    bold = re.match(r"<p><strong>(.*?)</strong>\s*", body, re.DOTALL)
    return (bold[1].rstrip("."), "<p>" + body[bold.end() :]) if bold else ("", body)


class Results:
    """The results that a page is made of, each read once."""

    def __init__(self, folder: Path, plan: dict, captions: Path | None = None):
        self.folder, self.plan, self.captions = folder, plan, captions or CAPTIONS
        know(plan.get("names", {}))
        labels = dict.fromkeys([*STYLES, *(label for e in plan["experiments"].values() for label in e["schemes"])])
        self.known: dict[str, Style] = {name_of(label): style(label) for label in labels}
        self.specs = {name: self._spec(name) for name in plan["figures"]}
        self.claims = self._json("claims.json") if plan["claims"] else None
        shown = {name for spec in self.specs.values() for name in schemes_in(spec, self.known)}
        self.schemes = {name: s for name, s in self.known.items() if name in shown}
        self.described = self._described(labels)
        self.docs = {path: text for _, path, text in self.described.values() if text}

    def _text(self, *path: str) -> str:
        file = self.folder.joinpath(*path)
        try:
            return file.read_text()
        except FileNotFoundError:
            raise Unreadable(f"{file}: missing; the pipeline makes it") from None
        except (OSError, UnicodeDecodeError) as error:
            raise Unreadable(f"{file}: not readable ({error}); {ANEW}") from None

    def _json(self, *path: str) -> dict:
        return parse_json(self._text(*path), str(self.folder.joinpath(*path)))

    def _spec(self, name: str) -> dict:
        text = self._text("figures", f"{name}.html")
        try:
            return spec_in(text)
        except ValueError as error:
            raise Unreadable(f"{self.folder / 'figures' / name}.html: not readable ({error}); {ANEW}") from None

    def _described(self, labels) -> dict[str, tuple[dict, str, str]]:
        """Name of a scheme that a figure shows -> its keys (`balancer`), the file that describes it, that file's docstring."""
        found = {}
        for label in labels:
            keys = self.plan["schemes"].get(label) or ({"kind": label} if label in BALANCERS else None)
            if keys and (name := name_of(label)) in self.schemes:
                path = docstrings.described_in(keys["kind"], keys.get("module"))
                found[name] = (keys, path, docstrings.docstring(path) if path else "")
        return found

    def caption(self, name: str) -> tuple[str, str]:
        file = self.captions / f"{name}.rst"
        try:
            return prose(file.read_text(), file)
        except FileNotFoundError:
            raise Unreadable(f"{file}: missing; every figure has a caption") from None

    def table(self, name: str) -> list[list[str]]:
        return list(csv.reader(self._text("tables", f"{name}.csv").splitlines()))

    def runs(self, experiment: str) -> list[tuple[str, int, dict]]:
        """For each scheme of an experiment: its label, how many runs, and what made them."""
        import pyarrow.parquet as pq

        found = []
        for label in self.plan["experiments"][experiment]["schemes"]:
            path = self.folder / "raw" / experiment / f"{label}.parquet"
            try:
                about = pq.read_metadata(path)
                found.append((label, about.num_rows, json.loads((about.metadata or {})[b"ofan"])))
            except FileNotFoundError:
                raise MissingRun(f"{path}: missing; the pipeline makes it") from None
            except Exception as error:  # pyarrow raises many kinds for a damaged file
                raise MissingRun(f"{path}: not readable ({' '.join(str(error).split())}); {ANEW}") from None
        return found


def _variables(values: dict[str, str]) -> str:
    return ";".join(f"--{name}:{value}" for name, value in values.items())


def stylesheet() -> str:
    """page.css with the colours of both grounds."""
    light = {**LIGHT, **{f"v-{name}": v[0] for name, v in VERDICTS.items()}}
    dark = {**DARK, **{f"v-{name}": v[1] for name, v in VERDICTS.items()}}
    chips = "".join(f".v-{name}{{color:var(--v-{name})}}" for name in VERDICTS)
    return (
        f":root{{color-scheme:light;{_variables(light)}}}"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{color-scheme:dark;{_variables(dark)}}}}}"
        f":root[data-theme=dark]{{color-scheme:dark;{_variables(dark)}}}{chips}\n" + (PARTS / "page.css").read_text()
    )


def as_script(value) -> str:
    """JSON that may stand in a script element."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True).replace("<", "\\u003c")


def page(results: Results) -> str:
    """The whole page."""
    from ofancore.saving import scripts

    plan, claims = results.plan, results.claims["claims"] if results.claims else []
    verdicts = {c["id"]: c["verdict"] for c in claims}
    captions = {name: results.caption(name) for name in plan["figures"]}
    experiments = {name: figure["experiments"] for name, figure in plan["figures"].items()}
    texts = {name: " ".join(caption) for name, caption in captions.items()}
    speaks = {c["id"]: figures_of(c["id"], c["figure"], set(plan["claims"].get(c["id"], [])), experiments, texts) for c in claims}
    runs, counts = runs_html(results)
    anchors = {docstrings.link(path, results.folder / "figures"): f"#{docstrings.anchor(path)}" for path in results.docs}
    config, sections, specs = None, [], []
    for category in categories_of(plan):
        names = [name for name, figure in plan["figures"].items() if figure["category"] == category]
        shown = []
        for name in names:
            spec, title = adapted(results.specs[name], anchors)
            own = spec.pop("config", {})
            config = own if config is None else config
            if own != config:
                spec["config"] = own
            specs.append(f'<script type="application/json" id="spec-{name}">{as_script(spec)}</script>')
            told = {key: verdicts[key] for key, figures in speaks.items() if name in figures}
            shown.append(figure_html(name, results, title, captions[name], told, counts))
        sections.append(f'<section class="category" aria-label="{e(category)}"><h3>{e(category)}</h3>{"".join(shown)}</section>')
    colours = {s.colour for s in results.known.values()}.union(*map(colours_in, results.specs.values()))
    title, introduction = results.caption("workflow")
    values = {
        "title": title,
        "introduction": introduction,
        "style": stylesheet(),
        "claims": claims_html(results.claims, results.caption("claims")[1], speaks) if claims else "",
        "skip_claims": SKIP_CLAIMS if claims else "",
        "animation": ANIMATION if plan["animation"] else "",
        "filters": filters_html(results),
        "list": list_html(plan, {name: heading for name, (heading, _) in captions.items()}),
        "figures": "".join(sections),
        "docs": docs_html(results),
        "runs": runs,
        "specs": "\n".join(specs),
        "data": as_script({"config": config or {}, "dark": dark_colours(colours)}),
        "vega": scripts().replace("</script", "<\\/script"),
        "charts": (PARTS / "charts.js").read_text(),
        "script": (PARTS / "page.js").read_text(),
    }
    return Template((PARTS / "index.html").read_text()).substitute(values)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="ofancore.report_page", description=__doc__.split("\n")[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--config", help="the grid that was run")
    what.add_argument("--contents", help="the same, cut down to what the page shows (JSON of `contents`)")
    parser.add_argument("--results", help="where its results are, if elsewhere than the config says")
    parser.add_argument("--out", help="the page (default: report/index.html there)")
    args = parser.parse_args(arguments)
    try:
        plan = parse_json(args.contents, "--contents") if args.contents else contents(load_config(args.config, scenarios=False))
        folder = Path(args.results or plan["results"])
        text = page(Results(folder, plan)).encode()
        raw = [f"raw/{name}/{label}.parquet" for name, e in plan["experiments"].items() for label in e["schemes"]]
        record = report_record(text, folder, plan["figures"], bool(plan["claims"]), raw, plan["results"])
        write_file(args.out or folder / "report" / "index.html", embedded(text, "html", record))
    except OfanError as error:
        print(f"ofancore.report_page: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"ofancore.report_page: {error}", flush=True)  # not to the log, which lies on the same disk
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
