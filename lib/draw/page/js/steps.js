// The walk through the computation of one head: one stage at a time, with its equation, the numbers of one query and
// one key, and the matrices it joins.

/// The stages that an item has, in the order of the computation; unknown ones last.
function stagesOf(group, item) {
  const names = item.tensors.map((tensor) => tensor.name);
  const has = (name) => names.includes(name) || (SYNONYMS[name] ?? []).some((other) => names.includes(other)) ||
    (name === "weighted_values" && names.includes("weights") && has("value"));
  const known = STAGES.filter((stage) => has(stage.name));
  const described = new Set(STAGES.flatMap((stage) => [stage.name, ...(SYNONYMS[stage.name] ?? [])]));
  return [...known, ...names.filter((name) => !described.has(name)).map((name) => plainStage(name, group.quantity[name]))];
}

/// What equations ask for: the matrices of one layer and head, and the selected query i and key j.
function stageContext(group, item, choice, i, j) {
  const cache = new Map();
  const headDim = leadDims(group, item)[1];
  const heads = group.sizes[headDim] ?? 1;  // in the file, of which the page may hold some
  const head = headDim ? choice[headDim] + extentOf(group, item, headDim)[1] : 0;
  // Heads may share keys and values, so many at a time.
  const sharedHead = ({ dims, shape }) => Math.floor((head * (shape[dims.indexOf("kv_head")] ?? 1)) / heads);
  const fromFile = (name) => {
    const found = [name, ...(SYNONYMS[name] ?? [])].find((other) => tensorOf(item, other));
    return found ? matrixOf(item, found, { ...choice, query: i, kv_head: sharedHead(tensorOf(item, found)) }) : null;
  };
  const context = {
    get(name) {
      if (!cache.has(name)) cache.set(name, fromFile(name) ?? (name === "weighted_values" ? weightedValues(context) : null));
      return cache.get(name);
    },
  };
  const main = context.get(group.main);
  context.n = main.rows;
  context.m = main.cols;
  context.i = Math.min(i, main.rows - 1);
  context.j = Math.min(j, main.cols - 1);
  Object.assign(context, { head, heads, projected: Boolean(group.model_layer) });
  return context;
}

/// The weighted values of query i [m, d]: the page multiplies them, as float32 like the tools.
function weightedValues(context) {
  const [weights, values] = [context.get("weights"), context.get("value")];
  if (!weights || !values) return null;
  const product = new Float32Array(values.values.length);
  for (let j = 0; j < values.rows; ++j) {
    for (let c = 0; c < values.cols; ++c) product[j * values.cols + c] = at(weights, context.i, j) * at(values, j, c);
  }
  return { ...values, name: "weighted_values", values: product, tensor: { range: ownRange(product) }, computed: true };
}

function rowOf(matrix, row) {
  const values = matrix.values.subarray(row * matrix.cols, (row + 1) * matrix.cols);
  return { ...matrix, rows: 1, values, rowLabels: [matrix.rowLabels[row]], only: row };
}

