// The report's page: draws its charts when they come into sight, filters them, repaints them for a dark ground, enlarges them.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const DATA = JSON.parse(byId("data").textContent);
  const FONT = '"Liberation Sans", Arial, Helvetica, sans-serif';
  const LEAST_PANEL = 130; // pixels; on a narrower screen the chart is scrolled
  const NARROWED = 0.7; // panels side by side are made narrower down to this; more, and they go below each other
  const figures = all("article.figure");
  const toggles = all("button[data-scheme]");
  const categories = all("button[data-category]");
  const drawn = new Map(); // figure -> its chart
  const root = document.documentElement;
  const is = (button) => button.getAttribute("aria-pressed") === "true";
  const press = (button, value) => button.setAttribute("aria-pressed", String(value));
  const hidden = () => toggles.filter((b) => !is(b)).map((b) => b.dataset.scheme);

  // -- colours

  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = "auto";
  try { chosen = localStorage.getItem("ofan-theme") || "auto"; } catch { /* not allowed here: not remembered */ }
  const isDark = () => chosen === "dark" || (chosen === "auto" && system.matches);

  /** The views of a specification that draw, with the data that each of them reads. */
  function* nodes(node, data) {
    data = node.data?.name ?? data;
    yield [node, data];
    for (const key of ["concat", "hconcat", "vconcat", "layer"]) for (const child of node[key] ?? []) yield* nodes(child, data);
    if (node.spec) yield* nodes(node.spec, data); // of a facet
  }

  /** Numbers on cells that are coloured by value keep their ink: their ground is not the page's. */
  function dataOnCells(spec) {
    const found = new Set();
    for (const [node, data] of nodes(spec)) {
      if (node.layer?.some((layer) => layer.encoding?.color?.scale?.scheme)) for (const [, inner] of nodes(node, data)) found.add(inner);
    }
    return found;
  }

  function repaint(value, marks) {
    if (typeof value === "string") return marks[value] ?? value;
    if (Array.isArray(value)) return value.map((v) => repaint(v, marks));
    if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, repaint(v, marks)]));
    return value;
  }

  function darkened(spec) {
    const { marks, words } = DATA.dark, kept = dataOnCells(spec), { datasets = {}, ...rest } = spec;
    const rows = Object.entries(datasets).map(([name, data]) => [name, kept.has(name) ? data : data.map((row) => ({
      ...row,
      ...(row.ink && { ink: words[row.ink] ?? row.ink }),
      ...(row.colour && { colour: marks[row.colour] ?? row.colour }),
    }))]);
    return { ...repaint(rest, marks), datasets: Object.fromEntries(rows) };
  }

  // -- layout

  const panels = (spec) => (spec.concat ?? [spec]).filter((panel) => typeof panel.width === "number");
  const across = (spec) => Math.min(spec.columns ?? 1, spec.concat?.length ?? 1);

  /** A panel that begins a row needs the names that stood to the left of the whole row. */
  function withNames(panel) {
    for (const [{ encoding = {} }] of nodes(panel)) if (encoding.y?.axis?.labels === false) encoding.y.axis.labels = true;
  }

  /** Panels as many times as wide and high, in so many columns, with what is placed at their edges. */
  function sized(spec, columns, wide = 1, high = 1) {
    const out = structuredClone(spec);
    if (out.concat) {
      if (columns < out.columns) out.concat.filter((_, i) => i % columns === 0).forEach(withNames);
      out.columns = columns;
    }
    for (const panel of panels(out)) {
      panel.width *= wide;
      if (typeof panel.height === "number") panel.height *= high;
      for (const [{ encoding = {} }] of nodes(panel)) {
        for (const [channels, factor] of [[["x", "x2"], wide], [["y", "y2"], high]]) {
          for (const c of channels) if (typeof encoding[c]?.value === "number") encoding[c].value *= factor;
        }
      }
    }
    return out;
  }

  /** Each panel as a chart of its own, so that the names of one take no room from another. */
  function apart({ concat, columns, resolve, params, ...rest }) {
    return structuredClone(concat).map((panel) => {
      const text = JSON.stringify(panel);
      withNames(panel);
      const own = params.map((param) => (param.views ? { ...param, views: param.views.filter((name) => text.includes(name)) } : param));
      return { ...rest, ...panel, params: [...(panel.params ?? []), ...own.filter((param) => !param.views || param.views.length)] };
    });
  }

  /** Axes of numbers that can be zoomed and moved. Lines are cut where the panel ends; the names beside it stay where they are. */
  function zoomable(spec) {
    const isNumber = (channel) => channel?.type === "quantitative" && channel.field && Array.isArray(channel.scale?.domain);
    panels(spec).forEach((panel, i) => {
      if (typeof panel.height !== "number") return;
      const layers = [...nodes(panel)].map(([node]) => node).filter((node) => node.mark && node.encoding);
      const numeric = layers.filter(({ encoding: { x, y } }) => isNumber(x) && isNumber(y));
      const bearer = numeric.find((layer) => layer.mark.type === "line") ?? numeric[0];
      if (!bearer) return;
      bearer.params = [...(bearer.params ?? []), { name: "zoom_" + i, select: "interval", bind: "scales" }];
      for (const layer of numeric) layer.mark.clip = true;
      for (const layer of layers.filter(({ encoding: { x, y } }) => x?.value > 0 && isNumber(y))) {
        const { field, scale: { type, domain: [low, high] } } = layer.encoding.y, f = type === "log" ? "log" : "";
        const place = `(${f}(datum["${field}"]) - ${f}(${low})) / (${f}(${high}) - ${f}(${low}))`;
        layer.transform = [...(layer.transform ?? []), { calculate: `HEIGHT * (1 - ${place})`, as: "place" }];
        layer.encoding.y = { field: "place", type: "quantitative", scale: null, axis: null };
        layer.mark.clip = false;
      }
    });
    return spec;
  }

  const plain = (value) => String(value ?? "");

  function showTip(handler, event, item, value) {
    const tip = byId("tip");
    if (!value) { tip.hidden = true; return; }
    tip.replaceChildren();
    const table = tip.appendChild(document.createElement("table"));
    for (const [name, text] of Object.entries(typeof value === "object" ? value : { "": value })) {
      const row = table.insertRow(), head = row.appendChild(document.createElement("th"));
      head.textContent = name;
      row.insertCell().textContent = plain(text);
    }
    (document.querySelector("dialog[open]") ?? document.body).append(tip);
    tip.hidden = false;
    const { clientX: x, clientY: y } = event.changedTouches?.[0] ?? event, { offsetWidth: w, offsetHeight: h } = tip;
    tip.style.left = Math.max(4, x + 14 + w < innerWidth ? x + 14 : x - w - 14) + "px";
    tip.style.top = Math.max(4, y + 14 + h < innerHeight ? y + 14 : y - h - 14) + "px";
  }

  /** A chart in an element of its own, which is not shown yet. The bundle offers Vega by way of vega-embed alone. */
  async function chartOf(spec) {
    const dark = isDark(), element = document.createElement("div");
    for (const panel of panels(spec)) { // the height that `zoomable` did not know yet
      for (const [{ transform = [] }] of nodes(panel)) for (const t of transform) if (t.calculate) t.calculate = t.calculate.replace("HEIGHT", panel.height);
    }
    spec.params = spec.params.map((param) => (param.name === "hidden" ? { ...param, value: hidden() } : param));
    const config = dark ? repaint(DATA.config, DATA.dark.marks) : DATA.config;
    const { view, finalize } = await vegaEmbed(element, dark ? darkened(spec) : spec, {
      mode: "vega-lite", renderer: "svg", actions: false, defaultStyle: false, tooltip: showTip,
      config: { ...config, font: FONT, background: "transparent" },
    });
    return { element, views: [view], finalize, width: Number(element.querySelector("svg").getAttribute("width")) };
  }

  /** Charts below each other, as one. */
  function stacked(charts) {
    const element = document.createElement("div");
    element.append(...charts.map((chart) => chart.element));
    return {
      element,
      views: charts.flatMap((chart) => chart.views),
      finalize: () => charts.forEach((chart) => chart.finalize()),
      width: Math.max(...charts.map((chart) => chart.width)),
    };
  }

  /** A chart in as many columns as there is room for, its panels narrower if that helps, and apart where there is room for one. */
  async function fitted(spec, room) {
    const widths = panels(spec).map((panel) => panel.width), narrowest = Math.min(...widths);
    let columns = across(spec), made = await chartOf(sized(spec, columns));
    while (made.width > room && widths.length) {
      const narrower = 1 - (made.width - room + 4) / (columns * narrowest);
      const least = Math.min(1, Math.max(columns > 1 ? NARROWED : 0, LEAST_PANEL / Math.max(...widths)));
      made.finalize();
      if (narrower >= least || (columns === 1 && !(spec.concat?.length > 1))) return chartOf(sized(spec, columns, Math.max(narrower, least)));
      if (columns > 2) made = await chartOf(sized(spec, --columns));
      else {
        const charts = [];
        for (const panel of apart(spec)) charts.push(await fitted(panel, room));
        return stacked(charts);
      }
    }
    return made;
  }

  // -- drawing

  const specOf = (figure) => JSON.parse(byId("spec-" + figure.id).textContent);
  const wanted = (figure) => figure.querySelector(".box").clientWidth + (isDark() ? " dark" : " light");
  const stale = (figure) => !figure.hidden && figure.dataset.asked !== wanted(figure);

  async function draw(figure) {
    const asked = (figure.dataset.asked = wanted(figure)), chart = figure.querySelector(".chart"), box = chart.parentElement;
    try {
      const made = await fitted(specOf(figure), box.clientWidth);
      if (figure.dataset.asked !== asked) return made.finalize(); // overtaken
      drawn.get(figure)?.finalize();
      drawn.set(figure, made);
      for (const view of made.views) view.signal("hidden", hidden()).resize().run();
      chart.replaceChildren(made.element);
      figure.dataset.drawn = asked;
    } catch (error) {
      console.error(figure.id, error);
      chart.innerHTML = `<img src="../figures/${figure.id}.svg" alt="">`;
      figure.dataset.drawn = "failed";
    }
    const scrolls = box.scrollWidth > box.clientWidth + 1;
    if (scrolls) box.tabIndex = 0; else box.removeAttribute("tabindex");
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Chart " + figure.id + (scrolls ? ", scrolls sideways" : ""));
  }

  const seen = new IntersectionObserver(
    (entries) => entries.forEach(({ isIntersecting, target }) => { if (isIntersecting && stale(target)) draw(target); }),
    { rootMargin: "300px" },
  );

  // What is out of sight is drawn while nothing else is to be done, so that the page can be printed whole.
  const whenIdle = window.requestIdleCallback ?? ((task) => setTimeout(task, 50));
  let waiting = false;
  function drawRest() {
    if (waiting) return;
    waiting = true;
    whenIdle(async () => {
      const next = figures.find(stale);
      if (next) await draw(next);
      waiting = false;
      if (next) drawRest();
    });
  }

  function drawAll() {
    for (const figure of figures.filter(stale)) draw(figure);
  }

  function redrawSeen() {
    for (const figure of figures) {
      const { top, bottom } = figure.getBoundingClientRect();
      if (bottom > -200 && top < innerHeight + 200 && stale(figure)) draw(figure);
    }
    drawRest();
  }

  function paint() {
    root.dataset.theme = isDark() ? "dark" : "light";
    redrawSeen();
  }

  // -- filters

  function filter() {
    const gone = new Set(hidden()), words = byId("text").value.toLowerCase().split(/\s+/).filter(Boolean);
    const experiment = byId("experiment").value, chosenCategories = new Set(categories.filter(is).map((b) => b.dataset.category));
    let shown = 0;
    for (const figure of figures) {
      const { category, experiments, schemes } = figure.dataset;
      const names = schemes ? schemes.split("|") : [];
      const text = (figure.id + " " + category + " " + experiments + " " + names.join(" ") + " "
        + all("h4, .finding, .setup, .caption, .speaks", figure).map((e) => e.textContent).join(" ")).toLowerCase();
      figure.hidden = !(chosenCategories.has(category) && (!experiment || experiments.split(" ").includes(experiment))
        && (!names.length || names.some((name) => !gone.has(name))) && words.every((word) => text.includes(word)));
      shown += !figure.hidden;
      for (const row of all("tr[data-of-scheme]", figure)) row.hidden = gone.has(row.dataset.ofScheme);
      document.querySelector(`li[data-for="${figure.id}"]`).hidden = figure.hidden;
    }
    for (const section of all("section.category")) section.hidden = !section.querySelector("article.figure:not([hidden])");
    for (const button of all("button[data-of]")) {
      const states = toggles.filter((b) => b.dataset.family === button.dataset.of).map(is);
      press(button, states.every(Boolean) ? true : states.some(Boolean) ? "mixed" : false);
    }
    for (const { views } of drawn.values()) for (const view of views) view.signal("hidden", [...gone]).resize().run();
    byId("count").textContent = `${shown} of ${figures.length} figures, ${toggles.length - gone.size} of ${toggles.length} schemes`;
    redrawSeen();
  }

  function reset() {
    for (const button of [...toggles, ...categories]) press(button, true);
    byId("text").value = byId("experiment").value = "";
    filter();
  }

  /** A link to a figure that the filters have taken away brings it back. */
  function goTo() {
    const target = location.hash && byId(decodeURIComponent(location.hash.slice(1)));
    if (target?.hidden) { reset(); target.scrollIntoView(); }
  }

  for (const button of [...toggles, ...categories]) button.addEventListener("click", () => { press(button, !is(button)); filter(); });
  for (const button of all("button[data-of]")) {
    button.addEventListener("click", () => {
      const members = toggles.filter((b) => b.dataset.family === button.dataset.of), on = !members.every(is);
      for (const member of members) press(member, on);
      filter();
    });
  }
  for (const [id, on] of [["all", true], ["none", false]]) {
    byId(id).addEventListener("click", () => { for (const button of toggles) press(button, on); filter(); });
  }
  byId("reset").addEventListener("click", reset);
  byId("text").addEventListener("input", filter);
  byId("experiment").addEventListener("change", filter);
  addEventListener("hashchange", goTo);

  // -- one figure as large as the window

  const dialog = byId("large");
  let large, turn = 0;
  function putAway() {
    turn += 1;
    large?.finalize();
    large = undefined;
    byId("tip").hidden = true;
    dialog.querySelector(".chart").replaceChildren();
  }

  async function enlarge(figure) {
    putAway();
    const mine = turn, chart = dialog.querySelector(".chart"), box = chart.parentElement;
    // A finger that is drawn over a chart scrolls; it does not move the axes.
    const spec = matchMedia("(pointer: coarse)").matches ? specOf(figure) : zoomable(specOf(figure));
    byId("large-title").textContent = figure.querySelector(".finding").textContent;
    byId("large-help").hidden = !JSON.stringify(spec).includes('"bind":"scales"');
    chart.setAttribute("aria-label", figure.querySelector(".chart").getAttribute("aria-label"));
    dialog.showModal();
    const room = box.clientWidth, widest = Math.max(0, ...panels(spec).map((panel) => panel.width));
    let made = await fitted(spec, room);
    if (widest && made.width < room && made.views.length === 1) {
      const columns = across(spec), wide = Math.min(3, 1 + (0.97 * (room - made.width)) / (columns * widest));
      made.finalize();
      made = await chartOf(sized(spec, columns, wide, Math.min(wide, 1.7)));
    }
    if (mine !== turn) return made.finalize(); // closed, or overtaken by another figure
    large = made;
    chart.replaceChildren(made.element);
  }
  for (const figure of figures) figure.querySelector(".enlarge").addEventListener("click", () => enlarge(figure));
  byId("close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => { if (!dialog.open) putAway(); });

  // -- begin

  byId("theme").value = chosen;
  byId("theme").addEventListener("change", ({ target }) => {
    chosen = target.value;
    try { localStorage.setItem("ofan-theme", chosen); } catch { /* as above */ }
    paint();
  });
  system.addEventListener("change", paint);
  addEventListener("scroll", () => { byId("tip").hidden = true; }, { passive: true });
  let resizing;
  addEventListener("resize", () => { clearTimeout(resizing); resizing = setTimeout(redrawSeen, 150); });
  let before;
  addEventListener("beforeprint", () => { before = chosen; chosen = "light"; root.dataset.theme = "light"; drawAll(); });
  addEventListener("afterprint", () => { chosen = before; paint(); });
  const wideEnough = matchMedia("(min-width: 1000px)").matches;
  byId("filters").open = wideEnough;
  root.dataset.theme = isDark() ? "dark" : "light";
  filter();
  figures.forEach((figure) => seen.observe(figure));
  goTo();
})();
