"""The report: `results/report/index.html`, one page with the claims and every figure, which needs no network.

    python -m ofancore.report_page --config config/paper.yaml [--results results] [--out results/report/index.html]

The page holds Vega once, the specification of every chart (taken from `figures/NAME.html`), the captions of `workflow/report`, the
verdicts of `claims.json` and the tables that the figures draw. Its parts are `page/index.html`, `page.css` and `page.js`. Everything
else (pictures, notebooks, numbers, raw runs) it links to where it lies under the results. The same results give the same bytes.
"""

from __future__ import annotations

import argparse
import csv
import html
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from string import Template

from ofancore.config import ROOT, Config, load_config
from ofancore.errors import OfanError
from ofancore.figures import ANEW, MissingRun
from ofancore.palette import FAMILIES, STYLES, Style, contrast, name_of, style, text_colour
from ofancore.plan import write_file
from ofancore.reading import parse_json
from ofancore.theme import FAINT, GRID, INK

CAPTIONS = ROOT / "workflow" / "report"
PARTS = Path(__file__).parent / "page"
TABLE_ROWS = 60  # of a figure's table that are shown; the rest is in its file
HIDDEN = "indexof(hidden, datum.scheme) < 0"  # what a mark's scheme must fulfil; `hidden` is set by the page

# Grounds and inks of the page and of its charts. A scheme keeps its colour; on the dark ground a dark one is lightened, as little as it takes.
LIGHT = {"ground": "#ffffff", "raised": "#f6f6f4", "ink": INK, "faint": "#666666", "line": "#dcdcda", "link": "#0b5f8a"}
DARK = {"ground": "#16191d", "raised": "#1f2328", "ink": "#e9e9e6", "faint": "#a3a9b0", "line": "#3b4148", "link": "#7cc0ea"}
VERDICTS = {  # class -> (colour on light, on dark, mark)
    "reproduced": ("#00664b", "#5fc9a6", "✓"), "yes": ("#00664b", "#5fc9a6", "✓"),
    "partly": ("#855600", "#e6ac4c", "◐"), "open": ("#855600", "#e6ac4c", "?"), "undecided": ("#855600", "#e6ac4c", "?"),
    "not": ("#a33c00", "#f08a54", "✗"), "no": ("#a33c00", "#f08a54", "✗"),
    "unmeasured": ("#666666", "#a3a9b0", "–"),
}  # fmt: skip
MARKS_SEEN, WORDS_READ = 3.0, 4.5  # least contrast of marks and of words with their ground (WCAG 2, level AA)
SWATCHES = {  # markers of 8 by 8 around the middle of a swatch
    "circle": '<circle cx="13" cy="6" r="3.6"/>', "square": '<path d="M9.8 2.8h6.4v6.4h-6.4z"/>', "diamond": '<path d="M13 1.4 17 6l-4 4.6L9 6z"/>',
    "triangle-up": '<path d="M13 1.8 17.2 9.4H8.8z"/>', "triangle-down": '<path d="M13 10.2 8.8 2.6h8.4z"/>',
    "triangle-left": '<path d="M8.8 6l7.6-4.2v8.4z"/>', "triangle-right": '<path d="M17.2 6 9.6 1.8v8.4z"/>',
    "cross": '<path d="M11.6 2h2.8v2.6H17v2.8h-2.6V10h-2.8V7.4H9V4.6h2.6z"/>',
}  # fmt: skip


class Unreadable(OfanError):
    """A result that the page needs and cannot read."""


def contents(config: Config) -> dict:
    """What of a config the page shows, as plain JSON: figures, experiments, and which experiments a claim's checks measure."""
    return {
        "results": config.results,
        "figures": {name: {"category": f.category, "experiments": f.experiments} for name, f in config.figures.items()},
        "experiments": {name: {"about": e.about, "schemes": e.schemes} for name, e in config.experiments.items()},
        "claims": {key: sorted({check.experiment for check in claim.checks}) for key, claim in config.claims.items()},
    }


