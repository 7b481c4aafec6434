// The legend, and a figure as a whole: title, parts and legends, on one surface, for files and for paper.

const LARGEST_PICTURE = 8192;  // pixels of a side

/// Chips that name the colour of each head.
function chipsElement(names, colors) {
  return element("div", { className: "chips" }, ...names.map((name, i) => {
    const chip = element("span", { className: "chip" });
    chip.style.setProperty("--chip", colors[i % colors.length]);
    return element("span", {}, chip, name);
  }));
}

/// The colour scale with its numbers, for the page.
function legendElement(scale, quantity) {
  const drawing = new Legend(scale, quantity);
  const canvas = element("canvas", {
    className: "legend", role: "img", "aria-label": `Colours from ${exact(scale.low)} to ${exact(scale.high)}${quantity ? ", " + quantity : ""}`,
  });
  drawing.draw(new CanvasSurface(sizeCanvas(canvas, drawing.width, drawing.height)), null, themeColors());
  return canvas;
}

class Legend {
  constructor(scale, quantity) {
    this.scale = scale;
    this.quantity = quantity;
    this.bar = 220;
    this.width = 20 + this.bar + 30 + (quantity ? textWidth(quantity, LABEL) + 8 : 0);
    this.height = 32;
  }
  draw(surface, view, theme) {
    const { scale, bar } = this;
    const width = scale.high - scale.low || 1;
    for (let i = 0; i < 64; ++i) {
      surface.rect(20 + (i * bar) / 64, 2, bar / 64 + 0.5, 10, { fill: css(scale.colors[Math.round((i * 255) / 63)]) });
    }
    surface.rect(20, 2, bar, 10, { stroke: theme.line });
    for (const tick of ticksOf(scale.low, scale.high)) {
      const x = 20 + ((tick - scale.low) / width) * bar;
      surface.rect(x - 0.5, 12, 1, 4, { fill: theme.muted });
      surface.text(minus(tick), x, 23, { fill: theme.ink, size: 11, align: "center" });
    }
    if (this.quantity) surface.text(this.quantity, 20 + bar + 22, 8, { fill: theme.muted, size: LABEL });
  }
}

class Chips {
  constructor(names, colors) {
    Object.assign(this, { names, colors, height: 24 });
    this.width = names.reduce((sum, name) => sum + textWidth(name, LABEL) + 30, 0);
  }
  draw(surface, view, theme) {
    let x = 0;
    this.names.forEach((name, i) => {
      surface.rect(x, 5, 12, 12, { fill: this.colors[i % this.colors.length], radius: 2 });
      surface.text(name, x + 16, 11, { fill: theme.ink, size: LABEL });
      x += textWidth(name, LABEL) + 30;
    });
  }
}

/// A figure of parts below each other: {title, subtitle, parts: [{caption, drawing}]}, drawings as in viewport.js.
class Composition {
  constructor({ title, subtitle, parts }) {
    Object.assign(this, { title, subtitle, parts, margin: 16 });
    const widest = Math.max(320, textWidth(title, 16, true), textWidth(subtitle, LABEL), ...parts.map((part) => Math.max(part.drawing.width, textWidth(part.caption ?? "", LABEL))));
    this.width = Math.min(widest, Math.max(900, ...parts.map((part) => part.drawing.width))) + 2 * this.margin;
    this.height = 2 * this.margin + 48 + parts.reduce((sum, part) => sum + part.drawing.height + (part.caption ? 20 : 0) + 12, 0);
  }
  draw(surface, theme) {
    const { margin } = this;
    const room = this.width - 2 * margin;
    surface.rect(0, 0, this.width, this.height, { fill: theme.paper });
    surface.text(this.title, margin, margin + 8, { fill: theme.ink, size: 16, bold: true, longest: room });
    surface.text(this.subtitle, margin, margin + 30, { fill: theme.muted, size: LABEL, longest: room });
    let y = margin + 48;
    for (const { caption, drawing } of this.parts) {
      if (caption) surface.text(caption, margin, y + 8, { fill: theme.ink, size: LABEL, bold: true, longest: room });
      y += caption ? 20 : 0;
      surface.move(margin, y, () => drawing.draw(surface, { x: 0, y: 0, width: drawing.width, height: drawing.height }, theme));
      y += drawing.height + 12;
    }
  }
  svg() {
    const surface = new SvgSurface();
    this.draw(surface, themeColors("light"));
    return surface.finish(this.width, this.height);
  }
  /// A promise of the PNG's bytes as a blob.
  png() {
    const scale = Math.min(2, LARGEST_PICTURE / Math.max(this.width, this.height));
    const canvas = document.createElement("canvas");
    canvas.width = Math.ceil(this.width * scale);
    canvas.height = Math.ceil(this.height * scale);
    const context = canvas.getContext("2d");
    context.scale(scale, scale);
    this.draw(new CanvasSurface(context), themeColors("light"));
    return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  }
}

function download(blob, name) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
