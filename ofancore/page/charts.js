// Charts of the page: colours for a dark ground, panels that fit, axes that zoom. Runs in one function with page.js, which comes after it.

const byId = (id) => document.getElementById(id);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const DATA = JSON.parse(byId("data").textContent);
const FONT = '"Liberation Sans", Arial, Helvetica, sans-serif';
const LEAST_PANEL = 130; // pixels; on a narrower screen the chart is scrolled
const NARROWED = 0.7; // panels side by side are made narrower down to this; more, and they go below each other
const APART = 5; // pixels between labels of an axis; of those that are closer some are left out
const SHRUNK = 0.85; // a chart that is still a little too wide is made smaller as a whole, down to this; more, and it is scrolled
const PHONE = 500; // pixels; on a narrower screen legends have one column and titles of panels are broken
const is = (button) => button.getAttribute("aria-pressed") === "true";
const press = (button, value) => button.setAttribute("aria-pressed", String(value));
const toggles = all("button[data-scheme]");
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

function repaint(value, marks) {
  if (typeof value === "string") return marks[value] ?? value;
  if (Array.isArray(value)) return value.map((v) => repaint(v, marks));
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, repaint(v, marks)]));
  return value;
}

function darkened(spec) {
  const { marks, words } = DATA.dark, { datasets = {}, ...rest } = spec;
  const rows = Object.entries(datasets).map(([name, data]) => [name, data.map((row) => ({
    ...row,
    ...(row.ink && { ink: words[row.ink] ?? row.ink }),
    ...(row.colour && { colour: marks[row.colour] ?? row.colour }),
  }))]);
  return { ...repaint(rest, marks), datasets: Object.fromEntries(rows) };
}

// -- layout

const panels = (spec) => (spec.concat ?? [spec]).filter((panel) => typeof panel.width === "number");
const across = (spec) => Math.min(spec.columns ?? 1, spec.concat?.length ?? 1);

