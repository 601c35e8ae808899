"""Parts of the report's page: verdicts, filters, figures with what lies behind them, runs."""

from __future__ import annotations

import html
import json
import re

from ofancore import docstrings
from ofancore.claims import CLASSES, band, measured, subject
from ofancore.palette import FAMILIES, Style
from ofancore.report_charts import lightened, schemes_in
from ofancore.report_table import table_html

VERDICTS = {  # class -> (colour on light, on dark, mark)
    "reproduced": ("#00664b", "#5fc9a6", "✓"), "yes": ("#00664b", "#5fc9a6", "✓"),
    "partly": ("#855600", "#e6ac4c", "◐"), "open": ("#855600", "#e6ac4c", "?"),
    "not": ("#a33c00", "#f08a54", "✗"), "no": ("#a33c00", "#f08a54", "✗"),
    "unmeasured": ("#666666", "#a3a9b0", "–"),
}  # fmt: skip
SWATCHES = {  # markers of eight pixels in the middle of a swatch
    "circle": '<circle cx="13" cy="6" r="3.6"/>',
    "square": '<path d="M9.8 2.8h6.4v6.4h-6.4z"/>',
    "diamond": '<path d="M13 1.4 17 6l-4 4.6L9 6z"/>',
    "triangle-up": '<path d="M13 1.8 17.2 9.4H8.8z"/>',
    "triangle-down": '<path d="M13 10.2 8.8 2.6h8.4z"/>',
    "triangle-left": '<path d="M8.8 6l7.6-4.2v8.4z"/>',
    "triangle-right": '<path d="M17.2 6 9.6 1.8v8.4z"/>',
    "cross": '<path d="M11.6 2h2.8v2.6H17v2.8h-2.6V10h-2.8V7.4H9V4.6h2.6z"/>',
}

e = html.escape


def chip(kind: str, words: str) -> str:
    """A verdict: a mark, words and a colour."""
    return f'<span class="chip v-{kind}"><span aria-hidden="true">{VERDICTS[kind][2]}</span> {e(words)}</span>'


def swatch(s: Style) -> str:
    """The line and the marker of a scheme."""
    dash = s.dasharray and f' stroke-dasharray="{s.dasharray}"'
    return (
        f'<svg class="swatch" style="--light:{s.colour};--dark:{lightened(s.colour)}" viewBox="0 0 26 12" aria-hidden="true">'
        f'<path d="M0 6h26" stroke-width="1.8"{dash}/>{SWATCHES[s.marker]}</svg>'
    )


def toggle(kind: str, value: str, inside: str, more: str = "") -> str:
    return f'<button type="button" class="toggle" data-{kind}="{e(value)}"{more} aria-pressed="true">{inside}</button>'


def claims_html(judged: dict, about: str, figures: dict[str, list[str]]) -> str:
    """The section of `claims.json`: the table of verdicts, and below it every check. `figures`: claim -> figures that speak to it."""
    notice = f'<p class="notice">{e(judged["notice"])}</p>\n' if judged["notice"] else ""
    return f"""<section id="claims" aria-labelledby="claims-title">
<h2 id="claims-title">Claims</h2>
{notice}<p>{e(judged["rests_on"])}</p>
{_verdicts_html(judged["claims"], figures)}
<details><summary>How claims are judged</summary>{about}</details>
</section>"""


def _verdicts_html(table: list[dict], figures: dict[str, list[str]]) -> str:
    rows, details = [], []
    for claim in table:
        key, checks, verdict = e(claim["id"]), claim["checks"], chip(CLASSES[claim["verdict"]], claim["verdict"])
        passed = f"{sum(k['passed'] == 'yes' for k in checks)} of {len(checks)}" if checks else "none"
        links = ", ".join(f'<a href="#{name}">{name}</a>' for name in figures[claim["id"]])
        # Roles, since a narrow screen lays the cells out below each other.
        rows.append(
            f'<tr role="row"><th scope="row" role="rowheader"><a href="#claim-{key}">{key}</a> {e(claim["claim"])}</th>'
            f'<td role="cell" data-is="verdict">{verdict}</td><td role="cell" data-is="checks passed">{passed}</td>'
            f'<td role="cell" data-is="figures">{links}</td></tr>'
        )
        details.append(
            f'<article class="claim" id="claim-{key}" aria-labelledby="of-{key}">'
            f'<h3 id="of-{key}">{key} {e(claim["claim"])} {verdict}</h3>'
            f"<p>Paper: {e(claim['paper'])} ({e(claim['source'])}).{f' Figures: {links}.' if links else ''}</p>"
            f"{checks_html(key, passed, checks) if checks else ''}</article>"
        )
    head = "".join(f'<th scope="col" role="columnheader">{text}</th>' for text in ("claim", "verdict", "checks passed", "figures"))
    return (
        f'<table class="verdicts" role="table"><thead role="rowgroup"><tr role="row">{head}</tr></thead>'
        f'<tbody role="rowgroup">{"".join(rows)}</tbody></table><div class="details">{"".join(details)}</div>'
    )


