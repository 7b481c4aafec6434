// The page: its state, and what each change of it shows.

class App {
  constructor() {
    this.state = {
      group: 0, at: null, layer: 0, head: 0, view: "map", merge: false, drop: false, threshold: 0,
      colormap: DATA.colormap, scale: "file", zoom: 0, step: 0, i: 0, j: 0,
    };
    this.pins = { rows: new Set(), cols: new Set() };
    this.cursor = {};
    this.start();
    readHash(this);
    listenToControls(this);
    listenToKeys(this);
    followTheme(this);
    addEventListener("resize", () => this.update());
    addEventListener("beforeprint", () => preparePrint(this));
    addEventListener("afterprint", () => byId("print").replaceChildren());
    byId("version").textContent = DATA.version;
    byId("source").textContent = `Data: ${DATA.file}.`;
    this.update();
  }

  // Derived from the state.
  get group() {
    return DATA.groups[this.state.group];
  }
  get item() {
    const { items } = this.group;
    const { at } = this.state;
    const common = (item) => item.at.findIndex((value, axis) => value !== at?.[axis]);
    return items.reduce((best, item) => {
      const [a, b] = [common(best), common(item)];
      return a >= 0 && (b < 0 || b > a) ? item : best;
    }, items[0]);
  }
  get lead() {
    const [layer, head] = leadDims(this.group, this.item);
    return { layer, head };
  }
  get hasSteps() {
    return stagesOf(this.group, this.item).length > 1;
  }
  get hasPieces() {
    return [...Object.values(this.item.labels)].some((labels) => pieceStyle(labels));
  }
  choice(head = this.state.head) {
    const { layer: layerDim, head: headDim } = this.lead;
    const choice = {};
    if (layerDim) choice[layerDim] = this.state.layer;
    if (headDim) choice[headDim] = head === "all" ? "mean" : head;
    return choice;
  }
  words(choice) {
    return betweenWords(matrixOf(this.item, this.group.main, choice), { merge: this.state.merge && this.hasPieces, drop: this.state.drop });
  }
  range(matrix) {
    return DATA.range ?? (this.state.scale === "file" ? this.group.range : ownRange(matrix.values));
  }
  threshold() {
    const [low, high] = DATA.range ?? this.group.range;
    return (Math.max(Math.abs(low), Math.abs(high)) * this.state.threshold) / 1000;
  }
  axisTitles() {
    const { dims } = tensorOf(this.item, this.group.main);
    const [row, col] = [dims.length > 1 ? dims[dims.length - 2] : "", dims[dims.length - 1] ?? ""];
    const isCross = this.group.kind === "cross" || this.group.name === "cross_attention";
    return isCross && row === "query" ? ["output (query)", "input (key)"] : [row, col];
  }

  // Changes.
  start() {
    const { group } = this;
    this.state.at = null;
    for (const which of ["layer", "head"]) {
      const dim = this.lead[which];
      const [count, first] = dim ? extentOf(group, this.item, dim) : [1, 0];
      this.state[which] = Math.min(count - 1, Math.max(0, (group.start[dim] ?? 0) - first));
    }
  }
  set(changes) {
    Object.assign(this.state, changes);
    this.update();
  }
  /// Changes after which rows and columns mean other words.
  setWords(changes) {
    this.pins.rows.clear();
    this.pins.cols.clear();
    this.cursor = {};
    this.set(changes);
  }
  setGroup(group) {
    this.state.group = group;
    const { at } = this.state;
    this.start();
    this.setWords({ at, step: 0 });
  }
  setOuter(axis, value) {
    const at = [...this.item.at];
    at[axis] = value;
    this.setWords({ at });
  }
  setView(view) {
    if (view === "steps" && !this.hasSteps) return this.say("The file holds no stages: attend --steps writes them.");
    this.set({ view, zoom: 0 });
  }
  turn(which, step) {
    const dim = this.lead[which];
    if (!dim) return;
    const options = [...byId(which).options].map((option) => option.value);
    const value = options[within(options.indexOf(String(this.state[which])) + step, 0, options.length - 1)];
    this.set({ [which]: /^\d+$/.test(value) ? Number(value) : value });
    this.say(`${dim} ${byId(which).selectedOptions[0]?.text}`);
  }
  turnOuter(axis, step) {
    const select = byId("outer").querySelectorAll("select")[axis];
    if (!select) return;
    const index = within(select.selectedIndex + step, 0, select.options.length - 1);
    if (index !== select.selectedIndex) this.setOuter(axis, Number(select.options[index].value));
    this.say(byId("outer").querySelectorAll("select")[axis].selectedOptions[0].text);
  }
  turnGroup() {
    this.setGroup((this.state.group + 1) % DATA.groups.length);
    this.say(groupText(this.group));
  }
  turnStep(step) {
    if (this.state.view === "steps") this.set({ step: within(this.state.step + step, 0, stagesOf(this.group, this.item).length - 1) });
  }
  turnThreshold(step) {
    this.set({ threshold: within(this.state.threshold + 20 * step, 0, 1000) });
  }
  flip(which) {
    if (which === "merge" && !this.hasPieces) return this.say("Every piece is a word.");
    this.setWords({ [which]: !this.state[which] });
  }
  zoom(step) {
    this.set({ zoom: step === 0 ? 0 : within(this.state.zoom + step, -8, 14) });
  }
  togglePin(axis, index) {
    const pins = this.pins[axis];
    if (!pins.delete(index)) pins.add(index);
    this.update();
  }
  unpinAll() {
    this.setWords({});
  }
  moveCursor(key) {
    if (!this.matrix || !this.viewport) return;
    const { rows, cols } = this.matrix;
    const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[key];
    const started = this.cursor.row !== undefined;
    this.cursor = {
      row: within((this.cursor.row ?? 0) + (started ? down : 0), 0, rows - 1),
      col: within((this.cursor.col ?? 0) + (started ? right : 0), 0, cols - 1),
    };
    this.inspect(this.cursor);
    const drawing = this.viewport.drawing;
    if (drawing instanceof Heatmap) {
      const { left, top, cell } = drawing;
      this.viewport.reveal(left + this.cursor.col * cell, top + this.cursor.row * cell, cell, cell, { left, top });
    }
    this.say(this.cellText(this.cursor));
  }
  pinCursor(column) {
    const index = column ? this.cursor.col : this.cursor.row;
    if (index !== undefined && this.viewport) this.togglePin(column ? "cols" : "rows", index);
  }

