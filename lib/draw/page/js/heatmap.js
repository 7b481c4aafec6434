// A heat map with words along its axes, row 0 on top. The words stay in sight while the map scrolls.

const LABEL = 12;         // size of the words
const LONGEST = 150;      // pixels of a word
const LARGEST_CELL = 56;
const MOST_RECTS = 6000;  // more cells than that are drawn as one image

/// Whether a value is left out because it is too small.
function hidden(value, threshold) {
  return threshold > 0 && Math.abs(value) < threshold;
}

/// An image of the matrix with one pixel per cell.
function pixelsOf(matrix, scale, threshold) {
  const canvas = element("canvas", { width: Math.max(1, matrix.cols), height: Math.max(1, matrix.rows) });
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer);
  const packed = scale.colors.concat([MISSING]).map(([r, g, b]) => (255 << 24 | b << 16 | g << 8 | r) >>> 0);
  for (let i = 0; i < matrix.rows * matrix.cols; ++i) {
    if (hidden(matrix.values[i], threshold)) continue;
    pixels[i] = packed.at(colorIndex(scale, matrix.values[i]));
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

class Heatmap {
  /// style: {scale, threshold, cell (0: fit), zoom, available: [width, height], rowTitle, colTitle, pins: {rows, cols},
  /// markRow, markCol, largest (cell)}. Later `hover` may be set to {row, col}.
  constructor(matrix, style) {
    this.matrix = matrix;
    this.style = style;
    this.rowTexts = textsOf(matrix.rowWords, matrix.rowLabels);
    this.colTexts = textsOf(matrix.colWords, matrix.colLabels);
    this.rowSums = style.pins?.rows.size ? sumOfRows(matrix, style.pins.rows) : null;
    this.colSums = style.pins?.cols.size ? sumOfCols(matrix, style.pins.cols) : null;
    this.measure();
  }
  measure() {
    const { matrix, style } = this;
    const widest = (texts) => texts.reduce((most, text) => Math.max(most, Math.min(LONGEST, textWidth(text, LABEL, true))), 0);
    const rowWidth = widest(this.rowTexts);
    const colWidth = widest(this.colTexts);
    const spare = [this.colSums ? 34 : 0, this.rowSums ? 34 : 0];
    this.left = Math.ceil(26 + Math.max(rowWidth, this.rowSums ? 30 : 0));
    const fitting = Math.min((style.available[0] - this.left - spare[0] - 12) / matrix.cols,
                             (style.available[1] - 26 - colWidth - spare[1] - 12) / matrix.rows);
    this.cell = Math.max(2, Math.min(style.largest ?? LARGEST_CELL, fitting)) * 1.25 ** (style.zoom ?? 0);
    if (this.cell > 4) this.cell = Math.floor(this.cell);
    this.turned = colWidth + 8 > this.cell;
    this.top = Math.ceil(24 + (this.turned ? colWidth + 4 : LABEL + 6));
    this.strip = Math.max(14, Math.min(this.cell, 24));
    this.width = Math.max(this.left + matrix.cols * this.cell + (this.colSums ? 10 + this.strip : 0) + 2,
                          this.left + textWidth(style.colTitle, LABEL, true) + 8);
    this.height = Math.max(this.top + matrix.rows * this.cell + (this.rowSums ? 10 + this.strip : 0) + 2,
                           this.top + (style.rowTitle ? textWidth(style.rowTitle, LABEL, true) : 0));
  }
  /// The rows (columns) of which some part is visible: [first, last).
  visible(count, scroll, room) {
    return [Math.max(0, Math.floor(scroll / this.cell)), Math.min(count, Math.ceil((scroll + room) / this.cell))];
  }
  draw(surface, view, theme) {
    const { matrix, left, top } = this;
    const room = { x: left, y: top, width: view.width - left, height: view.height - top };
    const rows = this.visible(matrix.rows, view.y, room.height);
    const cols = this.visible(matrix.cols, view.x, room.width);
    surface.clip(room.x - 1, room.y - 1, room.width + 1, room.height + 1, () => {
      this.drawCells(surface, view, theme, rows, cols);
      this.drawSums(surface, view, theme);
      this.drawMarks(surface, view, theme);
    });
    // Words at the edge may stand out a little.
    surface.clip(0, top - 6, left, room.height + 6, () => this.drawLabels(surface, view, theme, rows, true));
    surface.clip(left - 6, 0, room.width + 6, top, () => this.drawLabels(surface, view, theme, cols, false));
    this.drawTitles(surface, view, theme);
  }
  place(row, col, view) {
    return [this.left + col * this.cell - view.x, this.top + row * this.cell - view.y];
  }
  drawCells(surface, view, theme, rows, cols) {
    const { matrix, style, cell } = this;
    const [x, y] = this.place(0, 0, view);
    surface.rect(x, y, matrix.cols * cell, matrix.rows * cell, { fill: theme.wash });
    if (cell < 6 || (rows[1] - rows[0]) * (cols[1] - cols[0]) > MOST_RECTS) {
      this.pixels ??= pixelsOf(matrix, style.scale, style.threshold);
      surface.image(this.pixels, x, y, matrix.cols * cell, matrix.rows * cell);
      return;
    }
    const gap = cell >= 12 ? 1 : 0.5;
    const write = cell >= 28 && matrix.cols * matrix.rows <= 2500;
    for (let r = rows[0]; r < rows[1]; ++r) {
      for (let c = cols[0]; c < cols[1]; ++c) {
        const value = at(matrix, r, c);
        if (hidden(value, style.threshold)) continue;
        const color = colorOf(style.scale, value);
        const [cx, cy] = this.place(r, c, view);
        surface.rect(cx, cy, cell - gap, cell - gap, { fill: css(color) });
        const text = write ? brief(value) : "";
        if (text && (text !== "0" || style.scale.low < 0)) {
          const size = Math.min(13, cell * 0.3, (cell - 3) / (0.62 * text.length));
          surface.text(text, cx + cell / 2, cy + cell / 2, { fill: inkOn(color), size, align: "center" });
        }
      }
    }
  }
  drawSums(surface, view, theme) {
    const { matrix, style, cell, strip } = this;
    const [x, y] = this.place(0, 0, view);
    const gap = cell >= 6 ? 1 : 0;
    const draw = (sums, at, frame) => {
      sums?.forEach((value, i) => {
        if (!hidden(value, style.threshold)) surface.rect(...at(i), { fill: css(colorOf(style.scale, value)) });
      });
      if (sums) surface.rect(...frame, { stroke: theme.accent });
    };
    const [right, bottom] = [x + matrix.cols * cell + 10, y + matrix.rows * cell + 10];
    draw(this.rowSums, (i) => [x + i * cell, bottom, cell - gap, strip], [x, bottom, matrix.cols * cell, strip]);
    draw(this.colSums, (i) => [right, y + i * cell, strip, cell - gap], [right, y, strip, matrix.rows * cell]);
  }
  drawMarks(surface, view, theme) {
    const { matrix, style, cell, hover } = this;
    const band = (row, col, height, width, options) => surface.rect(...this.place(row, col, view), width * cell, height * cell, options);
    const bands = (rows, cols, options) => {
      for (const row of rows) if (row !== undefined) band(row, 0, 1, matrix.cols, options);
      for (const col of cols) if (col !== undefined) band(0, col, matrix.rows, 1, options);
    };
    bands(style.pins?.rows ?? [], style.pins?.cols ?? [], { stroke: theme.accent, lineWidth: 1.5 });
    bands([style.markRow], [style.markCol], { stroke: theme.mark, lineWidth: 2.5 });
    bands([hover?.row], [hover?.col], { stroke: theme.ink, opacity: 0.6 });
    if (hover && hover.row !== undefined && hover.col !== undefined) band(hover.row, hover.col, 1, 1, { stroke: theme.ink, lineWidth: 2 });
  }
  /// The words of the rows or the columns [first, last), as many as there is room for; those that are pinned, marked or
  /// pointed at are drawn whatever happens.
  drawLabels(surface, view, theme, [first, last], isRow) {
    const { style, left, top, cell, strip } = this;
    const pins = (isRow ? style.pins?.rows : style.pins?.cols) ?? new Set();
    const marked = isRow ? [this.hover?.row, style.markRow] : [this.hover?.col, style.markCol];
    const always = new Set([...pins, ...marked.filter((i) => i !== undefined)]);
    const size = Math.max(9, Math.min(LABEL, cell));
    const place = (text, middle, options) => {
      if (isRow) surface.text(text, left - 6, middle, { ...options, align: "right" });
      else if (options.turned) surface.text(text, middle, top - 6, options);
      else surface.text(text, middle, top - 6 - size / 2, { ...options, align: "center" });
    };
    const draw = (i, bold) => {
      const middle = this.place(i, i, view)[isRow ? 1 : 0] + cell / 2;
      const width = isRow || this.turned ? size * 1.5 : cell;
      const box = isRow ? [16, middle - width / 2, left - 18, width] : [middle - width / 2, 20, width, top - 22];
      if (pins.has(i)) surface.rect(...box, { fill: theme.accent, opacity: 0.25, radius: 3 });
      place((isRow ? this.rowTexts : this.colTexts)[i], middle, { fill: theme.ink, size, bold, longest: LONGEST, turned: !isRow && this.turned });
    };
    const step = Math.max(1, Math.ceil((LABEL + 1) / cell));
    const near = (i) => [...always].some((other) => Math.abs(other - i) < step);
    for (let i = Math.ceil(first / step) * step; i < last; i += step) if (!near(i)) draw(i, false);
    for (const i of always) draw(i, true);
    if (isRow ? this.rowSums : this.colSums) {
      const middle = this.place(this.matrix.rows, this.matrix.cols, view)[isRow ? 1 : 0] + 10 + strip / 2;
      place("sum", middle, { fill: theme.accent, size: LABEL, bold: true, turned: !isRow });
    }
  }
  drawTitles(surface, view, theme) {
    const { style, left, top } = this;
    const options = { fill: theme.muted, size: LABEL, bold: true };
    surface.text(style.colTitle, left, 10, options);
    if (style.rowTitle) {
      const length = textWidth(style.rowTitle, LABEL, true);
      surface.text(style.rowTitle, 9, Math.min(view.height - 2, top + length), { ...options, turned: true });
    }
  }
  hit(px, py, view) {
    const { matrix, left, top, cell } = this;
    const row = Math.floor((py - top + view.y) / cell);
    const col = Math.floor((px - left + view.x) / cell);
    const hit = {};
    if (py >= top && row >= 0 && row < matrix.rows && px < left + matrix.cols * cell) hit.row = row;
    if (px >= left && col >= 0 && col < matrix.cols && py < top + matrix.rows * cell) hit.col = col;
    return hit.row === undefined && hit.col === undefined ? null : hit;
  }
}

function textsOf(words, labels) {
  return words ? words.map((word) => word.text) : labels;
}

/// The values of a row.
function rowValues(matrix, row) {
  return Array.from({ length: matrix.cols }, (_, c) => at(matrix, row, c));
}

function colValues(matrix, col) {
  return Array.from({ length: matrix.rows }, (_, r) => at(matrix, r, col));
}

function sumOfRows(matrix, rows) {
  return Array.from({ length: matrix.cols }, (_, c) => [...rows].reduce((sum, r) => sum + at(matrix, r, c), 0));
}

function sumOfCols(matrix, cols) {
  return Array.from({ length: matrix.rows }, (_, r) => [...cols].reduce((sum, c) => sum + at(matrix, r, c), 0));
}