class Steps {
  /// style: {scaleFor(matrix), colormap, zoom, i, j, step}; `choose({step, i, j})` is called for clicks.
  constructor(parent, group, item, choice, style, choose) {
    this.style = style;
    this.choose = choose;
    this.stages = stagesOf(group, item);
    this.step = Math.max(0, Math.min(style.step, this.stages.length - 1));
    this.context = stageContext(group, item, choice, style.i, style.j);
    this.viewports = [];
    this.element = element("div", { className: "steps" });
    parent.append(this.element);
    this.build();
  }
  get stage() {
    return this.stages[this.step];
  }
  build() {
    const { context, stage } = this;
    const main = context.get("weights") ?? context.get("scores") ?? context.get(this.stages[0].name);
    this.element.append(this.navigation(), this.words(main));
    const formula = stage.formula(context);
    const text = element("div", { className: "equation" },
      element("h2", {}, `${this.step + 1}. ${stage.title}`), element("p", {}, stage.text(context)));
    if (formula) text.append(element("p", { className: "formula-line" }, formulaElement(formula)));
    for (const line of stage.numbers(context)) text.append(element("p", { className: "numbers" }, formulaElement(line)));
    const again = stage.again?.(context);
    if (typeof again === "number") {
      text.append(element("p", { className: "check" }, `Computed again by this page from the numbers before: the largest difference is ${again === 0 ? "0" : again.toExponential(1)}.`));
    }
    if (context.get(stage.name)?.computed) text.append(element("p", { className: "check" }, "Multiplied by this page from the weights and values of the file."));
    this.element.append(text);
    this.matrices = element("div", { className: "matrices" });
    this.element.append(this.matrices);
    this.parts = this.shown().map((matrix) => this.show(matrix));
  }
  navigation() {
    const to = (step) => () => this.choose({ step });
    const back = element("button", { type: "button", id: "back", onclick: to(this.step - 1), disabled: this.step === 0, title: "The step before (B)" }, "\u25c0 Back");
    const forward = element("button", { type: "button", id: "forward", onclick: to(this.step + 1), disabled: this.step === this.stages.length - 1, title: "The next step (N)" }, "Forward \u25b6");
    const list = element("ol", { className: "step-list" }, ...this.stages.map((stage, i) => element("li", {},
      element("button", { type: "button", onclick: to(i), "aria-current": i === this.step ? "step" : "false" }, stage.title))));
    return element("nav", { "aria-label": "Steps" }, back, list, forward);
  }
  /// The menus that select the query and the key.
  words(main) {
    const menu = (id, name, labels, chosen, key) => {
      const select = element("select", { id, onchange: () => this.choose({ [key]: Number(select.value) }) },
        ...labels.map((label, i) => new Option(`${i}: ${label}`, i, i === chosen, i === chosen)));
      return element("label", {}, name + " ", select);
    };
    const { context } = this;
    return element("div", { className: "row words" }, menu("step-query", "Query i", main.rowLabels, context.i, "i"),
      menu("step-key", "Key j", main.colLabels, context.j, "j"));
  }
  /// The matrices of the step, the result last.
  shown() {
    const { context, stage } = this;
    const used = (stage.uses ?? []).map((names) => firstOf(context, ...names.split("|"))).filter((matrix) => matrix)
      .map((matrix) => (stage.strip?.includes(matrix.name) ? rowOf(matrix, context.i) : matrix));
    return [...used, context.get(stage.name)];
  }
  show(matrix) {
    const { context, style } = this;
    const figure = element("figure");
    const range = style.scaleFor(matrix);
    const scale = makeScale(style.colormap, range);
    const rows = matrix.rowDim === "query" ? context.i : matrix.rowDim === "key" ? context.j : undefined;
    const drawing = new Heatmap(matrix, {
      scale, threshold: 0, zoom: style.zoom, available: [Math.min(640, this.matrices.clientWidth - 20), Math.max(260, window.innerHeight * 0.45)], largest: 34,
      rowTitle: matrix.rows > 1 ? matrix.rowDim : "", colTitle: matrix.colDim,
      markRow: matrix.only === undefined ? rows : undefined, markCol: matrix.colDim === "key" ? context.j : undefined,
    });
    const name = matrix.name.replaceAll("_", " ");
    const title = matrix.only !== undefined || matrix.name === "weighted_values" ? `${name}, of query ${context.i} alone` : name;
    const caption = `${title}, ${matrix.rows} \u00d7 ${matrix.cols}`;
    figure.append(element("figcaption", {}, caption));
    const viewport = new Viewport(figure, `${title}, ${matrix.rows} rows, ${matrix.cols} columns`, {
      hover: (hit, event) => {
        drawing.hover = hit;
        viewport.redraw();
        style.hover(matrix, hit, event);
      },
      pick: (hit) => this.pick(matrix, hit),
    });
    viewport.show(drawing);
    this.viewports.push(viewport);
    figure.append(legendElement(scale, ""));
    this.matrices.append(figure);
    return { caption, drawing, scale, matrix };
  }
  pick(matrix, hit) {
    const chosen = {};
    const row = matrix.only ?? hit?.row;
    if (row !== undefined && matrix.rowDim === "query") chosen.i = row;
    if (row !== undefined && matrix.rowDim === "key") chosen.j = row;
    if (hit?.col !== undefined && matrix.colDim === "key") chosen.j = hit.col;
    if (Object.keys(chosen).length) this.choose(chosen);
  }
  remove() {
    for (const viewport of this.viewports) viewport.remove();
    this.element.remove();
  }
}