def spec_in(page: str) -> dict:
    """The Vega-Lite specification in a figure's interactive page."""
    start = re.search(r"\bspec = (?=\{)", page)
    if start is None:
        raise ValueError("it holds no chart")
    return json.JSONDecoder().raw_decode(page, start.end())[0]


def adapted(spec: dict) -> tuple[dict, dict]:
    """A chart for the page: (specification, its title). Schemes named in the parameter `hidden` are left out, and with them their rows.

    The title becomes text of the page, where it wraps and is read out.
    """
    spec = json.loads(json.dumps(spec))
    title = spec.pop("title", {})
    spec["params"] = [*spec.get("params", []), {"name": "hidden", "value": []}]
    named = {name for name, rows in spec.get("datasets", {}).items() if any("scheme" in row for row in rows)}
    for node, data in _nodes(spec):
        if "mark" in node and data in named:
            node["transform"] = [{"filter": HIDDEN}, *node.get("transform", [])]
        rows = _rows(node)
        if rows and isinstance(node.get("height"), int | float):
            node["height"] = {"step": node["height"] / rows}  # so that the others stay as high as they are
    return spec, title if isinstance(title, dict) else {"text": title}


def _nodes(node: dict, data: str | None = None) -> Iterator[tuple[dict, str | None]]:
    """Every view of a specification with the name of the data that it draws."""
    data = node.get("data", {}).get("name", data)
    yield node, data
    for key in ("concat", "hconcat", "vconcat", "layer"):
        for child in node.get(key, []):
            yield from _nodes(child, data)


def _rows(panel: dict) -> int:
    """How many schemes have a row of their own in a panel."""
    found = 0
    for node, _ in _nodes(panel) if "layer" in panel or "mark" in panel else ():
        y = node.get("encoding", {}).get("y", {})
        if y.get("field") == "scheme" and isinstance(y.get("sort"), list):
            found = max(found, len(y["sort"]))
    return found


def schemes_in(spec: dict, known) -> list[str]:
    """Names of the schemes that a chart draws."""
    drawn = {str(row["scheme"]) for rows in spec.get("datasets", {}).values() for row in rows if "scheme" in row}
    return [name for name in known if name in drawn]


def lightened(colour: str, ground: str, least: float) -> str:
    """The colour, mixed with white until its contrast with a dark ground is enough."""
    share, shade = 0.0, colour
    while contrast(shade, ground) < least:
        share += 0.01
        shade = "#" + "".join(f"{round((1 - share) * int(colour[i : i + 2], 16) + share * 255):02x}" for i in (1, 3, 5))
    return shade