def checks_html(claim: str, passed: str, checks: list[dict]) -> str:
    """The checks of a claim, folded up."""
    rows = "".join(
        f'<tr><td>{e(k["says"])}</td><td>{e(subject(k))}</td><td class="n">{e(measured(k))}</td>'
        f'<td class="n">{e(band(k))}</td><td>{chip(k["passed"], k["passed"])}</td></tr>'
        for k in checks
    )
    head = "".join(f'<th scope="col">{text}</th>' for text in ("criterion", "scheme", "measured [95% interval]", "band", "passed"))
    return (
        f"<details><summary>Checks: {passed} passed</summary>"
        f'<div class="box" role="region" tabindex="0" aria-label="Checks of {claim}">'
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div></details>"
    )


def categories_of(plan: dict) -> list[str]:
    return list(dict.fromkeys(figure["category"] for figure in plan["figures"].values()))


def filters_html(results) -> str:
    """The controls: text, experiment, categories, schemes by family."""
    plan = results.plan
    used = sorted({name for figure in plan["figures"].values() for name in figure["experiments"]})
    options = "".join(f'<option value="{name}">{name}</option>' for name in used)
    categories = "".join(toggle("category", category, e(category)) for category in categories_of(plan))
    families = ""
    for family, title in FAMILIES.items():
        chips = "".join(
            toggle("scheme", name, swatch(s) + e(name), f' data-family="{family}"')
            for name, s in results.schemes.items()
            if s.family == family
        )
        if chips:
            whole = f'<button type="button" class="family" data-of="{family}" aria-pressed="true">{title}</button>'
            families += f'<div role="group" aria-label="{title}">{whole}<div class="toggles">{chips}</div></div>'
    return f"""<p><label for="text">Text</label><input type="search" id="text" autocomplete="off"></p>
<p><label for="experiment">Experiment</label><select id="experiment"><option value="">all</option>{options}</select></p>
<div role="group" aria-labelledby="by-category"><p id="by-category" class="label">Category</p>
<div class="toggles">{categories}</div></div>
<div role="group" aria-labelledby="by-scheme"><p class="label"><span id="by-scheme">Schemes</span>
<button type="button" id="all" aria-label="all schemes">all</button>
<button type="button" id="none" aria-label="no scheme">none</button></p>
{families}</div>
<p><button type="button" id="reset">Clear all filters</button></p>"""


def list_html(plan: dict, headings: dict[str, str]) -> str:
    """Links to the figures, in the order of the page."""
    return "".join(
        f'<li data-for="{name}"><a href="#{name}">{re.sub("<[^>]*>", "", headings[name]) or name}</a></li>'
        for category in categories_of(plan)
        for name, figure in plan["figures"].items()
        if figure["category"] == category
    )


def _lines(text: str | list[str]) -> list[str]:
    return [text] if isinstance(text, str) else text


