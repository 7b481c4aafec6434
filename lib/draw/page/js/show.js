// What each view puts on the stage, beside it and below it.

function styleOf(app, matrix) {
  const [rowTitle, colTitle] = app.axisTitles();
  const stage = byId("stage");
  const height = Math.max(280, window.innerHeight - stage.getBoundingClientRect().top - window.scrollY - 110);
  return {
    scale: makeScale(app.state.colormap, app.range(matrix)), threshold: app.threshold(), zoom: app.state.zoom,
    available: [stage.clientWidth - 4, height], rowTitle, colTitle, pins: app.pins,
  };
}

function ensureViewport(app) {
  app.viewport ??= new Viewport(byId("stage"), "", {
    hover: (hit, event) => app.pointAt(hit, event),
    pick: (hit) => hit && pin(app, hit),
  });
}

/// A word is pinned or let go; a cell pins both its words.
function pin(app, { row, col }) {
  const { rows, cols } = app.pins;
  const isCell = row !== undefined && col !== undefined;
  const unpin = isCell ? rows.has(row) && cols.has(col) : rows.has(row) || cols.has(col);
  for (const [pins, index] of [[rows, row], [cols, col]]) {
    if (index === undefined) continue;
    if (unpin) pins.delete(index);
    else pins.add(index);
  }
  app.update();
}

function present(app, matrix, drawing, style, quantity) {
  app.matrix = matrix;
  app.shown = { matrix, scale: style.scale, pins: app.pins, rowTitle: style.rowTitle, colTitle: style.colTitle };
  ensureViewport(app);
  app.viewport.label(`${app.state.view === "map" ? "Heat map" : "Lines"}: ${app.subtitle()}, ${matrix.rows} rows, ${matrix.cols} columns. Shift and arrows move from cell to cell.`);
  app.viewport.show(drawing);
  app.parts = [{ drawing }, { drawing: new Legend(style.scale, quantity) }];
  app.inspect(app.cursor);
}

function quantity(app) {
  return app.group.quantity[app.group.main] || app.group.main;
}

function showMap(app) {
  const matrix = app.words(app.choice());
  const style = styleOf(app, matrix);
  present(app, matrix, new Heatmap(matrix, style), style, quantity(app));
  byId("caption").textContent = `Rows: ${style.rowTitle || "one"}; columns: ${style.colTitle}.`;
  byId("legend").append(legendElement(style.scale, quantity(app)));
  note(app);
}

function showLines(app) {
  const { state, lead } = app;
  const byHead = state.head === "all" && lead.head;
  const [count, first] = byHead ? extentOf(app.group, app.item, lead.head) : [1, 0];
  const matrices = Array.from({ length: count }, (_, head) => app.words(app.choice(byHead ? head : state.head)));
  const matrix = byHead ? app.words(app.choice("mean")) : matrices[0];
  const style = { ...styleOf(app, matrix), colors: byHead ? HEAD_COLORS : null };
  const drawing = new Lines(matrices, style);
  present(app, matrix, drawing, style, quantity(app));
  byId("caption").textContent = `Left: ${style.colTitle}, the words attended to; right: ${style.rowTitle}, the attending words.`;
  if (byHead) {
    const names = matrices.map((_, head) => `${lead.head} ${first + head}`);
    byId("legend").append(chipsElement(names, HEAD_COLORS));
    app.parts[1] = { drawing: new Chips(names, HEAD_COLORS) };
  } else {
    byId("legend").append(element("p", { className: "hint" }, `The wider and darker a line, the larger the ${quantity(app)}.`));
    app.parts.pop();
  }
  note(app, drawing.dropped ? `The ${MOST_LINES} largest of ${drawing.lines.length + drawing.dropped} lines are drawn.` : "");
}

function showGrid(app) {
  const { group, item, lead } = app;
  const numbers = (dim) => (dim ? Array.from({ length: extentOf(group, item, dim)[0] }, (_, i) => i + extentOf(group, item, dim)[1]) : [""]);
  const [rowNumbers, colNumbers] = [numbers(lead.layer), numbers(lead.head)];
  const tiles = rowNumbers.flatMap((rowNumber, layer) => colNumbers.map((colNumber, head) => ({
    layer, head, title: `${lead.layer ?? ""} ${rowNumber} ${lead.head ?? ""} ${colNumber}`.trim() || "map",
    get: () => app.words({ ...(lead.layer && { [lead.layer]: layer }), ...(lead.head && { [lead.head]: head }) }),
  })));
  const scale = makeScale(app.state.colormap, DATA.range ?? group.range);
  const style = {
    scale, threshold: app.threshold(), rowName: lead.layer ?? "", colName: lead.head ?? "", rowNumbers, colNumbers,
    selected: (tile) => tile.layer === app.state.layer && tile.head === app.state.head,
  };
  app.content = new Grid(byId("stage"), tiles, style, (tile) => app.set({ layer: tile.layer, head: tile.head, view: "map" }));
  byId("legend").append(legendElement(scale, quantity(app)));
  byId("panel").replaceChildren(element("p", { className: "hint" }, "One map per layer and head. Choose one to open it."));
  app.parts = null;
  note(app);
}

function showSteps(app) {
  const { state } = app;
  app.content = new Steps(byId("stage"), app.group, app.item, app.choice(), {
    colormap: state.colormap, zoom: state.zoom, i: state.i, j: state.j, step: state.step,
    scaleFor: (matrix) => (matrix.name === app.group.main ? app.range(matrix) : matrix.computed || matrix.only !== undefined ? ownRange(matrix.values) : matrix.tensor.range),
    hover: (matrix, hit, event) => app.showTooltip(hit && hit.row !== undefined && hit.col !== undefined
      ? [matrix.rowLabels[hit.row], matrix.colLabels[hit.col], exact(at(matrix, hit.row, hit.col))] : null, event),
  }, (changes) => app.set(changes));
  const { context, stage } = app.content;
  state.step = app.content.step;
  [state.i, state.j] = [context.i, context.j];
  byId("panel").replaceChildren(element("p", { className: "hint" }, "Click a row or column to choose the query i and the key j. Pieces are shown as the model sees them."));
  app.say(`Step ${state.step + 1}: ${stage.title}`);
  app.parts = app.content.parts.map(({ caption, drawing }) => ({ caption, drawing }));
}

function note(app, extra = "") {
  const notes = [extra];
  if (app.state.merge && app.hasPieces) notes.push("Pieces are merged: summed over a key word's pieces, averaged over a query word's.");
  if (app.state.drop) notes.push("Start and end marks are left out; rows are not rescaled.");
  if (app.threshold() > 0) notes.push(`Values below ${brief(app.threshold(), 3)} are hidden.`);
  byId("note").textContent = notes.filter(Boolean).join(" ");
}

const SHOW = { map: showMap, lines: showLines, grid: showGrid, steps: showSteps };
