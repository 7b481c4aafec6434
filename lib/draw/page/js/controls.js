// The controls: menus filled from the data, and kept as the state says.

const VIEWS = ["map", "lines", "grid", "steps"];
const KINDS = {
  cross: "Cross: output over input", encoder_self: "Encoder: input over itself", decoder_self: "Decoder: output over its past",
  words: "Words: each sentence over its words", sentences: "Sentences: the document over its sentences",
};
const OUTER_NAMES = { rank: "Hypothesis" };
// Okabe and Ito's colours, which readers with any colour vision can tell apart, and two more.
const HEAD_COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a5195", "#8a8a8a"];

function capital(name) {
  const text = name.replaceAll("_", " ");
  return text ? text[0].toUpperCase() + text.slice(1) : "";
}

function fillMenu(select, options, chosen) {
  select.replaceChildren(...options.map(([value, text]) => new Option(text, value, false, String(value) === String(chosen))));
}

function groupText(group) {
  const kind = KINDS[group.kind];
  const others = DATA.groups.filter((other) => other.kind === group.kind);
  return kind && others.length === 1 ? kind : group.name || group.path;
}

/// The menu of one outer dimension: sentences by their words, others by number.
function outerOptions(group, axis, at) {
  const seen = new Map();
  for (const item of group.items) {
    const value = item.at[axis];
    if (seen.has(value) || item.at.some((other, a) => a < axis && other !== at[a])) continue;
    const labels = group.kind === "cross" ? item.labels.key : item.labels.query ?? item.labels.key;
    const words = axis === 0 && group.outer[0] === "sentence" ? labels : group.outer[axis] === "rank" ? item.labels.query : null;
    seen.set(value, words ? `${value}: ${sentenceText(words)}` : String(value));
  }
  return [...seen];
}

function buildOuter(app) {
  const { group, item } = app;
  byId("outer").replaceChildren(...group.outer.map((dim, axis) => {
    const select = element("select", { id: "outer-" + dim, onchange: () => app.setOuter(axis, Number(select.value)) });
    const options = outerOptions(group, axis, item.at);
    fillMenu(select, options, item.at[axis]);
    return element("label", { hidden: options.length < 2 && dim !== "sentence" }, (OUTER_NAMES[dim] ?? capital(dim)) + " ", select);
  }));
}

/// The menu of the layers or heads.
function buildLead(app, which) {
  const dim = app.lead[which];
  const field = byId(which + "-field");
  field.hidden = !dim;
  if (!dim) return;
  byId(which + "-name").textContent = capital(dim);
  const [count, first] = extentOf(app.group, app.item, dim);
  const options = Array.from({ length: count }, (_, i) => [i, String(first + i)]);
  if (count > 1 && app.state.view !== "steps") options.push(["mean", "mean"], ["max", "largest"]);
  if (count > 1 && which === "head" && app.state.view === "lines") options.push(["all", "each, by colour"]);
  fillMenu(byId(which), options, app.state[which]);
}

function showControls(app) {
  const { state } = app;
  fillMenu(byId("group"), DATA.groups.map((group, i) => [i, groupText(group)]), state.group);
  byId("group-field").hidden = DATA.groups.length < 2;
  buildOuter(app);
  buildLead(app, "layer");
  buildLead(app, "head");
  for (const button of byId("views").children) {
    const chosen = button.dataset.view === state.view;
    button.setAttribute("aria-checked", String(chosen));
    button.tabIndex = chosen ? 0 : -1;
    if (button.dataset.view === "steps") {
      button.disabled = !app.hasSteps;
      button.title = app.hasSteps ? "The computation, step by step (4)" : "The file holds no stages: attend --steps writes them";
    }
  }
  byId("merge").checked = state.merge;
  byId("merge").disabled = !app.hasPieces;
  byId("merge").parentElement.title = app.hasPieces ? "" : "Every piece is a word";
  byId("drop").checked = state.drop;
  byId("threshold").value = state.threshold;
  byId("threshold-value").textContent = brief(app.threshold(), 3);
  byId("colormap").value = state.colormap;
  byId("scale").value = state.scale;
  for (const id of ["merge", "drop", "threshold"]) byId(id).closest("label").classList.toggle("idle", state.view === "steps");
}

/// Ties the controls to the app, once.
function listenToControls(app) {
  fillMenu(byId("colormap"), [["auto", "automatic"], ...Object.keys(DATA.colormaps).map((name) => [name, name])], app.state.colormap);
  const choose = (which) => ({ target }) => app.set({ [which]: /^\d+$/.test(target.value) ? Number(target.value) : target.value });
  const flip = (which) => ({ target }) => app.setWords({ [which]: target.checked });
  const listeners = {
    submit: { controls: (event) => event.preventDefault() },
    change: {
      group: (event) => app.setGroup(Number(event.target.value)), layer: choose("layer"), head: choose("head"),
      merge: flip("merge"), drop: flip("drop"), colormap: choose("colormap"), scale: choose("scale"),
    },
    input: { threshold: choose("threshold") },
    click: {
      views: ({ target }) => target.dataset.view && app.setView(target.dataset.view),
      smaller: () => app.zoom(-1), fit: () => app.zoom(0), larger: () => app.zoom(1),
      svg: () => save(app, "svg"), png: () => save(app, "png"), theme: () => flipTheme(app), "help-open": openHelp,
    },
  };
  for (const [event, byControl] of Object.entries(listeners)) {
    for (const [id, listener] of Object.entries(byControl)) byId(id).addEventListener(event, listener);
  }
  byId("views").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const open = VIEWS.filter((view) => view !== "steps" || app.hasSteps);
    app.setView(open[(open.indexOf(app.state.view) + step + open.length) % open.length]);
    byId("views").querySelector("[aria-checked=true]").focus();
  });
}
