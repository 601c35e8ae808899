"""The report's page as text: nothing is lost on the way from a figure to it, every link leads somewhere, nothing comes from a network."""

from __future__ import annotations

import ast
import html
import itertools
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
import small_report

from ofancore import cli, docstrings, palette, report_page
from ofancore.balancers import BALANCERS
from ofancore.config import load_config
from ofancore.errors import OfanError
from ofancore.figures import MissingRun
from ofancore.provenance import drawing
from ofancore.report_charts import DARK, LIGHT, SEEN, adapted, dark_colours, lightened, schemes_in, spec_in
from ofancore.report_html import SWATCHES, VERDICTS
from ofancore.report_page import Results, Unreadable, contents, page, prose
from ofancore.report_table import TABLE_ROWS, drawn_along, headings, in_words, number, quantities

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return small_report.make(tmp_path_factory.mktemp("small"))


def results(folder: Path) -> Results:
    return Results(folder, small_report.PLAN, folder.parent / "captions")


@pytest.fixture(scope="module")
def text(folder) -> str:
    return page(results(folder))


class Reader(HTMLParser):
    """Elements in order, with what encloses them; void elements are not closed."""

    VOID = ("meta", "link", "img", "br", "input")

    def __init__(self, text: str):
        super().__init__()
        self.open, self.elements, self.ids = [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.elements.append((tag, found, tuple(self.open)))
        if "id" in found:
            self.ids.append(found["id"])
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes), tuple(self.open)))

    def handle_endtag(self, tag):
        assert self.open[-1] == tag, (self.open[-3:], tag)
        self.open.pop()

    def all(self, tag: str) -> list[dict]:
        return [attributes for name, attributes, _ in self.elements if name == tag]


def test_the_chart_in_a_figures_page_is_the_one_that_was_drawn(folder):
    for name, (chart, _) in small_report.drawn(folder).items():
        assert spec_in((folder / "figures" / f"{name}.html").read_text()) == json.loads(json.dumps(chart.to_dict()))
    with pytest.raises(ValueError, match="no chart"):
        spec_in("<html></html>")


def test_only_marks_of_schemes_are_filtered_and_their_rows_keep_their_height(folder):
    made = results(folder)
    spec, title = adapted(made.specs["dots_f"])
    assert title["text"] == ["Ofan < OPS"]
    assert "title" not in spec
    assert {"name": "hidden", "value": []} in spec["params"]
    assert [panel["height"] for panel in spec["concat"]] == [{"step": 22}] * 2
    for panel in spec["concat"]:
        for layer in panel["layer"]:
            of_a_scheme = layer["encoding"].get("y", {}).get("field") == "scheme"
            assert ("transform" in layer) == of_a_scheme
    lines, _ = adapted(made.specs["lines_f"])
    assert [panel["height"] for panel in lines["concat"]] == [250, 250]
    assert made.specs["lines_f"]["title"]["text"] == ["Queues grow", "with the message"]  # as it was


def test_schemes_are_known_by_their_names_and_laws_are_none(folder):
    made = results(folder)
    assert schemes_in(made.specs["lines_f"], made.known) == ["ECMP", "OPS (host random)", "Ofan", "mine"]
    assert list(made.schemes) == ["ECMP", "OPS (host random)", "Ofan", "mine"]


def test_colours_are_seen_and_words_are_read_on_both_grounds():
    dark, light = DARK["ground"], LIGHT["ground"]
    colours = [style.colour for style in palette.STYLES.values()] + [colour for colour, *_ in palette.RESERVE] + list(palette.OTHER)
    for colour in colours:
        assert palette.contrast(lightened(colour), dark) >= SEEN
        assert lightened(colour) == colour or palette.contrast(colour, dark) < SEEN
    turned = dark_colours(colours)
    assert set(turned["marks"]) >= set(colours)
    for colour in colours:
        assert palette.contrast(turned["words"][palette.text_colour(colour)], dark) >= palette.READABLE
    for name in ("ink", "faint", "link"):
        assert palette.contrast(LIGHT[name], light) >= palette.READABLE
        assert palette.contrast(LIGHT[name], LIGHT["raised"]) >= palette.READABLE
        assert palette.contrast(DARK[name], dark) >= palette.READABLE
        assert palette.contrast(DARK[name], DARK["raised"]) >= palette.READABLE
    for on_light, on_dark, _ in VERDICTS.values():
        assert palette.contrast(on_light, light) >= palette.READABLE
        assert palette.contrast(on_dark, dark) >= palette.READABLE