  // Showing.
  update() {
    const { state } = this;
    if (!this.item) return;
    state.at = [...this.item.at];
    for (const which of ["layer", "head"]) {
      const count = this.lead[which] ? extentOf(this.group, this.item, this.lead[which])[0] : 1;
      const isWord = typeof state[which] === "string";
      if (isWord && (count === 1 || state.view === "steps" || (state[which] === "all" && state.view !== "lines"))) {
        state[which] = count === 1 || state.view === "steps" ? 0 : "mean";
      }
      if (!isWord) state[which] = Math.min(state[which], count - 1);
    }
    if (state.view === "steps" && !this.hasSteps) state.view = "map";
    showControls(this);
    byId("title").textContent = document.title = this.title();
    byId("subtitle").textContent = this.subtitle();
    byId("tooltip").hidden = true;
    const focused = document.activeElement?.id;
    this.clear(state.view);
    SHOW[state.view](this);
    this.focusAgain(focused);
    writeHash(this);
  }
  /// Gives the focus to the control that replaced the one that had it.
  focusAgain(id) {
    if (!id || document.activeElement?.id === id) return;
    const other = { forward: "back", back: "forward" }[id];
    (byId(id)?.disabled && other ? byId(other) : byId(id))?.focus();
  }
  /// As asked for, else that of the attention that is shown.
  title() {
    return DATA.title || this.group.title || DATA.file;
  }
  subtitle() {
    const { state, group, item, lead } = this;
    const numbered = (which) => (typeof state[which] === "string" ? state[which] : state[which] + extentOf(group, item, lead[which])[1]);
    const parts = [group.model_layer || group.path, ...group.outer.map((dim, axis) => `${OUTER_NAMES[dim]?.toLowerCase() ?? dim} ${item.at[axis]}`), ...item.chosen];
    if (state.view !== "grid") for (const which of ["layer", "head"]) if (lead[which]) parts.push(`${lead[which]} ${numbered(which)}`);
    return parts.join(" \u00b7 ");
  }
  /// Takes away what another view left.
  clear(view) {
    if (this.shownView !== view || view === "grid" || view === "steps") {
      this.viewport?.remove();
      this.content?.remove();
      this.viewport = this.content = this.matrix = null;
      byId("stage").replaceChildren();
    }
    this.shownView = view;
    byId("legend").replaceChildren();
    byId("note").textContent = byId("caption").textContent = "";
  }

  // Inspecting a cell.
  pointAt(hit, event) {
    this.inspect(hit ?? this.cursor);
    this.showTooltip(hit && hit.row !== undefined && hit.col !== undefined ? this.cellTexts(hit) : null, event);
  }
  inspect(place) {
    this.viewport.drawing.hover = Object.keys(place).length ? place : null;
    this.viewport.redraw();
    fillPanel(byId("panel"), this.shown, place, (axis, index) => this.togglePin(axis, index));
  }
  /// The query, the key, the value.
  cellTexts({ row, col }) {
    const { matrix } = this;
    return [textsOf(matrix.rowWords, matrix.rowLabels)[row], textsOf(matrix.colWords, matrix.colLabels)[col], exact(at(matrix, row, col))];
  }
  cellText(place) {
    const [query, key, value] = this.cellTexts(place);
    return `${query} \u2192 ${key}: ${value}`;
  }
  showTooltip(texts, event) {
    const tooltip = byId("tooltip");
    tooltip.hidden = !texts;
    if (!texts) return;
    tooltip.replaceChildren(element("span", {}, ...arrow(texts[0], texts[1])), element("strong", {}, texts[2]));
    const box = tooltip.getBoundingClientRect();
    tooltip.style.left = Math.min(event.clientX + 14, window.innerWidth - box.width - 6) + "px";
    tooltip.style.top = Math.min(event.clientY + 16, window.innerHeight - box.height - 6) + "px";
  }
  say(text) {
    byId("status").textContent = text;
  }
}

/// For the console and for tests: the app, and the value of a cell as it is shown.
window.heed = { app: new App(), exact };
