"""The report's page in a real browser: charts are drawn, filters and keys do what they say, on wide and narrow, light and dark screens."""

from __future__ import annotations

import itertools
import json
import re
import time
from pathlib import Path

import browser
import pytest
import small_report

from ofancore import palette
from ofancore.report_charts import DARK, lightened
from ofancore.report_page import Results, page

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(browser.found() is None, reason="no Chromium on the PATH (Debian: apt-get install chromium)"),
]
FIGURES = list(small_report.PLAN["figures"])
# every figure that is shown, at its present width
DRAWN = """[...document.querySelectorAll('article.figure')].every(f => f.hidden || (f.dataset.drawn && f.dataset.drawn === f.dataset.asked
    && f.dataset.drawn.split(' ')[0] == f.querySelector('.box').clientWidth))"""
SHOWN = "[...document.querySelectorAll('article.figure')].filter(f => !f.hidden).map(f => f.id)"


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    folder = small_report.make(tmp_path_factory.mktemp("small"))
    (folder / "report").mkdir()
    (folder / "report" / "index.html").write_text(page(Results(folder, small_report.PLAN, folder.parent / "captions")))
    return folder / "report" / "index.html"


@pytest.fixture(scope="module")
def opened(file, tmp_path_factory):
    with browser.Browser(tmp_path_factory.mktemp("profile") / "p") as chromium:
        yield chromium


@pytest.fixture
def at(opened, file):
    """The page, opened anew on a wide and light screen. Whatever a test does, the browser has nothing to complain about."""
    opened.resize(1280, 900)
    opened.prefer(prefers_color_scheme="light")
    opened("Emulation.setScriptExecutionDisabled", value=False)
    opened.problems.clear()
    opened.open(file)
    opened.until(DRAWN)
    yield opened
    assert opened.problems == []


def click(at, selector: str) -> None:
    at.run(f"document.querySelector({json.dumps(selector)}).click()")


def words(at, figure: str) -> list[str]:
    """All words in a figure's charts."""
    return sorted(at.run(f"[...document.querySelectorAll('#{figure} .chart svg text')].map(t => t.textContent)"))


def scheme(name: str) -> str:
    return f'[data-scheme="{name}"]'


def test_every_figure_is_drawn(at):
    for figure in FIGURES:
        marks = at.run(f"document.querySelectorAll('#{figure} .chart svg .role-mark path, #{figure} .chart svg .role-mark text').length")
        assert marks > 3, figure
    assert "Ofan" in words(at, "lines_f")
    assert "a band" in words(at, "dots_f")
    assert "default" in words(at, "rows_f")
    assert "healthy" in words(at, "heat_f")
    assert at.run("document.getElementById('count').textContent") == "4 of 4 figures, 4 of 4 schemes"


def test_a_figure_that_cannot_be_drawn_shows_its_picture_and_says_so(at):
    at.run("document.getElementById('spec-dots_f').textContent = '{'; document.getElementById('theme').value = 'dark'")
    at.run("document.getElementById('theme').dispatchEvent(new Event('change'))")
    at.until("document.getElementById('dots_f').dataset.drawn === 'failed'")
    assert at.run("document.querySelector('#dots_f .chart img').getAttribute('src')") == "../figures/dots_f.svg"
    assert len(at.problems) >= 1
    assert all("dots_f" in problem or "figures/dots_f.svg" in problem for problem in at.problems)
    at.run("localStorage.clear()")
    at.problems.clear()


def test_schemes_are_taken_out_of_every_figure_and_come_back(at):
    before = {figure: words(at, figure) for figure in FIGURES}
    click(at, scheme("OPS (host random)"))
    for figure in FIGURES:
        assert "OPS (host random)" in before[figure]
        assert "OPS (host random)" not in words(at, figure) or figure == "rows_f"  # whose legend names all
    assert at.run("document.querySelectorAll('#lines_f tr[data-of-scheme]:not([hidden])').length") == 9
    assert at.run("document.querySelector('[data-of=host]').getAttribute('aria-pressed')") == "false"
    assert at.run("document.getElementById('count').textContent") == "4 of 4 figures, 3 of 4 schemes"
    click(at, scheme("OPS (host random)"))
    assert {figure: words(at, figure) for figure in FIGURES} == before