def test_lightened_schemes_stay_apart():
    colours = [style.colour for label, style in palette.STYLES.items() if label != "pofan2"]
    for some in (colours, [colour for colour, *_ in palette.RESERVE]):
        assert len({lightened(colour) for colour in some}) == len(some)


def test_every_marker_has_a_swatch():
    assert {style.marker for style in palette.STYLES.values()} <= set(SWATCHES)


def test_a_caption_is_a_heading_and_text(tmp_path):
    assert prose("**A heading.** Text with ``code``.", tmp_path)[0] == "A heading"
    assert "Text with" in prose("**A heading.** Text with ``code``.", tmp_path)[1]
    assert prose("Title\n=====\n\nText.", tmp_path)[0] == "Title"
    assert prose("No heading.", tmp_path) == ("", "<p>No heading.</p>")
    with pytest.raises(Unreadable, match=r"x\.rst.*Inline strong"):
        prose("**never closed", Path("x.rst"))


@pytest.mark.parametrize("config", ["paper", "smoke", "full"])
def test_captions_of_all_figures_can_be_shown(config):
    plan = contents(load_config(ROOT / "config" / f"{config}.yaml", scenarios=False))
    for name in ["workflow", "claims", *plan["figures"]]:
        file = ROOT / "workflow" / "report" / f"{name}.rst"
        heading, body = prose(file.read_text(), file)
        assert heading or name == "claims"
        assert body


def test_the_page_is_well_formed_and_its_links_lead_somewhere(folder, text):
    read = Reader(text)
    assert read.open == []
    assert len(set(read.ids)) == len(read.ids)
    for link in read.all("a"):
        target = link["href"]
        if target.startswith("#"):
            assert target[1:] in read.ids
        else:
            assert (folder / "report" / target).resolve().exists(), target
    for attributes in read.all("div") + read.all("section") + read.all("article"):
        for name in attributes.get("aria-labelledby", "").split():
            assert name in read.ids


def test_the_page_loads_nothing(text):
    read = Reader(text)
    assert [s for s in read.all("script") if "src" in s] == []
    assert [link["href"] for link in read.all("link")] == ["data:,"]
    assert all(image["src"].startswith("../figures/") for image in read.all("img"))  # within noscript
    assert [where for tag, _, where in read.elements if tag == "img" and "noscript" not in where] == []
    assert "@import" not in text.split("</style>")[0]
    assert "url(" not in text.split("</style>")[0]


def test_headings_are_in_order_and_controls_are_named(text):
    read = Reader(text)
    levels = [int(tag[1]) for tag, _, where in read.elements if re.fullmatch("h[1-6]", tag) and "dialog" not in where]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))
    labelled = {label["for"] for label in read.all("label")}
    assert {control["id"] for control in read.all("input") + read.all("select")} <= labelled
    assert all(image.get("alt") for image in read.all("img"))
    assert [tag for tag in ("header", "main", "nav", "aside", "dialog") if not read.all(tag)] == []
    assert all(button.get("aria-pressed") == "true" for button in read.all("button") if "toggle" in button.get("class", ""))


