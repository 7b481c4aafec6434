// Two columns of words with lines between them: the keys on the left, the queries
// on the right. Wide lines are large weights; what is pinned or pointed at stands out, and the words of the other
// side are shaded by the sum of their weights.

const MOST_LINES = 2000;

class Lines {
  /// `matrices`: one, or one per head, each in a colour of its own; `style` as for Heatmap, with `colors`.
  constructor(matrices, style) {
    this.matrices = matrices;
    this.matrix = matrices[0];
    this.style = style;
    const rowTexts = textsOf(this.matrix.rowWords, this.matrix.rowLabels);
    const colTexts = textsOf(this.matrix.colWords, this.matrix.colLabels);
    this.sides = [{ texts: colTexts, kind: "col" }, { texts: rowTexts, kind: "row" }];
    const most = Math.max(rowTexts.length, colTexts.length);
    const widest = (texts, title) => texts.reduce((width, text) => Math.max(width, Math.min(LONGEST, textWidth(text, 14))), textWidth(title, LABEL, true));
    this.top = 30;
    this.pitch = Math.max(2, Math.min(26, (style.available[1] - this.top - 8) / most)) * 1.25 ** (style.zoom ?? 0);
    this.leftWidth = widest(colTexts, style.colTitle) + 14;
    this.rightWidth = widest(rowTexts, style.rowTitle) + 14;
    this.gap = Math.max(120, Math.min(420, style.available[0] - this.leftWidth - this.rightWidth - 8));
    this.width = this.leftWidth + this.gap + this.rightWidth;
    this.height = this.top + most * this.pitch + 6;
    this.lines = this.strongest();
  }
  /// The lines to draw, weakest first: [row, col, weight, matrix].
  strongest() {
    const { style } = this;
    const full = Math.max(Math.abs(style.scale.low), Math.abs(style.scale.high)) || 1;
    const least = Math.max(style.threshold, full * 0.004);
    const lines = [];
    this.matrices.forEach((matrix, m) => {
      for (let i = 0; i < matrix.values.length; ++i) {
        const size = Math.abs(matrix.values[i]);
        if (size >= least) lines.push([Math.floor(i / matrix.cols), i % matrix.cols, Math.min(1, size / full), m]);
      }
    });
    lines.sort((a, b) => a[2] - b[2]);
    this.dropped = Math.max(0, lines.length - MOST_LINES);
    return this.dropped ? lines.slice(this.dropped) : lines;
  }
  y(index, view) {
    return this.top + (index + 0.5) * this.pitch - view.y;
  }
  /// The words whose lines stand out, or null: all alike.
  chosen() {
    const { pins } = this.style;
    const { hover } = this;
    const rows = new Set(pins.rows);
    const cols = new Set(pins.cols);
    if (hover?.row !== undefined) rows.add(hover.row);
    if (hover?.col !== undefined) cols.add(hover.col);
    return rows.size || cols.size ? { rows, cols } : null;
  }
  draw(surface, view, theme) {
    const chosen = this.chosen();
    const x = [this.leftWidth - view.x, this.leftWidth + this.gap - view.x];
    surface.clip(0, this.top - 4, view.width, view.height - this.top + 4, () => {
      for (const line of this.lines) this.drawLine(surface, view, theme, x, chosen, line);
      this.drawWords(surface, view, theme, x, chosen);
    });
    surface.text(this.style.colTitle, x[0] - 6, 12, { fill: theme.muted, size: LABEL, bold: true, align: "right" });
    surface.text(this.style.rowTitle, x[1] + 6, 12, { fill: theme.muted, size: LABEL, bold: true });
  }
  drawLine(surface, view, theme, x, chosen, [row, col, weight, m]) {
    const [y1, y2] = [this.y(col, view), this.y(row, view)];
    if (Math.max(y1, y2) < this.top || Math.min(y1, y2) > view.height) return;
    const on = !chosen || ((!chosen.rows.size || chosen.rows.has(row)) && (!chosen.cols.size || chosen.cols.has(col)));
    const stroke = this.style.colors ? this.style.colors[m % this.style.colors.length] : theme.accent;
    const crowd = this.matrices.length > 1 ? 0.6 : 1;
    if (!on && (this.lines.length > 800 || weight < 0.05)) return;
    surface.curve(x[0], y1, x[1], y2, {
      stroke: on ? stroke : theme.muted,
      lineWidth: Math.min(this.pitch, 0.6 + 3.4 * weight * crowd), opacity: on ? 0.08 + 0.92 * weight : 0.08,
    });
  }
  /// For each word of a side, what it gets from the chosen words of the other side, if there are any.
  shades(kind, { rows, cols }) {
    if (kind === "col") return rows.size ? sumOfRows(this.meanMatrix(), rows) : null;
    return cols.size ? sumOfCols(this.meanMatrix(), cols) : null;
  }
  meanMatrix() {
    if (this.matrices.length === 1) return this.matrix;
    this.mean ??= { ...this.matrix, values: this.matrix.values.map((_, i) => this.matrices.reduce((sum, m) => sum + m.values[i] / this.matrices.length, 0)) };
    return this.mean;
  }
  drawWords(surface, view, theme, x, chosen) {
    const size = Math.max(9, Math.min(14, this.pitch));
    const step = Math.max(1, Math.ceil((size + 1) / this.pitch));
    this.sides.forEach((side, s) => {
      const own = chosen ? (side.kind === "col" ? chosen.cols : chosen.rows) : new Set();
      const shades = chosen && this.shades(side.kind, chosen);
      const width = s ? this.rightWidth : this.leftWidth;
      const from = s ? x[1] : x[0] - width;
      const [first, last] = [Math.max(0, Math.floor(view.y / this.pitch) - 1), Math.min(side.texts.length, Math.ceil((view.y + view.height) / this.pitch))];
      for (let i = first; i < last; ++i) {
        const y = this.y(i, view);
        const height = Math.max(2, this.pitch - (this.pitch > 8 ? 3 : 0));
        const shade = own.has(i) ? 0.45 : shades ? Math.min(1, Math.abs(shades[i]) / (this.style.scale.high || 1)) * 0.4 : 0;
        if (shade > 0.01) surface.rect(from, y - height / 2, width, height, { fill: own.has(i) ? theme.mark : theme.accent, opacity: shade, radius: 3 });
        const crowded = step > 1 && [...own].some((other) => other !== i && Math.abs(other - i) < step);
        if (!own.has(i) && (i % step || crowded)) continue;
        surface.text(side.texts[i], s ? x[1] + 6 : x[0] - 6, y, { fill: theme.ink, size, align: s ? "left" : "right", bold: own.has(i), longest: LONGEST });
      }
    });
  }
  hit(px, py, view) {
    const index = Math.floor((py - this.top + view.y) / this.pitch);
    const side = px + view.x < this.leftWidth ? this.sides[0] : px + view.x > this.leftWidth + this.gap ? this.sides[1] : null;
    if (!side || py < this.top || index < 0 || index >= side.texts.length) return null;
    return { [side.kind]: index };
  }
}