def dark_colours(colours) -> dict[str, dict[str, str]]:
    """Colours on the light ground -> those on the dark one: `marks` of schemes, and `words` beside them."""
    common = {INK: DARK["ink"], FAINT: DARK["faint"], GRID: DARK["line"], "white": DARK["ground"]}
    return {
        "marks": {**{c: lightened(c, DARK["ground"], MARKS_SEEN) for c in sorted(set(colours))}, **common},
        "words": {**{text_colour(c): lightened(c, DARK["ground"], WORDS_READ) for c in sorted(set(colours))}, **common},
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

    def __init__(self, folder: Path, plan: dict, captions: Path = CAPTIONS):
        self.folder, self.plan, self.captions = folder, plan, captions
        labels = [*STYLES, *(label for e in plan["experiments"].values() for label in e["schemes"])]
        self.known: dict[str, Style] = {name_of(label): style(label) for label in dict.fromkeys(labels)}
        self.specs = {name: self._spec(name) for name in plan["figures"]}
        self.claims = self._json("claims.json")
        shown = {name for spec in self.specs.values() for name in schemes_in(spec, self.known)}
        self.schemes = {name: s for name, s in self.known.items() if name in shown}

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


e = html.escape


def chip(kind: str, words: str) -> str:
    """A verdict: words, a mark and a colour."""
    return f'<span class="chip v-{kind}"><span aria-hidden="true">{VERDICTS[kind][2]}</span> {e(words)}</span>'


def figure_links(names: list[str]) -> str:
    return ", ".join(f'<a href="#{name}">{name}</a>' for name in names)


def claims_html(table: list[dict], figures: dict[str, list[str]]) -> str:
    """The table of verdicts, and below it every check. `figures`: claim -> figures that speak to it."""
    from ofancore.claims import CLASSES, band, measured

    rows, details = [], []
    for c in table:
        checks, key = c["checks"], e(c["id"])
        count = f"{sum(k['passed'] == 'yes' for k in checks)} of {len(checks)}" if checks else "none"
        verdict, links = chip(CLASSES[c["verdict"]], c["verdict"]), figure_links(figures[c["id"]])
        rows.append(
            f'<tr role="row"><th scope="row" role="rowheader"><a href="#claim-{key}">{key}</a> {e(c["claim"])}</th>'
            f'<td role="cell" data-is="verdict">{verdict}</td><td role="cell" data-is="checks passed">{count}</td>'
            f'<td role="cell" data-is="figures">{links}</td></tr>'
        )
        outcomes = "".join(
            f"<tr><td>{e(k['says'])}</td><td>{e(name_of(k['scheme']))}</td><td class='n'>{e(measured(k))}</td>"
            f"<td class='n'>{e(band(k))}</td><td>{chip(k['passed'], k['passed'])}</td></tr>"
            for k in checks
        )
        listed = (
            f"<details><summary>Checks: {count} passed</summary><div class='box' role='region' tabindex='0' aria-label='Checks of {key}'>"
            "<table><thead><tr><th scope='col'>criterion</th><th scope='col'>scheme</th><th scope='col'>measured [95% interval]</th>"
            f"<th scope='col'>band</th><th scope='col'>passed</th></tr></thead><tbody>{outcomes}</tbody></table></div></details>"
        )
        details.append(
            f'<article class="claim" id="claim-{key}"><h3>{key} {e(c["claim"])} {verdict}</h3><p>Paper: {e(c["paper"])} ({e(c["source"])}).'
            f"{' Figures: ' + links + '.' if links else ''}</p>{listed if checks else ''}</article>"
        )
    head = "".join(f'<th scope="col" role="columnheader">{text}</th>' for text in ("claim", "verdict", "checks passed", "figures"))
    return (
        f'<table class="verdicts" role="table"><thead role="rowgroup"><tr role="row">{head}</tr></thead>'
        f'<tbody role="rowgroup">{"".join(rows)}</tbody></table>{"".join(details)}'
    )


def swatch(s: Style) -> str:
    """The line and the marker of a scheme."""
    dash = "" if s.dash == (1, 0) else f' stroke-dasharray="{" ".join(map(str, s.dash))}"'
    return (
        f'<svg class="swatch" style="--light:{s.colour};--dark:{lightened(s.colour, DARK["ground"], MARKS_SEEN)}" viewBox="0 0 26 12" '
        f'aria-hidden="true"><path d="M0 6h26" stroke-width="1.8"{dash}/>{SWATCHES[s.marker]}</svg>'
    )


def filters_html(results: Results) -> str:
    """The controls: text, experiment, categories, schemes by family."""
    plan = results.plan
    used = sorted({name for f in plan["figures"].values() for name in f["experiments"]})
    options = "".join(f'<option value="{name}">{name}</option>' for name in used)
    categories = "".join(
        f'<button type="button" class="toggle" data-category="{e(c)}" aria-pressed="true">{e(c)}</button>' for c in categories_of(plan)
    )
    families = []
    for family, title in FAMILIES.items():
        members = {name: s for name, s in results.schemes.items() if s.family == family}
        chips = "".join(
            f'<button type="button" class="toggle" data-scheme="{e(name)}" data-family="{family}" aria-pressed="true">{swatch(s)}{e(name)}</button>'
            for name, s in members.items()
        )
        if members:
            families.append(
                f'<div role="group" aria-label="{title}"><button type="button" class="family" data-of="{family}" aria-pressed="true">{title}'
                f'</button><div class="toggles">{chips}</div></div>'
            )
    return f"""<p><label for="text">Text</label><input type="search" id="text" autocomplete="off"></p>
<p><label for="experiment">Experiment</label><select id="experiment"><option value="">all</option>{options}</select></p>
<div role="group" aria-labelledby="by-category"><p id="by-category" class="label">Category</p><div class="toggles">{categories}</div></div>
<div role="group" aria-labelledby="by-scheme"><p id="by-scheme" class="label">Schemes
<button type="button" id="all">all</button> <button type="button" id="none">none</button></p>{"".join(families)}</div>
<p><button type="button" id="reset">Show everything</button></p>"""


def categories_of(plan: dict) -> list[str]:
    return list(dict.fromkeys(f["category"] for f in plan["figures"].values()))


def table_html(name: str, table: list[list[str]]) -> str:
    """The table that a figure draws, cut where it is long. Rows carry their scheme, for the filter."""
    head, *rows = table or [[]]
    label = head.index("label") if "label" in head else None
    lines = []
    for row in rows[:TABLE_ROWS]:
        cells = [e(name_of(value) if i == label else value) for i, value in enumerate(row)]
        of = f' data-of-scheme="{cells[label]}"' if label is not None else ""
        lines.append(f"<tr{of}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    columns = "".join(f'<th scope="col">{e("scheme" if i == label else c)}</th>' for i, c in enumerate(head))
    more = f"{TABLE_ROWS} of {len(rows)} rows; all are in " if len(rows) > TABLE_ROWS else "Also as "
    return (
        f'<details class="data"><summary>Show as table ({len(rows)} rows)</summary><p>{more}<a href="../tables/{name}.csv">{name}.csv</a>.</p>'
        f'<div class="box" role="region" tabindex="0" aria-label="Table of {name}"><table><thead><tr>{columns}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div></details>"
    )


def figure_html(name: str, results: Results, title: dict, caption: tuple[str, str], claims: dict[str, str], runs: dict[str, int]) -> str:
    """A figure: what it found, the chart, the caption, its table and where all of it lies. `claims`: claim -> verdict."""
    from ofancore.claims import CLASSES

    figure = results.plan["figures"][name]
    heading, body = caption
    finding, setup = (" ".join([text] if isinstance(text, str) else text) for text in (title.get("text", ""), title.get("subtitle", "")))
    names = "|".join(schemes_in(results.specs[name], results.known))
    verdicts = " ".join(f'<a href="#claim-{key}">{key} {chip(CLASSES[v], v)}</a>' for key, v in claims.items())
    experiments = ", ".join(f'<a href="#experiment-{x}">{x}</a> ({runs[x]:,})' for x in figure["experiments"])
    files = " · ".join(
        f'<a href="../{path}">{text}</a>'
        for path, text in (
            (f"notebooks/{name}.ipynb", "notebook"), (f"numbers/{name}.json", "numbers"), (f"tables/{name}.csv", "table"),
            (f"figures/{name}.html", "page of its own"), (f"figures/{name}.svg", "SVG"), (f"figures/{name}.png", "PNG"),
        )
    )  # fmt: skip
    return f"""<article class="figure" id="{name}" data-category="{e(figure["category"])}" data-experiments="{" ".join(figure["experiments"])}" data-schemes="{e(names)}">
<h4>{heading or name} <a class="anchor" href="#{name}">{name}</a></h4>
<p class="finding">{e(finding)}</p><p class="setup">{e(setup)}</p>
<div class="box"><div class="chart" role="img" aria-label="Chart: {e(finding)} The table below has its values."></div>
<noscript><img src="../figures/{name}.svg" alt="{e(finding)} {e(setup)}"></noscript></div>
<p class="actions"><button type="button" class="enlarge">Enlarge</button></p>
<div class="caption">{body}</div>
{f'<p class="speaks">Speaks to: {verdicts}</p>' if claims else ""}
{table_html(name, results.table(name))}
<p class="files">{files}<br>Runs: {experiments}</p>
</article>"""


def runs_html(results: Results) -> tuple[str, dict[str, int]]:
    """The experiments with their raw tables and what made them, and how many runs each has."""
    lines, counts, made = [], {}, {}
    used = {name for f in results.plan["figures"].values() for name in f["experiments"]}
    used.update(name for names in results.plan["claims"].values() for name in names)
    for name, experiment in results.plan["experiments"].items():
        if name not in used:
            continue
        groups = results.runs(name)
        counts[name] = sum(runs for _, runs, _ in groups)
        made.update((json.dumps(about, sort_keys=True), about) for _, _, about in groups)
        files = ", ".join(f'<a href="../raw/{name}/{label}.parquet">{label}</a>' for label, _, _ in groups)
        lines.append(
            f'<dt id="experiment-{name}"><code>{name}</code>, {counts[name]:,} runs</dt><dd>{e(experiment["about"])}<br>Raw runs: {files}</dd>'
        )
    versions = "; ".join(", ".join(f"{key} {value}" for key, value in about.items()) for about in made.values())
    return f"<p>Made with: {e(versions)}.</p><dl>{''.join(lines)}</dl>", counts


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
    from ofancore.charts import scripts

    plan, verdicts = results.plan, {c["id"]: c["verdict"] for c in results.claims["claims"]}
    captions = {name: results.caption(name) for name in plan["figures"]}
    # A figure speaks to a claim whose checks measure its runs, that names it, or that its caption names.
    speaks = {key: [c["figure"]] if c["figure"] in plan["figures"] else [] for key, c in ((c["id"], c) for c in results.claims["claims"])}
    for key, names in speaks.items():
        for name, figure in plan["figures"].items():
            shares = set(plan["claims"].get(key, [])) & set(figure["experiments"])
            if name not in names and (shares or re.search(rf"\b{key}\b", captions[name][0] + captions[name][1])):
                names.append(name)
    runs, counts = runs_html(results)
    config, sections, specs = None, [], []
    for category in categories_of(plan):
        names = [name for name, figure in plan["figures"].items() if figure["category"] == category]
        shown = []
        for name in names:
            spec, title = adapted(results.specs[name])
            own = spec.pop("config", {})
            config = own if config is None else config
            if own != config:
                spec["config"] = own
            specs.append(f'<script type="application/json" id="spec-{name}">{as_script(spec)}</script>')
            told = {key: verdicts[key] for key, figures in speaks.items() if name in figures}
            shown.append(figure_html(name, results, title, captions[name], told, counts))
        sections.append(f'<section class="category" aria-label="{e(category)}"><h3>{e(category)}</h3>{"".join(shown)}</section>')
    listed = "".join(
        f'<li data-for="{name}"><a href="#{name}">{re.sub("<[^>]*>", "", captions[name][0]) or name}</a></li>'
        for category in categories_of(plan)
        for name, figure in plan["figures"].items()
        if figure["category"] == category
    )
    title, introduction = results.caption("workflow")
    values = {
        "title": title,
        "introduction": introduction,
        "style": stylesheet(),
        "rests_on": e(results.claims["rests_on"]),
        "about_claims": results.caption("claims")[1],
        "claims": claims_html(results.claims["claims"], speaks),
        "filters": filters_html(results),
        "list": listed,
        "figures": "".join(sections),
        "runs": runs,
        "specs": "\n".join(specs),
        "data": as_script({"config": config or {}, "dark": dark_colours(s.colour for s in results.known.values())}),
        "vega": scripts().replace("</script", "<\\/script"),
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
        text = page(Results(folder, plan))
        write_file(args.out or folder / "report" / "index.html", text)
    except OfanError as error:
        print(f"ofancore.report_page: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"ofancore.report_page: {error}", flush=True)  # not to the log, which lies on the same disk
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