def test_claims_come_first_with_every_check(text):
    assert text.index('id="claims"') < text.index('id="figures"') < text.index('id="runs"')
    claims = text[text.index('<section id="claims"') : text.index('<section id="figures"')]
    assert claims.count("at most 200 &lt;ns&gt;") == 2
    assert "100 [97.5, 102]" in claims
    assert "≤ 200" in claims
    assert "≥ 300" in claims
    assert 'class="chip v-partly"' in claims
    assert 'class="chip v-unmeasured"' in claims
    assert "1 of 2" in claims


def test_a_claim_leads_to_its_figures_and_back(text):
    claims = text[text.index('<section id="claims"') : text.index('<section id="figures"')]
    first, second = claims[claims.index('<article class="claim" id="claim-C1"') :].split('<article class="claim" id="claim-C2"')
    assert re.findall(r'href="#(\w+)"', first) == ["lines_f", "rows_f"]  # the one that it names, one whose runs it measures
    assert re.findall(r'href="#(\w+)"', second) == ["lines_f", "dots_f"]  # one whose caption names it
    for name, back in (("lines_f", ["C1", "C2"]), ("dots_f", ["C2"]), ("rows_f", ["C1"]), ("heat_f", [])):
        figure = text[text.index(f'<article class="figure" id="{name}"') :].split("</article>")[0]
        assert re.findall(r'href="#claim-(\w+)"', figure) == back


def test_long_tables_are_cut_and_say_so(text):
    def shown(name: str) -> str:
        return text[text.index(f'<article class="figure" id="{name}"') :].split("</article>")[0]

    assert shown("heat_f").count("<tr data-of-scheme") == TABLE_ROWS
    assert "Show as table (80 rows)" in shown("heat_f")
    assert "The first 60; all are in" in shown("heat_f")
    assert shown("lines_f").count("<tr data-of-scheme") == 12
    assert '<tr data-of-scheme="OPS (host random)"><td>OPS (host random)</td>' in shown("lines_f")


def test_tables_say_quantity_and_unit_and_numbers_stand_to_the_right(text):
    tables = text.split('<details class="data">')[1:]
    assert len(tables) == len(small_report.PLAN["figures"])
    table = next(t for t in tables if 'aria-label="Table of lines_f"' in t)
    assert "<table><caption><span>lines_f by scheme: queue (packets). Means over seeds, with their 95% intervals.</span></caption>" in table
    heads = re.findall(r'<th scope="col"( class="n")?>(.*?)</th>', table)
    assert [words for _, words in heads][:5] == ["scheme", "m", "mean: queue (packets)", "95% from", "95% to"]
    assert [bool(right) for right, _ in heads] == [False, *[True] * 6]
    assert '<td class="n">1,024</td><td class="n">32</td><td class="n">28.8</td><td class="n">35.2</td>' in table


def test_a_table_of_several_quantities_says_which_a_row_has():
    point = {"type": "quantitative"}

    def view(data: str, title: str) -> dict:
        encoding = {"x": {**point, "field": "hosts", "title": "hosts"}, "y": {**point, "field": "mean", "title": title}}
        return {"mark": "point", "data": {"name": data}, "encoding": encoding}

    rows = {"a": [{"scheme": "Ofan", "hosts": 16, "mean": 5.5}], "b": [{"scheme": "Ofan", "hosts": 16, "mean": 123456.7}]}
    along = drawn_along({"concat": [view("a", "CCT (µs)"), view("b", "queue (B)")], "datasets": rows})
    head = ["hosts", "label", "mean", "metric"]
    table = [
        ["16", "ofan", "5.5", "cct_us"],
        ["16", "ofan", "123457", "largest"],
        ["128", "ofan", "7", "largest"],
        ["16", "ofan", "1", "x_percent"],
    ]
    tells, of = quantities(head, table, along)
    assert (tells, of) == (3, {"cct_us": "CCT (µs)", "largest": "queue (B)", "x_percent": "x (%)"})  # the last one is not drawn
    assert headings(head, of, along) == ["hosts", "scheme", "mean", "quantity (unit)"]
    both = drawn_along({"concat": [view("a", "CCT (µs)"), view("b", "CCT (µs)")], "datasets": rows})
    assert quantities(head, table[:2], both)[1] == {"cct_us": "cct (µs): CCT (µs)", "largest": "largest: CCT (µs)"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [("16384", "16,384"), ("123457", "123,457"), ("1.23457e+06", "1,234,570"), ("0.0156477", "0.01565"), ("-2.5", "−2.5"), ("inf", "∞"),
     ("nan", ""), ("0", "0")],
)  # fmt: skip
def test_numbers_of_tables_have_digits_that_are_read(text, shown):
    assert number(text) == shown