def figure_html(name: str, results, title: dict, caption: tuple[str, str], claims: dict[str, str], runs: dict[str, int]) -> str:
    """A figure: what it found, chart, caption, table, and where all of it lies.

    `claims`: claim -> verdict, of those that it speaks to. `runs`: experiment -> how many it has.
    """
    figure, (heading, body) = results.plan["figures"][name], caption
    finding, setup = " ".join(_lines(title.get("text", ""))), _lines(title.get("subtitle", ""))
    verdicts = ", ".join(f'<a href="#claim-{key}">{key}</a> {chip(CLASSES[v], v)}' for key, v in claims.items())
    experiments = ", ".join(f'<a href="#experiment-{x}">{x}</a> ({runs[x]:,})' for x in figure["experiments"])
    more = [(f"tables/{name}{end}", f"{name}{end}") for end in figure.get("more", ())]
    files = " · ".join(
        f'<a href="../{path}">{text}</a>'
        for path, text in (
            (f"notebooks/{name}.ipynb", "notebook"), (f"numbers/{name}.json", "numbers"), (f"tables/{name}.csv", "table"),
            (f"figures/{name}.html", "page of its own"), (f"figures/{name}.svg", "SVG"), (f"figures/{name}.png", "PNG"), *more,
        )
    )  # fmt: skip
    about = {
        "category": figure["category"],
        "experiments": " ".join(figure["experiments"]),
        "schemes": "|".join(schemes_in(results.specs[name], results.known)),
    }
    data = " ".join(f'data-{key}="{e(value)}"' for key, value in about.items())
    return f"""<article class="figure" id="{name}" aria-labelledby="of-{name}" {data}>
<h4><span id="of-{name}">{heading or name}</span> <a class="anchor" href="#{name}">{name}</a></h4>
<p class="finding">{e(finding)}</p><p class="setup">{"<br>".join(map(e, setup))}</p>
<div class="choices"></div>
<p class="hint" hidden>Wider than its place: scroll the chart sideways, or enlarge it.</p>
<div class="box"><div class="chart" role="img" aria-label="Chart: {e(finding)}. Its values are in the table below."></div>
<noscript><img src="../figures/{name}.svg" alt="{e(" ".join([finding, *setup]))}"></noscript></div>
<p class="files"><button type="button" class="enlarge" aria-label="Enlarge {name}">Enlarge</button> {files}</p>
<div class="caption">{body}</div>
{f'<p class="speaks">Speaks to {verdicts}</p>' if claims else ""}
<p class="files">Runs: {experiments}</p>
{table_html(name, results)}
</article>"""


def docs_html(results) -> str:
    """Every scheme that a figure shows: keys, what it does, paper; and, folded up, the docstrings, which are here where no checkout is."""
    rows, files = [], {}
    for name, (keys, path, text) in results.described.items():
        files.setdefault(path, []).append(name)
        title = f'<a href="#{docstrings.anchor(path)}">{e(name)}</a>' if text else e(name)
        more = ", ".join(f"{k}: {v if isinstance(v, str) else json.dumps(v)}" for k, v in keys.items() if k != "kind")
        kind = f"<code>{e(keys['kind'])}</code>{e(f' ({more})') if more else ''}"
        does, rule = docstrings.in_a_line(keys["kind"], text), docstrings.first_sentence(text)
        cells = {"kind": kind, "what it does": e(does), "rule, paper": e(rule)}
        rows.append(
            f'<tr role="row"><th scope="row" role="rowheader">{swatch(results.schemes[name])} {title}</th>'
            + "".join(f'<td role="cell" data-is="{column}">{cell}</td>' for column, cell in cells.items())
            + "</tr>"
        )
    if not rows:
        return ""
    items = "".join(
        f'<details><summary>{e(", ".join(files[path]))}</summary><div id="{docstrings.anchor(path)}">'
        f'<p><a href="{e(docstrings.link(path, results.folder / "report"))}">{e(path)}</a></p>'
        f'<pre class="docstring">{e(text)}</pre></div></details>'
        for path, text in results.docs.items()
    )
    titles = ("scheme", "kind (keys)", "what it does", "rule, paper")
    head = "".join(f'<th scope="col" role="columnheader">{title}</th>' for title in titles)
    return (
        '<section id="schemes" aria-labelledby="schemes-title"><h2 id="schemes-title">Schemes</h2>'
        "<p>Every scheme that a figure shows. Names lead to what the files that implement them say: rule, paper, choices.</p>"
        f'<table class="verdicts" role="table"><thead role="rowgroup"><tr role="row">{head}</tr></thead>'
        f'<tbody role="rowgroup">{"".join(rows)}</tbody></table>{items}</section>'
    )


def runs_html(results) -> tuple[str, dict[str, int]]:
    """The experiments with their raw tables and what made them; and how many runs each has."""
    items, counts, made = [], {}, {}
    used = {name for figure in results.plan["figures"].values() for name in figure["experiments"]}
    used.update(name for names in results.plan["claims"].values() for name in names)
    for name, experiment in results.plan["experiments"].items():
        if name not in used:
            continue
        groups = results.runs(name)
        counts[name] = sum(runs for _, runs, _ in groups)
        made.update((json.dumps(about, sort_keys=True), about) for _, _, about in groups)
        files = ", ".join(f'<a href="../raw/{name}/{label}.parquet">{label}</a>' for label, _, _ in groups)
        items.append(
            f'<div id="experiment-{name}"><dt><code>{name}</code>, {counts[name]:,} runs</dt>'
            f"<dd>{e(experiment['about'])}<br>Raw runs: {files}</dd></div>"
        )
    versions = "; ".join(", ".join(f"{key} {value}" for key, value in about.items()) for about in made.values())
    return f"<p>Made with {e(versions)}.</p><dl>{''.join(items)}</dl>", counts
