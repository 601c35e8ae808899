"""Charts as the report's page draws them: taken from the figures' own pages, with a filter by scheme and colours for a dark ground."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from ofancore import palette
from ofancore.palette import text_colour
from ofancore.theme import FAINT, GRID, INK, LINK

HIDDEN = "indexof(hidden, datum.scheme) < 0"  # what a mark's scheme must fulfil; the page sets `hidden`
# Grounds and inks of the page and of its charts.
LIGHT = {"ground": "#ffffff", "raised": "#f6f6f4", "ink": INK, "faint": "#666666", "line": "#dcdcda", "link": LINK}
DARK = {"ground": "#16191d", "raised": "#1f2328", "ink": "#e9e9e6", "faint": "#a3a9b0", "line": "#3b4148", "link": "#7cc0ea"}
SEEN, READ = 3.4, 4.5  # least contrast of marks (WCAG 2, level AA: 3) and of words (4.5) with the dark ground


def spec_in(page: str) -> dict:
    """The Vega-Lite specification in a figure's interactive page."""
    start = re.search(r"\bspec = (?=\{)", page)
    if start is None:
        raise ValueError("it holds no chart")
    return json.JSONDecoder().raw_decode(page, start.end())[0]


def adapted(spec: dict, anchors: dict[str, str] | None = None) -> tuple[dict, dict]:
    """A chart for the page: (specification, its title). Schemes named in the parameter `hidden` are left out, and with them their rows.
    `anchors`: link to a file -> the place in the page where it is quoted, which is there wherever the page is taken.

    The title becomes text of the page, where it wraps and is read out.
    """
    spec = json.loads(json.dumps(spec))
    title = spec.pop("title", {})
    spec["params"] = [*spec.get("params", []), {"name": "hidden", "value": []}]
    for row in (row for rows in spec.get("datasets", {}).values() for row in rows if anchors and row.get("href")):
        row["href"] = anchors.get(row["href"], row["href"])
    named = {name for name, rows in spec.get("datasets", {}).items() if any("scheme" in row for row in rows)}
    for node, data in nodes(spec):
        if "mark" in node and data in named:
            node["transform"] = [{"filter": HIDDEN}, *node.get("transform", [])]
        rows = _rows(node)
        if rows and isinstance(node.get("height"), int | float):
            node["height"] = {"step": node["height"] / rows}  # so that the others stay as high as they are
    return spec, title if isinstance(title, dict) else {"text": title}


def nodes(node: dict, data: str | None = None) -> Iterator[tuple[dict, str | None]]:
    """Every view of a specification with the name of the data that it draws."""
    data = node.get("data", {}).get("name", data)
    yield node, data
    for key in ("concat", "hconcat", "vconcat", "layer"):
        for child in node.get(key, []):
            yield from nodes(child, data)
    if "spec" in node:  # of a facet
        yield from nodes(node["spec"], data)


def _rows(panel: dict) -> int:
    """How many schemes have a row of their own in a panel."""
    found = 0
    for node, _ in nodes(panel) if "layer" in panel or "mark" in panel else ():
        y = node.get("encoding", {}).get("y", {})
        if y.get("field") == "scheme" and isinstance(y.get("sort"), list):
            found = max(found, len(y["sort"]))
    return found


def schemes_in(spec: dict, known) -> list[str]:
    """Names of the schemes that a chart draws."""
    drawn = {str(row["scheme"]) for rows in spec.get("datasets", {}).values() for row in rows if "scheme" in row}
    return [name for name in known if name in drawn]


def colours_in(spec: dict) -> set[str]:
    """Colours that a chart gives to names: of schemes, of simulators. Those of values, from which cells take theirs, are none of them."""
    coded = (node.get("encoding", {}).get("color", {}) for node, _ in nodes(spec))
    ranges = (color.get("scale", {}).get("range") for color in coded if color.get("type") == "nominal" and color.get("scale"))
    return {c for colours in ranges if isinstance(colours, list) for c in colours if re.fullmatch("#[0-9a-fA-F]{6}", c)}


def lightened(colour: str, least: float = SEEN) -> str:
    """The colour as it is on the page's dark ground."""
    return palette.lightened(colour, DARK["ground"], least)


def dark_colours(colours: Iterable[str]) -> dict[str, dict[str, str]]:
    """Colours on the light ground -> those on the dark one: `marks` of schemes, and `words` beside them."""
    common = {INK: DARK["ink"], FAINT: DARK["faint"], GRID: DARK["line"], LINK: DARK["link"], "white": DARK["ground"]}
    found = sorted(set(colours))
    return {
        "marks": {**{c: lightened(c) for c in found}, **common},
        "words": {**{text_colour(c): lightened(c, READ) for c in found}, **common},
    }