@pytest.mark.parametrize(
    ("column", "words"),
    [("label", "scheme"), ("queue_mean_bytes", "queue mean (B)"), ("balancer.freeze_ns", "freeze (ns)"),
     ("dropped_low_percent", "dropped, 95% from (%)"),
     ("distance_to_optimal_percent, healthy", "distance to optimal (%), healthy"), ("low", "low"), ("hosts", "hosts")],
)  # fmt: skip
def test_columns_are_told_in_words_with_units(column, words):
    assert in_words(column) == words


def test_a_scheme_leads_to_its_docstring_in_the_checkout_and_in_the_page(folder, text):
    """The link to the file works while the page lies with its checkout; the page itself holds the docstring."""
    figure = text[text.index('<article class="figure" id="heat_f"') :].split("</article>")[0]
    row = next(line for line in figure.split("<tr") if 'data-of-scheme="Ofan"' in line)
    file, inside = re.search(r'href="([^"#]*balancers/ofan\.py)"', row), re.search(r'href="#(doc-[\w-]+)"', row)
    assert (folder / "report" / file[1]).resolve() == ROOT / "ofancore/balancers/ofan.py"
    quoted = text[text.index(f'id="{inside[1]}"') :].split("</details>")[0]
    assert html.escape(ast.get_docstring(ast.parse((ROOT / "ofancore/balancers/ofan.py").read_text()))) in quoted
    assert file[1] in quoted
    mine = next(line for line in figure.split("<tr") if 'data-of-scheme="mine"' in line)
    assert "href" not in mine  # it is described nowhere
    assert '<a href="../tables/heat_f_cells.csv">heat_f_cells.csv</a>' in figure


def test_every_scheme_that_a_figure_shows_is_listed(text):
    section = text[text.index('<section id="schemes"') :].split("</section>")[0]
    rows = re.findall(r"<tr role=\"row\"><th scope=\"row\".*?</tr>", section)
    assert [re.sub("<.*?>", "", row.split("</th>")[0]).strip() for row in rows] == ["ECMP", "OPS (host random)", "Ofan", "mine"]
    ops, mine = rows[1], rows[3]
    assert '<td role="cell" data-is="kind"><code>ops</code> (labels: 64)</td>' in ops
    assert html.escape((BALANCERS["ops"].__doc__ or "").split("\n")[0]) in ops
    # whole sentences, over lines and past abbreviations
    for kind in BALANCERS:
        sentence = docstrings.first_sentence(docstrings.docstring(docstrings.described_in(kind)))
        assert sentence.endswith(".")
        assert sentence.count("(") == sentence.count(")")
    assert "Dixit et al., INFOCOM 2013" in ops
    assert "href" not in mine
    for inside in re.findall(r'href="#(doc-[\w-]+)"', section):
        assert section.count(f'id="{inside}"') == 1


