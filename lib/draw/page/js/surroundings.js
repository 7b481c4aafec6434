// The page around the figure: files, paper, light and dark, and the address.

function composed(app) {
  const parts = app.state.view === "grid"
    ? [{ drawing: new GridDrawing(app.content) }, { drawing: new Legend(app.content.style.scale, quantity(app)) }] : app.parts;
  for (const { drawing } of parts) drawing.hover = null;
  const subtitle = app.state.view === "steps" ? `${app.subtitle()} \u00b7 ${app.content.stage.title}` : app.subtitle();
  return new Composition({ title: app.title(), subtitle, parts });
}

async function save(app, kind) {
  const name = app.subtitle().replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 80);
  const composition = composed(app);
  const blob = kind === "svg" ? new Blob([composition.svg()], { type: "image/svg+xml" }) : await composition.png();
  download(blob, `${name}.${kind}`);
  app.say(`Saved ${name}.${kind}`);
}

function preparePrint(app) {
  const parsed = new DOMParser().parseFromString(composed(app).svg(), "image/svg+xml");
  byId("print").replaceChildren(document.importNode(parsed.documentElement, true));
}

function followTheme(app) {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => setTheme(app, system.matches ? "dark" : "light");
  system.addEventListener("change", apply);
  apply();
}

function setTheme(app, theme) {
  document.documentElement.dataset.theme = theme;
  byId("theme").setAttribute("aria-pressed", String(theme === "dark"));
  if (app.shownView) app.update();
}

function flipTheme(app) {
  setTheme(app, document.documentElement.dataset.theme === "dark" ? "light" : "dark");
}

function openHelp() {
  byId("help").showModal();
}

/// The state in the page's address, so that a link shows the same.
function writeHash(app) {
  const { zoom, colormap, scale, ...state } = app.state;
  try {
    history.replaceState(null, "", "#" + new URLSearchParams(Object.entries(state).map(([key, value]) => [key, String(value)])));
  } catch { /* a page in a frame may not change its address */ }
}

function readHash(app) {
  for (const [key, text] of new URLSearchParams(location.hash.slice(1))) {
    const old = app.state[key];
    if (key === "at") app.state.at = text.split(",").map(Number);
    else if (key === "view") app.state.view = VIEWS.includes(text) ? text : "map";
    else if (["layer", "head"].includes(key) && ["mean", "max", "all"].includes(text)) app.state[key] = text;
    else if (typeof old === "boolean") app.state[key] = text === "true";
    else if (typeof old === "number" && /^\d+$/.test(text)) app.state[key] = Number(text);
  }
  app.state.group = Math.min(app.state.group, DATA.groups.length - 1);
}
