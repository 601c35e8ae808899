// The report's page: draws its charts when they come into sight, filters them, and enlarges them.

const figures = all("article.figure");
const categories = all("button[data-category]");
const drawn = new Map(); // figure -> its chart
const root = document.documentElement;

// -- drawing

const choices = {}; // figure -> what was chosen in it: parameter -> value
const isChoice = (param) => Boolean(param.bind?.input);

/** The specification of a figure's chart, with what was chosen in it. */
function specOf(figure) {
  const spec = JSON.parse(byId("spec-" + figure.id).textContent), mine = choices[figure.id] ?? {};
  return { ...spec, params: spec.params.map((param) => (param.name in mine ? { ...param, value: mine[param.name] } : param)) };
}

/** Put the controls of a chart to their place, and remember what is chosen. */
function offer(figure, { controls, views }, place) {
  place.replaceChildren(...controls);
  for (const { name } of specOf(figure).params.filter(isChoice)) {
    for (const view of views) view.addSignalListener(name, (_, value) => { (choices[figure.id] ??= {})[name] = value; });
  }
}

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
    offer(figure, made, figure.querySelector(".choices"));
    figure.dataset.drawn = asked;
  } catch (error) {
    console.error(figure.id, error);
    chart.innerHTML = `<img src="../figures/${figure.id}.svg" alt="">`;
    figure.dataset.drawn = "failed";
  }
  const scrolls = box.scrollWidth > box.clientWidth + 1;
  pin(box);
  figure.querySelector(".hint").hidden = !scrolls;
  if (scrolls) box.tabIndex = 0; else box.removeAttribute("tabindex");
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "Chart " + figure.id + (scrolls ? ", scrolls sideways" : ""));
  hold();
}

const seen = new IntersectionObserver(
  (entries) => entries.forEach(({ isIntersecting, target }) => { if (isIntersecting && stale(target)) draw(target); }),
  { rootMargin: "300px" },
);

// What is out of sight is drawn while nothing else is to be done, so that the page can be printed whole.
const whenIdle = window.requestIdleCallback ? (task) => requestIdleCallback(task, { timeout: 500 }) : (task) => setTimeout(task, 50);
let waiting = false;
function drawRest() {
  if (waiting) return;
  waiting = true;
  whenIdle(async () => {
    const next = figures.find(stale);
    if (next) await draw(next);
    waiting = false;
    if (next) drawRest(); else aim = undefined;
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
  const some = (buttons, what) => buttons.every(is) ? [] : [`${buttons.filter(is).length} of ${buttons.length} ${what}`];
  const asked = [words.length ? [`the text “${byId("text").value.trim()}”`] : [], experiment ? ["experiment " + experiment] : [],
    some(categories, "categories"), some(toggles, "schemes")].flat();
  byId("nothing").hidden = shown > 0;
  byId("nothing").firstElementChild.textContent = `No figure matches ${asked.join(", ")}.`;
  byId("count").textContent = `${shown} of ${figures.length} figures, ${toggles.length - gone.size} of ${toggles.length} schemes`;
  redrawSeen();
}

function reset() {
  for (const button of [...toggles, ...categories]) press(button, true);
  byId("text").value = byId("experiment").value = "";
  filter();
}

// Charts that are drawn above what a link led to push it away: it is brought back until the reader moves, or all are drawn.
let aim;
const hold = () => aim?.scrollIntoView({ behavior: "instant" });
for (const moved of ["wheel", "touchmove", "keydown", "pointerdown"]) addEventListener(moved, () => { aim = undefined; }, { passive: true });

/** A link to a figure that the filters have taken away brings it back; one to what is folded up unfolds it. */
function goTo() {
  const target = location.hash && byId(decodeURIComponent(location.hash.slice(1))), folded = target && target.closest("details");
  if (dialog.open && target && !dialog.contains(target)) dialog.close();
  if (folded) { folded.open = true; target.scrollIntoView(); }
  if (target?.hidden) { reset(); target.scrollIntoView(); }
  aim = target || undefined;
  drawRest();
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
byId("nothing").lastElementChild.addEventListener("click", () => { reset(); byId("shown").focus(); }); // the button is gone
byId("text").addEventListener("input", filter);
byId("experiment").addEventListener("change", filter);
addEventListener("hashchange", goTo);
addEventListener("click", ({ target }) => { if (target.closest?.('a[href^="#"]')) setTimeout(goTo); }); // also to where the page is already

// -- one figure as large as the window

const dialog = byId("large");
let large, turn = 0;
function putAway() {
  turn += 1;
  large?.finalize();
  large = undefined;
  byId("tip").hidden = true;
  for (const part of all(".chart, .choices", dialog)) part.replaceChildren();
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
  offer(figure, made, dialog.querySelector(".choices"));
  pin(box);
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
// A box may change its width without the window, when what is beside it changes.
const resized = new ResizeObserver(() => { clearTimeout(resizing); resizing = setTimeout(redrawSeen, 150); });
for (const figure of figures) resized.observe(figure.querySelector(".box"));
let before;
addEventListener("beforeprint", () => { before = chosen; chosen = "light"; root.dataset.theme = "light"; drawAll(); });
addEventListener("afterprint", () => { chosen = before; paint(); });
const wideEnough = matchMedia("(min-width: 1000px)").matches;
byId("filters").open = wideEnough;
root.dataset.theme = isDark() ? "dark" : "light";
filter();
figures.forEach((figure) => seen.observe(figure));
goTo();