def test_the_rows_that_stay_keep_their_height(at):
    height = "document.querySelector('#dots_f svg').getBoundingClientRect().height"
    before = at.run(height)
    click(at, scheme("ECMP"))
    at.until(f"Math.abs({height} - {before - 22}) < 1")


def test_a_family_or_all_schemes_at_once(at):
    click(at, "#none")
    assert at.run(SHOWN) == []
    assert "0 of 4 figures, 0 of 4 schemes" in at.run("document.getElementById('count').textContent")
    click(at, "[data-of=rotation]")
    assert at.run(SHOWN) == ["lines_f", "dots_f", "rows_f", "heat_f"]
    at.until(DRAWN)
    assert "OPS (host random)" not in words(at, "lines_f")
    assert "Ofan" in words(at, "lines_f")
    click(at, "#reset")
    assert "OPS (host random)" in words(at, "lines_f")


def test_figures_are_found_by_category_experiment_and_words(at):
    click(at, '[data-category="Points"]')
    assert at.run(SHOWN) == ["lines_f", "heat_f"]
    assert at.run("document.querySelector('section[aria-label=Points]').hidden")
    assert at.run("document.querySelector('li[data-for=dots_f]').hidden")
    click(at, "#reset")
    choose = "(() => {{ const e = document.getElementById('{0}'); e.value = '{1}'; e.dispatchEvent(new Event('{2}')) }})()"
    at.run(choose.format("experiment", "sweep", "change"))
    assert at.run(SHOWN) == ["lines_f", "rows_f"]
    at.run(choose.format("text", "row CHOICE", "input"))
    assert at.run(SHOWN) == ["rows_f"]
    at.run(choose.format("text", "nothing of the kind", "input"))
    assert at.run(SHOWN) == []
    click(at, "#reset")
    assert at.run(SHOWN) == FIGURES


def test_where_no_figure_matches_a_sentence_says_so_and_a_key_clears_the_filters(at):
    nothing = "document.getElementById('nothing')"
    assert at.run(f"{nothing}.hidden")
    click(at, '[data-category="Points"]')
    click(at, scheme("Ofan"))
    choose = "(() => {{ const e = document.getElementById('{0}'); e.value = '{1}'; e.dispatchEvent(new Event('{2}')) }})()"
    at.run(choose.format("experiment", "sweep", "change"))
    assert at.run(f"{nothing}.hidden")
    at.run(choose.format("text", "no such words", "input"))
    assert at.run(SHOWN) == []
    said = at.run(f"{nothing}.checkVisibility() && {nothing}.querySelector('p').textContent")
    assert said == "No figure matches the text “no such words”, experiment sweep, 2 of 3 categories, 3 of 4 schemes."
    at.run("document.getElementById('reset').focus()")  # the one beside the filters; the next stop is this one
    assert at.run("document.activeElement.textContent") == "Clear all filters"
    at.press("Tab", 9)
    assert at.run(f"document.activeElement === {nothing}.querySelector('button')")
    at.press("Enter", 13, "\r")
    assert at.run(SHOWN) == FIGURES
    assert at.run(f"{nothing}.hidden && document.activeElement.id") == "shown"
    assert at.run("document.getElementById('count').textContent") == "4 of 4 figures, 4 of 4 schemes"
    assert at.run("document.getElementById('text').value + document.getElementById('experiment').value") == ""


def test_a_link_to_a_figure_that_is_filtered_out_brings_it_back(at):
    click(at, '[data-category="League"]')
    assert "heat_f" not in at.run(SHOWN)
    at.run("location.hash = '#heat_f'")
    at.until("!document.getElementById('heat_f').hidden")
    at.run("location.hash = ''")


CHOOSE = """(() => {{ const e = document.querySelector('{0} select'); e.value = '{1}';
    for (const name of ['input', 'change']) e.dispatchEvent(new Event(name, {{bubbles: true}})) }})()"""