/** A panel that begins a row needs the names that stood to the left of the whole row; a row of panels has its own. */
function withNames(panel) {
  if (panel.hconcat || panel.vconcat) return;
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

const broken = (text, letters) => text.split(" ").reduce((lines, word) => {
  const last = lines.at(-1);
  return last && last.length + word.length < letters ? [...lines.slice(0, -1), last + " " + word] : [...lines, word];
}, []);

/** For a narrow screen: titles of panels in lines that fit, and legends of one column. */
function slim(spec, room) {
  const out = structuredClone(spec);
  for (const panel of panels(out)) {
    const { title } = panel, text = title?.text ?? title;
    if (typeof text === "string") panel.title = { ...(title.text ? title : {}), text: broken(text, Math.floor((room - 150) / 7)) };
    for (const [{ encoding = {} }] of nodes(panel)) {
      for (const { legend } of Object.values(encoding)) if (legend?.columns > 1) legend.columns = 1;
    }
  }
  return out;
}

/** Axes of numbers that can be zoomed and moved. Lines are cut where the panel ends; the names beside it stay where they are. */
function zoomable(spec) {
  const clipped = (mark, clip) => ({ ...(typeof mark === "string" ? { type: mark } : mark), clip });
  const isNumber = (channel) => channel?.type === "quantitative" && channel.field && Array.isArray(channel.scale?.domain);
  panels(spec).forEach((panel, i) => {
    if (typeof panel.height !== "number") return;
    const layers = [...nodes(panel)].map(([node]) => node).filter((node) => node.mark && node.encoding);
    const numeric = layers.filter(({ encoding: { x, y } }) => isNumber(x) && isNumber(y));
    const bearer = numeric.find((layer) => layer.mark.type === "line") ?? numeric[0];
    if (!bearer) return;
    bearer.params = [...(bearer.params ?? []), { name: "zoom_" + i, select: "interval", bind: "scales" }];
    for (const layer of numeric) layer.mark = clipped(layer.mark, true);
    for (const layer of layers.filter(({ encoding: { x, y } }) => x?.value > 0 && isNumber(y))) {
      const { field, scale: { type, domain: [low, high] } } = layer.encoding.y, f = type === "log" ? "log" : "";
      const place = `(${f}(datum["${field}"]) - ${f}(${low})) / (${f}(${high}) - ${f}(${low}))`;
      layer.transform = [...(layer.transform ?? []), { calculate: `HEIGHT * (1 - ${place})`, as: "place" }];
      layer.encoding.y = { field: "place", type: "quantitative", scale: null, axis: null };
      layer.mark = clipped(layer.mark, false);
    }
  });
  return spec;
}

function showTip(handler, event, item, value) {
  const tip = byId("tip");
  if (!value) { tip.hidden = true; return; }
  tip.replaceChildren();
  const table = tip.appendChild(document.createElement("table"));
  for (const [name, text] of Object.entries(typeof value === "object" ? value : { "": value })) {
    const row = table.insertRow(), head = row.appendChild(document.createElement("th"));
    head.textContent = name;
    row.insertCell().textContent = String(text ?? "");
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
  // One picture to readers of screens, not thousands of marks (aria); panels keep their names, which `pin` finds them by.
  const marks = { mark: { ...config.mark, aria: false }, axis: { ...config.axis, labelSeparation: APART } };
  const { view, finalize } = await vegaEmbed(element, dark ? darkened(spec) : spec, {
    mode: "vega-lite", renderer: "svg", actions: false, defaultStyle: false, tooltip: showTip,
    config: { ...config, font: FONT, background: "transparent", aria: false, ...marks },
  });
  for (const name of ["role", "aria-roledescription", "aria-label"]) view.container().removeAttribute(name);
  const controls = all("form.vega-bindings", element); // they stand apart: the element is a picture to readers of screens
  controls.forEach((form) => form.remove());
  return { element, controls, views: [view], finalize, width: Number(element.querySelector("svg").getAttribute("width")) };
}

/** Charts below each other, as one. */
function stacked(charts) {
  const element = document.createElement("div");
  element.append(...charts.map((chart) => chart.element));
  return {
    element,
    controls: charts.flatMap((chart) => chart.controls),
    views: charts.flatMap((chart) => chart.views),
    finalize: () => charts.forEach((chart) => chart.finalize()),
    width: Math.max(...charts.map((chart) => chart.width)),
  };
}

/** A chart in as many columns as there is room for, its panels narrower if that helps, and apart where there is room for one. */
async function fitted(given, room) {
  const spec = room < PHONE ? slim(given, room) : given;
  const widths = panels(spec).map((panel) => panel.width), narrowest = Math.min(...widths);
  let columns = across(spec), made = await chartOf(sized(spec, columns));
  while (made.width > room && (widths.length || columns > 1)) {
    const narrower = 1 - (made.width - room + 4) / (columns * narrowest);
    const least = Math.min(1, Math.max(columns > 1 ? NARROWED : 0, LEAST_PANEL / Math.max(...widths)));
    if (widths.length && (narrower >= least || (columns === 1 && !(spec.concat?.length > 1)))) {
      made.finalize();
      made = await chartOf(sized(spec, columns, Math.max(narrower, least)));
      break;
    }
    made.finalize();
    if (columns > 2 || !widths.length) made = await chartOf(sized(spec, --columns)); // rows of panels are not taken apart
    else {
      const charts = [];
      for (const panel of apart(spec)) charts.push(await fitted(panel, room));
      return stacked(charts);
    }
  }
  made.element.classList.toggle("shrunk", made.width > room && made.width * SHRUNK <= room);
  return made;
}

/** Over a chart that is scrolled: a copy of the names that its rows of panels begin with, which stays in sight. */
function pin(box) {
  box.querySelector(".pinned")?.remove();
  const svg = box.querySelector(".chart svg"), names = svg ? all('[aria-label="names of the rows"]', svg) : [];
  if (!names.length || box.scrollWidth <= box.clientWidth + 1) return;
  const pinned = document.createElement("div"), at = svg.getBoundingClientRect();
  const width = Math.max(...names.map((panel) => panel.querySelector(".background").getBoundingClientRect().right)) - at.left + 4;
  const copy = () => {
    const whole = svg.cloneNode(true), { top } = svg.getBoundingClientRect();
    for (const link of all("a", whole)) link.tabIndex = -1; // keys reach the names themselves
    pinned.replaceChildren(whole);
    const rows = names.map((panel) => panel.closest(".mark-group").parentElement.closest(".mark-group").getBoundingClientRect());
    const shape = rows.map((row) => `M0 ${row.top - top}H${width + 1}V${row.bottom - top}H0Z`).join("");
    const height = svg.clientHeight;
    Object.assign(pinned.style, { width: width + "px", height: height + "px", marginBottom: -height + "px", clipPath: `path("${shape}")` });
  };
  pinned.className = "pinned";
  pinned.ariaHidden = "true";
  copy();
  new MutationObserver(copy).observe(svg, { subtree: true, childList: true, attributes: true, characterData: true });
  box.querySelector(".chart").prepend(pinned);
}