def test_names_in_a_chart_lead_to_docstrings_that_the_page_holds(folder):
    """In the figure's own files a name leads to the file; in the page to what the page quotes of it."""
    made = results(folder)
    svg = (folder / "figures" / "heat_f.svg").read_text()
    for link in re.findall(r'xlink:href="([^"]*)"', svg):
        assert (folder / "figures" / link).resolve().parent == ROOT / "ofancore/balancers"
    assert len(re.findall(r'xlink:href="[^"]*balancers/ofan\.py"', svg)) == 2  # in both of its rows
    found = re.search(r'id="spec-heat_f">(.*?)</script>', page(made))[1]
    links = {row["href"] for rows in json.loads(found)["datasets"].values() for row in rows if "href" in row}
    assert links == {"#doc-ofancore-balancers-ecmp", "#doc-ofancore-balancers-ops", "#doc-ofancore-balancers-ofan"}
    assert all(f'id="{link[1:]}"' in page(made) for link in links)


def test_a_notice_stands_above_the_verdicts(folder, text):
    assert text.index('<p class="notice">A &lt;small&gt; grid.</p>') < text.index('class="verdicts"')
    file = folder / "claims.json"
    kept = file.read_text()
    file.write_text(json.dumps({**json.loads(kept), "notice": ""}))
    assert 'class="notice"' not in page(results(folder))
    file.write_text(kept)


def test_the_page_says_what_made_it(text):
    assert "0123456789abcdef" in text
    assert "What grows, and &quot;how&quot; &lt;fast&gt;." in text
    assert "<code>sweep</code>, 12 runs" in text


def test_the_same_results_give_the_same_bytes(folder, text):
    assert page(results(folder)) == text


def test_a_grid_without_claims_and_animation_has_no_place_for_them(folder, text):
    assert 'href="../figures/queues_on_the_tree.html"' in text
    without = page(Results(folder, small_report.PLAN | {"claims": {}, "animation": False}, folder.parent / "captions"))
    assert "queues_on_the_tree" not in without
    assert not {"claims", "claims-title"} & set(Reader(without).ids)
    assert 'href="#claim' not in without
    assert {"figures", "runs", "lines_f"} <= set(Reader(without).ids)


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("claims.json", "missing"),
        ("figures/dots_f.html", "missing"),
        ("tables/rows_f.csv", "missing"),
        ("raw/sweep/ops.parquet", "missing"),
    ],
)
def test_what_is_missing_is_named(folder, path, what):
    file = folder / path
    kept = file.read_bytes()
    try:
        file.unlink()
        with pytest.raises(OfanError, match=rf"{re.escape(path)}: {what}"):
            page(results(folder))
    finally:
        file.write_bytes(kept)


def test_what_cannot_be_read_is_named(folder):
    for path, error in (("figures/dots_f.html", Unreadable), ("raw/sweep/ops.parquet", MissingRun)):
        file = folder / path
        kept = file.read_bytes()
        try:
            file.write_bytes(kept[: len(kept) // 2] if path.endswith("parquet") else b"<html>")
            with pytest.raises(error, match=rf"{re.escape(path)}: not readable"):
                page(results(folder))
        finally:
            file.write_bytes(kept)


def test_the_command_writes_the_page_or_one_line(folder, text, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(report_page, "CAPTIONS", folder.parent / "captions")
    command = ["--contents", json.dumps(small_report.PLAN), "--results", str(folder)]
    assert report_page.main([*command, "--out", str(tmp_path / "page.html")]) == 0
    assert drawing((tmp_path / "page.html").read_bytes()).decode() == text
    assert report_page.main(command) == 0
    assert cli.main(["explain", str(folder / "report/index.html"), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert set(record["runs"]) == {
        f"raw/{name}/{label}.parquet" for name, e in small_report.PLAN["experiments"].items() for label in e["schemes"]
    }
    assert set(record["now"]["files"].values()) | set(record["now"]["runs"].values()) == {"as then"}
    assert record["now"]["again"].startswith(".venv/bin/snakemake results/report/index.html ")
    assert record["now"]["by_hand"] == ".venv/bin/python -m ofancore.report_page --config config/paper.yaml --results results"
    assert report_page.main(["--contents", json.dumps(small_report.PLAN), "--results", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert report_page.main(["--config", str(tmp_path / "none.yaml")]) == 2
    assert "none.yaml" in capsys.readouterr().err