@pytest.mark.parametrize("moved", [False, True])
def test_a_link_leads_where_it_says_while_charts_are_drawn(at, file, moved):
    """Charts above push it away; it is held until the reader moves."""
    last, top = FIGURES[-1], f"document.getElementById('{FIGURES[-1]}').getBoundingClientRect().top"
    at.resize(1280, 300)  # all but the last are above
    at("Page.navigate", url="about:blank")
    at("Page.navigate", url=f"{file.resolve().as_uri()}#{last}")
    at.until(f"document.getElementById('{last}')")
    if moved:
        at.until(f"{top} < 300")
        at.run("dispatchEvent(new WheelEvent('wheel')), scrollTo({top: 0, behavior: 'instant'})")
    at.until(DRAWN)
    assert (abs(at.run(top)) < 40) != moved


def test_a_reader_chooses_what_cells_show_and_it_stays_chosen(at):
    before = words(at, "heat_f")
    assert at.run("document.querySelector('#heat_f .choices select').value") == "inflation"
    at.run(CHOOSE.format("#heat_f .choices", "queue_max"))
    at.until("[...document.querySelectorAll('#heat_f .chart svg text')].some(t => t.textContent === '80')")  # ten times the 8 of inflation
    chosen = words(at, "heat_f")
    assert [word for word in chosen if word.startswith(">")] == []
    assert [word for word in before if word.startswith(">")] == ["> 16", "> 24", "> 8"]
    at.resize(1100, 900)
    at.until(DRAWN)
    assert words(at, "heat_f") == chosen
    click(at, "#heat_f .enlarge")
    at.until("document.querySelector('dialog .choices select')?.value === 'queue_max'")
    at.run(CHOOSE.format("dialog .choices", "inflation"))
    at.until("[...document.querySelectorAll('dialog .chart svg text')].some(t => t.textContent === '> 8')")
    click(at, "#close")
    at.until("document.querySelectorAll('dialog .choices select').length === 0")


