// Small multiples: one map per layer and head, layers downwards. Each is a button that opens its map.

const TILE = 116;

/// The matrix in at most `size` pixels each way: the largest value (by size) of each block of cells.
function pooled(matrix, size) {
  const block = Math.max(1, Math.ceil(Math.max(matrix.rows, matrix.cols) / size));
  if (block === 1) return matrix;
  const rows = Math.ceil(matrix.rows / block);
  const cols = Math.ceil(matrix.cols / block);
  const values = new Float32Array(rows * cols).fill(NaN);
  for (let r = 0; r < matrix.rows; ++r) {
    for (let c = 0; c < matrix.cols; ++c) {
      const value = at(matrix, r, c);
      const place = Math.floor(r / block) * cols + Math.floor(c / block);
      if (Number.isNaN(values[place]) || Math.abs(value) > Math.abs(values[place])) values[place] = value;
    }
  }
  return { ...matrix, rows, cols, values };
}

class Grid {
  /// `tiles`: [{row, col, title, get(): matrix}]; style: {scale, threshold, rowName, colName, rowNumbers, colNumbers,
  /// selected(tile)}; `open(tile)` is called for a click.
  constructor(parent, tiles, style, open) {
    this.tiles = tiles;
    this.style = style;
    this.cols = style.colNumbers.length;
    this.element = element("div", { className: "grid" });
    this.element.style.gridTemplateColumns = `max-content repeat(${this.cols}, ${TILE + 12}px)`;
    this.element.append(this.heading(""), ...style.colNumbers.map((number) => this.heading(`${style.colName} ${number}`)));
    tiles.forEach((tile, i) => {
      if (i % this.cols === 0) this.element.append(this.heading(`${style.rowName} ${style.rowNumbers[i / this.cols]}`));
      this.element.append(this.button(tile, open));
    });
    parent.append(this.element);
    this.fill(0);
  }
  heading(text) {
    return element("div", { className: "grid-heading" }, text);
  }
  button(tile, open) {
    tile.canvas = element("canvas", { width: TILE, height: TILE });
    return element("button", {
      type: "button", title: tile.title, onclick: () => open(tile), "aria-label": `Open ${tile.title}`,
      ...(this.style.selected(tile) && { "aria-current": "true" }),
    }, tile.canvas);
  }
  /// Draws the tiles from `first` on, some in each frame.
  fill(first) {
    const started = performance.now();
    let i = first;
    while (i < this.tiles.length && performance.now() - started < 10) this.draw(this.tiles[i++]);
    this.filled = i;
    if (i < this.tiles.length) this.pending = requestAnimationFrame(() => this.fill(i));
  }
  finish() {
    cancelAnimationFrame(this.pending);
    for (; this.filled < this.tiles.length; ++this.filled) this.draw(this.tiles[this.filled]);
  }
  draw(tile) {
    const { scale, threshold } = this.style;
    const small = pooled(tile.get(), TILE);
    tile.pixels = pixelsOf(small, scale, threshold);
    const part = TILE / Math.max(small.rows, small.cols, 1);
    [tile.width, tile.height] = [small.cols * part, small.rows * part];
    const context = sizeCanvas(tile.canvas, tile.width, tile.height);
    context.imageSmoothingEnabled = false;
    context.drawImage(tile.pixels, 0, 0, tile.width, tile.height);
  }
  remove() {
    cancelAnimationFrame(this.pending);
    this.element.remove();
  }
}

/// The grid as a drawing, for files and paper.
class GridDrawing {
  constructor(grid) {
    grid.finish();
    this.grid = grid;
    this.left = 8 + Math.max(...grid.style.rowNumbers.map((number) => textWidth(`${grid.style.rowName} ${number}`, LABEL)));
    this.width = this.left + grid.cols * (TILE + 10);
    this.height = 22 + grid.style.rowNumbers.length * (TILE + 10);
  }
  draw(surface, view, theme) {
    const { style, tiles, cols } = this.grid;
    const x = (col) => this.left + col * (TILE + 10);
    const y = (row) => 22 + row * (TILE + 10);
    const options = { fill: theme.muted, size: LABEL };
    style.colNumbers.forEach((number, c) => surface.text(`${style.colName} ${number}`, x(c) + TILE / 2, 10, { ...options, align: "center" }));
    style.rowNumbers.forEach((number, r) => surface.text(`${style.rowName} ${number}`, 0, y(r) + TILE / 2, options));
    tiles.forEach((tile, i) => {
      const [tx, ty] = [x(i % cols), y(Math.floor(i / cols))];
      surface.rect(tx, ty, tile.width, tile.height, { fill: theme.wash });
      surface.image(tile.pixels, tx, ty, tile.width, tile.height);
    });
  }
}
