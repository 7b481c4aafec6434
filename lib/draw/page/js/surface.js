// Two things to draw on, with the same methods: the screen's canvas, and SVG for files and paper.

const FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', 'Noto Sans', sans-serif";

function runsRightToLeft(text) {
  const strong = /[A-Za-z\u00c0-\u02af\u0370-\u0589\u3040-\u9fff\uac00-\ud7af]|([\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc])/.exec(text);
  return Boolean(strong && strong[1]);
}

class CanvasSurface {
  constructor(context) {
    this.context = context;
  }
  rect(x, y, width, height, { fill, stroke, lineWidth = 1, opacity = 1, radius = 0 }) {
    const c = this.context;
    c.globalAlpha = opacity;
    c.beginPath();
    if (radius > 0) c.roundRect(x, y, width, height, radius);
    else c.rect(x, y, width, height);
    if (fill) c.fillStyle = fill, c.fill();
    if (stroke) c.strokeStyle = stroke, c.lineWidth = lineWidth, c.stroke();
    c.globalAlpha = 1;
  }
  /// align: left, center, right; the text's middle lies at y; turned: upwards. Cut to `longest` pixels.
  text(text, x, y, { fill, size = 12, align = "left", bold = false, turned = false, longest = Infinity }) {
    const c = this.context;
    c.save();
    c.font = fontOf(size, bold);
    c.fillStyle = fill;
    c.textAlign = align;
    c.textBaseline = "middle";
    c.direction = runsRightToLeft(text) ? "rtl" : "ltr";
    c.translate(x, y);
    if (turned) c.rotate(-Math.PI / 2);
    c.fillText(cut(text, longest, size, bold), 0, 0);
    c.restore();
  }
  curve(x1, y1, x2, y2, { stroke, lineWidth = 1, opacity = 1 }) {
    const c = this.context;
    const bend = (x2 - x1) * 0.45;
    c.globalAlpha = opacity;
    c.strokeStyle = stroke;
    c.lineWidth = lineWidth;
    c.beginPath();
    c.moveTo(x1, y1);
    c.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
    c.stroke();
    c.globalAlpha = 1;
  }
  /// The pixels of a canvas, unsmoothed.
  image(canvas, x, y, width, height) {
    this.context.imageSmoothingEnabled = false;
    this.context.drawImage(canvas, x, y, width, height);
  }
  /// Calls draw() with (x, y) as the origin.
  move(x, y, draw) {
    const c = this.context;
    c.save();
    c.translate(x, y);
    draw();
    c.restore();
  }
  clip(x, y, width, height, draw) {
    const c = this.context;
    c.save();
    c.beginPath();
    c.rect(x, y, width, height);
    c.clip();
    draw();
    c.restore();
  }
}

class SvgSurface {
  constructor() {
    this.parts = [];
    this.clips = 0;
  }
  rect(x, y, width, height, { fill, stroke, lineWidth = 1, opacity = 1, radius = 0 }) {
    this.parts.push(`<rect x="${fixed(x)}" y="${fixed(y)}" width="${fixed(width)}" height="${fixed(height)}"` +
      (radius ? ` rx="${fixed(radius)}"` : "") + ` fill="${fill ?? "none"}"` +
      (stroke ? ` stroke="${stroke}" stroke-width="${fixed(lineWidth)}"` : "") + opacityOf(opacity) + "/>");
  }
  text(text, x, y, { fill, size = 12, align = "left", bold = false, turned = false, longest = Infinity }) {
    const rtl = runsRightToLeft(text);
    const anchor = align === "center" ? "middle" : (align === "left") !== rtl ? "start" : "end";
    // The middle of the letters lies a third of the size above the base line; not all viewers know baselines.
    this.parts.push(`<text transform="translate(${fixed(x)} ${fixed(y)})${turned ? " rotate(-90)" : ""}" dy="${fixed(size * 0.34)}"` +
      ` font-size="${fixed(size)}" fill="${fill}" text-anchor="${anchor}"` + (bold ? ' font-weight="600"' : "") +
      (rtl ? ' direction="rtl" unicode-bidi="embed"' : "") + `>${forXml(cut(text, longest, size, bold))}</text>`);
  }
  curve(x1, y1, x2, y2, { stroke, lineWidth = 1, opacity = 1 }) {
    const bend = (x2 - x1) * 0.45;
    this.parts.push(`<path d="M${fixed(x1)} ${fixed(y1)}C${fixed(x1 + bend)} ${fixed(y1)} ${fixed(x2 - bend)} ${fixed(y2)} ` +
      `${fixed(x2)} ${fixed(y2)}" fill="none" stroke="${stroke}" stroke-width="${fixed(lineWidth)}"${opacityOf(opacity)}/>`);
  }
  image(canvas, x, y, width, height) {
    this.parts.push(`<image x="${fixed(x)}" y="${fixed(y)}" width="${fixed(width)}" height="${fixed(height)}" ` +
      `preserveAspectRatio="none" image-rendering="pixelated" href="${canvas.toDataURL("image/png")}"/>`);
  }
  move(x, y, draw) {
    this.parts.push(`<g transform="translate(${fixed(x)} ${fixed(y)})">`);
    draw();
    this.parts.push("</g>");
  }
  clip(x, y, width, height, draw) {
    const id = "clip" + this.clips++;
    this.parts.push(`<clipPath id="${id}"><rect x="${fixed(x)}" y="${fixed(y)}" width="${fixed(width)}" height="${fixed(height)}"/>` +
      `</clipPath><g clip-path="url(#${id})">`);
    draw();
    this.parts.push("</g>");
  }
  /// The whole document.
  finish(width, height) {
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${Math.ceil(width)}" height="${Math.ceil(height)}" ` +
      `viewBox="0 0 ${Math.ceil(width)} ${Math.ceil(height)}" font-family="${FONT}">\n${this.parts.join("\n")}\n</svg>\n`;
  }
}

function fixed(number) {
  return String(Math.round(number * 100) / 100);
}

function opacityOf(opacity) {
  return opacity < 1 ? ` opacity="${Math.round(opacity * 1000) / 1000}"` : "";
}

/// Text for XML, which cannot hold everything that a label can.
function forXml(text) {
  return text.replace(/[\u0000-\u001f\ufffe\uffff]|\p{Surrogate}/gu, "\ufffd").replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
}

function fontOf(size, bold) {
  return `${bold ? "600 " : ""}${size}px ${FONT}`;
}

const ruler = document.createElement("canvas").getContext("2d");
const widths = new Map();

function textWidth(text, size, bold = false) {
  const key = size + (bold ? "b" : "r") + text;
  if (!widths.has(key)) {
    if (widths.size > 20000) widths.clear();
    ruler.font = fontOf(size, bold);
    widths.set(key, ruler.measureText(text).width);
  }
  return widths.get(key);
}

/// `text` cut to `longest` pixels, with an ellipsis.
function cut(text, longest, size, bold = false) {
  if (longest === Infinity || textWidth(text, size, bold) <= longest) return text;
  const characters = [...text];
  while (characters.length > 1 && textWidth(characters.join("") + "\u2026", size, bold) > longest) characters.pop();
  return characters.join("") + "\u2026";
}