@pytest.mark.parametrize("within", ["#heat_f", "dialog"])
def test_a_name_in_a_chart_opens_the_docstring_in_the_page(at, within):
    if within == "dialog":
        click(at, "#heat_f .enlarge")
        at.until("document.querySelector('dialog .chart svg text')")
    there = "document.getElementById('doc-ofancore-balancers-ofan')"
    assert not at.run(f"{there}.closest('details').open")
    nth = at.run(f"[...document.querySelectorAll('{within} .chart svg text')].findIndex(t => t.textContent === 'Ofan')")
    x, y = centre(at, f"{within} .chart svg text", nth)
    for kind in ("mousePressed", "mouseReleased"):
        at("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    at.until(f"{there}.closest('details').open && !document.querySelector('dialog[open]')")
    at.until(f"(() => {{ const r = {there}.getBoundingClientRect(); return r.top >= 0 && r.top < innerHeight }})()")
    assert "pointer per (destination edge switch" in at.run(f"{there}.textContent")
    at.run("location.hash = ''")


def centre(at, selector: str, nth: int = 0) -> list[float]:
    at.run(f"document.querySelectorAll({json.dumps(selector)})[{nth}].scrollIntoView({{block: 'center', behavior: 'instant'}})")
    return at.run(
        f"(() => {{ const r = document.querySelectorAll({json.dumps(selector)})[{nth}].getBoundingClientRect();"
        " return [r.left + r.width / 2, r.top + r.height / 2] })()"
    )


def hover(at, mark: str) -> tuple[float, float]:
    """Move the mouse over a mark until it tells something: a chart that is drawn anew meanwhile has not heard of it."""
    end = time.monotonic() + browser.SECONDS
    while at.run("document.getElementById('tip').hidden"):
        assert time.monotonic() < end
        at.mouse("mouseMoved", 1, 1)
        x, y = centre(at, mark)
        at.mouse("mouseMoved", x, y)
        time.sleep(0.2)
    return x, y


def test_a_mark_tells_its_values_and_a_click_isolates_its_scheme(at):
    mark = "#dots_f .chart .mark-symbol path"
    x, y = hover(at, mark)
    tip = at.run("document.getElementById('tip').textContent")
    assert "scheme" in tip
    assert "95% from" in tip
    faint = f"[...document.querySelectorAll('{mark}')].filter(p => Number(p.getAttribute('opacity')) < 0.5).length"
    assert at.run(faint) == 0
    at.mouse("mousePressed", x, y, button="left", clickCount=1)
    at.mouse("mouseReleased", x, y, button="left", clickCount=1)
    at.until(f"{faint} === 6")  # all but one of four, in both panels
    at.mouse("mouseMoved", 2, 2)
    at.until("document.getElementById('tip').hidden")


def test_keys_reach_everything(at):
    at.press("Tab", 9)
    assert at.run("document.activeElement.textContent") == "Skip to the claims"
    assert at.run("document.activeElement.getBoundingClientRect().left") >= 0
    at.run(f"document.querySelector('{scheme('Ofan')}').focus()")
    at.press(" ", 32, " ")
    assert at.run("document.activeElement.getAttribute('aria-pressed')") == "false"
    assert "Ofan" not in words(at, "lines_f")
    at.press("Enter", 13, "\r")
    assert at.run("document.activeElement.getAttribute('aria-pressed')") == "true"
    at.run("document.querySelector('#lines_f .enlarge').focus()")
    at.press("Enter", 13, "\r")
    at.until("document.querySelector('dialog[open] svg')")
    at.press("Escape", 27)
    at.until("!document.querySelector('dialog[open]')")
    assert at.run("document.activeElement.className") == "enlarge"
    at.until("!document.querySelector('dialog svg')")


@pytest.mark.parametrize("width", [1280, 390])
def test_every_figure_can_be_enlarged(at, width):
    at.resize(width, 800, phone=width < 700)
    at.until(DRAWN)
    for figure in FIGURES:
        click(at, f"#{figure} .enlarge")
        at.until("document.querySelector('dialog[open] svg')", seconds=20)
        assert at.run("document.activeElement.id") == "close"
        click(at, "#close")


def test_an_enlarged_chart_is_larger_and_zooms(at):
    width = at.run("document.querySelector('#lines_f svg').getBoundingClientRect().width")
    click(at, "#lines_f .enlarge")
    at.until("document.querySelector('dialog svg')")
    assert at.run("document.querySelector('dialog svg').getBoundingClientRect().width") > 1.1 * width
    names = (
        "[...document.querySelectorAll('dialog svg text')].filter(t => t.textContent === 'Ofan').map(t => t.getBoundingClientRect().top)"
    )
    ticks = "document.querySelector('dialog .role-axis-label').textContent"
    before, places = at.run(ticks), at.run(names)
    assert len(places) == 2
    x, y = centre(at, "dialog .mark-line path")
    for _ in range(4):
        at.mouse("mouseWheel", x, y, deltaX=0, deltaY=-200)
    at.until(f"{ticks} !== {json.dumps(before)}")
    assert at.run(names) == places  # a legend now, not the ends of the lines
    click(at, scheme("Ofan"))
    click(at, "#close")
    click(at, scheme("Ofan"))


def test_the_dark_page_has_dark_charts(at):
    at.prefer(prefers_color_scheme="dark")
    at.until(f"document.documentElement.dataset.theme === 'dark' && {DRAWN}")
    strokes = "[...document.querySelectorAll('#lines_f .mark-line path')].map(p => p.getAttribute('stroke').toLowerCase())"
    ofan = palette.style("ofan").colour
    assert lightened(ofan) in at.run(strokes)
    assert ofan.lower() not in at.run(strokes)
    ground = at.run("getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb({}, {}, {})".format(*(int(DARK["ground"][i : i + 2], 16) for i in (1, 3, 5)))
    fills = at.run("[...document.querySelectorAll('#lines_f svg text')].map(t => t.getAttribute('fill'))")
    assert min(palette.contrast(fill, DARK["ground"]) for fill in fills if fill.startswith("#")) >= palette.READABLE
    at.until("[...document.querySelectorAll('article.figure')].every(f => f.dataset.drawn.endsWith(' dark'))")
    # keys too, whose marks may stand for no colour; what a mark is filled with may be a name
    found = at.run(
        "[...document.querySelectorAll('.chart svg .mark-symbol path')].map(p => getComputedStyle(p)).flatMap(s => [s.fill, s.stroke])"
    )
    inks = {re.sub(r"rgb\((\d+), (\d+), (\d+)\)", lambda c: "#" + bytes(map(int, c.groups())).hex(), ink) for ink in found}
    seen = [ink for ink in inks if ink.startswith("#") and ink != DARK["ground"]]
    assert min(palette.contrast(ink, DARK["ground"]) for ink in seen) >= 3, inks
    # numbers on cells that are coloured by value keep their ink
    inks = (
        "[...document.querySelectorAll('#heat_f .mark-text text')].map(t => t.getAttribute('fill')).filter((v, i, a) => a.indexOf(v) === i)"
    )
    assert {"#ffffff", "#222222"} & set(at.run(inks))
    at.run("document.getElementById('theme').value = 'light'; document.getElementById('theme').dispatchEvent(new Event('change'))")
    at.until(f"document.documentElement.dataset.theme === 'light' && {DRAWN}")
    assert ofan.lower() in at.run(strokes)
    at.run("localStorage.clear()")


def test_it_is_printed_light_and_whole(at):
    at.prefer(prefers_color_scheme="dark")
    at.run("dispatchEvent(new Event('beforeprint'))")
    at.until(f"document.documentElement.dataset.theme === 'light' && {DRAWN}")
    assert at.run("[...document.querySelectorAll('article.figure')].every(f => f.dataset.drawn.endsWith('light'))")
    at.run("dispatchEvent(new Event('afterprint'))")
    at.until(f"document.documentElement.dataset.theme === 'dark' && {DRAWN}")


@pytest.mark.parametrize("width", [360, 390, 768])
def test_a_narrow_screen_scrolls_charts_and_not_the_page(at, width):
    at.resize(width, 800, phone=width < 700)
    at.until(DRAWN)
    at.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert at.run("document.documentElement.scrollWidth") <= width
    fits = "[...document.querySelectorAll('#lines_f svg, #dots_f svg')].every(s => s.getBoundingClientRect().right <= innerWidth)"
    assert at.run(fits)
    if width < 700:
        # Panels below each other, each with the names that only the first one has on a wide screen.
        assert at.run("document.querySelectorAll('#dots_f svg').length") == 2
        assert words(at, "dots_f").count("ECMP") == 2
        click(at, scheme("ECMP"))
        assert words(at, "dots_f").count("ECMP") == 0


GAPS = """[...document.querySelectorAll('#lines_f .role-axis-label')].flatMap(axis => {
    const seen = [...axis.querySelectorAll('text')].filter(t => Number(t.getAttribute('opacity') ?? 1) > 0);
    const boxes = seen.map(t => t.getBoundingClientRect());
    const inARow = boxes.length > 1 && boxes.every(b => Math.abs(b.top - boxes[0].top) < 1);
    return inARow ? boxes.sort((a, b) => a.left - b.left).slice(1).map((b, i) => b.left - boxes[i].right) : [] })"""


@pytest.mark.parametrize("width", [390, 1280])
def test_labels_of_ticks_do_not_touch(at, width):
    at.resize(width, 800, phone=width < 700)
    at.until(DRAWN)
    gaps = at.run(GAPS)
    assert len(gaps) > 4
    assert min(gaps) > 4


def test_rows_of_panels_go_below_each_other_where_they_do_not_fit(at):
    rows = "new Set([...document.querySelectorAll('#heat_f .chart svg text')].filter(t => t.textContent === 'Ofan').map(t =>"
    rows += " Math.round(t.getBoundingClientRect().top))).size"
    at.resize(1440, 900)
    at.until(DRAWN)
    assert at.run(rows) == 1
    assert at.run("document.querySelector('#heat_f .hint').hidden")
    at.resize(768, 900)
    at.until(DRAWN)
    assert at.run(rows) == 2
    assert at.run("(b => b.scrollWidth <= b.clientWidth)(document.querySelector('#heat_f .box'))")
    assert at.run("document.querySelectorAll('#heat_f .pinned').length") == 0


def test_names_stay_in_sight_where_a_chart_is_scrolled(at):
    at.resize(390, 800, phone=True)
    at.until(DRAWN)
    assert not at.run("document.querySelector('#heat_f .hint').hidden")
    assert at.run("document.querySelector('#dots_f .hint').hidden")
    left = "document.querySelector('#heat_f {} svg').getBoundingClientRect().left"
    at.run("document.querySelector('#heat_f .box').scrollLeft = 100")
    at.until(f"Math.abs({left.format('.chart > :not(.pinned)')} + 100 - {left.format('.pinned')}) < 1")
    # the whole row is covered, down from the titles of its panels
    covered = "(b => document.elementFromPoint(b.left + 40, b.top + {}).closest('.pinned'))"
    covered += "(document.querySelector('#heat_f .pinned svg').getBoundingClientRect())"
    at.run("document.querySelector('#heat_f').scrollIntoView({behavior: 'instant'})")
    assert at.run(f"Boolean({covered.format(12)}) && Boolean({covered.format(70)})")
    named = "[...document.querySelectorAll('#heat_f .pinned text')].map(t => t.textContent)"
    assert "ECMP" in at.run(named)
    click(at, scheme("ECMP"))
    at.until(f"!{named}.includes('ECMP') && {named}.includes('Ofan')")
    click(at, scheme("ECMP"))


def test_readers_of_screens_find_their_way(at):
    nodes = [n for n in at("Accessibility.getFullAXTree")["nodes"] if not n["ignored"]]

    def value(node, key):
        return node.get(key, {}).get("value")

    roles = [value(n, "role") for n in nodes]
    for role in ("banner", "main", "navigation", "complementary", "table", "status"):
        assert role in roles
    for node in nodes:
        if value(node, "role") in ("button", "link", "image", "combobox", "searchbox", "article", "region"):
            assert value(node, "name"), node
    charts = [value(n, "name") for n in nodes if value(n, "role") == "image" and (value(n, "name") or "").startswith("Chart")]
    assert charts[0] == "Chart: Queues grow with the message. Its values are in the table below."
    assert len(charts) == len(FIGURES)
    # a picture has no parts: what is left of them are panels and their titles
    told = "[...document.querySelectorAll('.chart [aria-label]')].filter(m => !m.closest('[aria-hidden]')).map(m => m.ariaLabel)"
    assert [part for part in at.run(told) if part != "names of the rows" and not part.startswith("Title text")] == []
    pressed = [n for n in nodes if any(p["name"] == "pressed" for p in n.get("properties", []))]
    assert len(pressed) == 4 + 3 + 4  # schemes, categories, families


def test_a_figures_own_page_is_a_named_picture(opened, file):
    opened.problems.clear()
    opened.open(file.parents[1] / "figures/lines_f.html")
    opened.until("document.querySelector('[role=img]')")
    assert opened.run("document.title") == "lines_f: Queues grow"
    nodes = [n for n in opened("Accessibility.getFullAXTree")["nodes"] if not n["ignored"]]
    assert [n["name"]["value"] for n in nodes if n["role"]["value"] == "image"] == ["Chart: Queues grow with the message"]
    assert not [n for n in nodes if n["role"]["value"].lower().startswith("graphics")]
    assert opened.problems == []


def test_without_scripts_there_are_pictures_and_all_claims(opened, file):
    opened.prefer(prefers_color_scheme="light")
    opened("Emulation.setScriptExecutionDisabled", value=True)
    try:
        opened.open(file)
        nodes = opened("Accessibility.getFullAXTree")["nodes"]
        names = [n.get("name", {}).get("value", "") for n in nodes if n.get("role", {}).get("value") == "image"]
        assert [name for name in names if name.startswith("Queues grow with the message made up 3 seeds")]
        assert len(names) >= len(FIGURES)
        buttons = [n for n in nodes if n.get("role", {}).get("value") == "button" and not n["ignored"]]
        assert buttons == []
        text = " ".join(n.get("name", {}).get("value", "") for n in nodes)
        assert "Queues grow" in text
    finally:
        opened("Emulation.setScriptExecutionDisabled", value=False)


def test_no_two_schemes_of_the_filter_look_alike(at):
    looks = at.run("[...document.querySelectorAll('[data-scheme] svg')].map(s => s.outerHTML)")
    assert len(looks) == 4
    assert all(a != b for a, b in itertools.combinations(looks, 2))
