// The keyboard. The same list fills the help.

/// [keys as written, what they do, key values, action(app, event)]
const KEYS = [
  ["\u2190 \u2192", "head before, next head", ["ArrowLeft", "ArrowRight"], (app, e) => app.turn("head", e.key === "ArrowLeft" ? -1 : 1)],
  ["\u2191 \u2193", "layer before, next layer", ["ArrowUp", "ArrowDown"], (app, e) => app.turn("layer", e.key === "ArrowUp" ? -1 : 1)],
  ["[ ]", "sentence before, next sentence", ["[", "]"], (app, e) => app.turnOuter(0, e.key === "[" ? -1 : 1)],
  ["( )", "hypothesis (or other choice) before, next", ["(", ")"], (app, e) => app.turnOuter(1, e.key === "(" ? -1 : 1)],
  ["A", "next kind of attention", ["a"], (app) => app.turnGroup()],
  ["1 2 3 4", "heat map, lines, grid, steps", ["1", "2", "3", "4"], (app, e) => app.setView(VIEWS[Number(e.key) - 1])],
  ["Shift + arrows", "move the selected cell", ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"], (app, e) => app.moveCursor(e.key)],
  ["Enter", "pin or unpin the word of its row; with Shift, of its column", ["Enter"], (app, e) => app.pinCursor(e.shiftKey)],
  ["Esc", "unpin everything", ["Escape"], (app) => app.unpinAll()],
  ["B N", "step back, step forward", ["b", "n"], (app, e) => app.turnStep(e.key.toLowerCase() === "b" ? -1 : 1)],
  ["T, Shift + T", "hide more small values, hide fewer", ["t"], (app, e) => app.turnThreshold(e.shiftKey ? -1 : 1)],
  ["M", "merge pieces to words", ["m"], (app) => app.flip("merge")],
  ["X", "drop start and end marks", ["x"], (app) => app.flip("drop")],
  ["+ \u2212 0", "larger, smaller, fit", ["+", "=", "-", "0"], (app, e) => app.zoom(e.key === "0" ? 0 : e.key === "-" ? -1 : 1)],
  ["S G", "download the figure as SVG, as PNG", ["s", "g"], (app, e) => save(app, e.key.toLowerCase() === "s" ? "svg" : "png")],
  ["D", "dark or light", ["d"], (app) => flipTheme(app)],
  ["?", "this help", ["?"], () => openHelp()],
];

/// Whether a press belongs to a control that has the focus: menus and sliders use the arrows, buttons Enter.
function belongsToControl(event) {
  const focus = document.activeElement;
  if (document.getElementById("help").open) return true;
  if (!focus || event.ctrlKey || event.metaKey || event.altKey) return event.ctrlKey || event.metaKey || event.altKey;
  const isArrow = event.key.startsWith("Arrow");
  if (focus.tagName === "SELECT") return isArrow || event.key.length === 1 || event.key === "Enter";
  if (focus.tagName === "INPUT") return focus.type === "range" ? isArrow : event.key === " ";
  if (focus.tagName === "BUTTON") return event.key === "Enter" || (isArrow && focus.getAttribute("role") === "radio");
  return false;
}

function listenToKeys(app) {
  document.addEventListener("keydown", (event) => {
    if (belongsToControl(event)) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const moves = event.shiftKey && event.key.startsWith("Arrow");
    const found = KEYS.find(([written, , keys]) => keys.includes(key) && moves === (event.key.startsWith("Arrow") && written.startsWith("Shift")));
    if (!found) return;
    event.preventDefault();
    found[3](app, event);
  });
  document.getElementById("help-keys").append(...KEYS.map(([written, what]) =>
    element("tr", {}, element("th", { scope: "row" }, element("kbd", {}, written)), element("td", {}, what))));
}
