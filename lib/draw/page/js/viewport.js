// A window onto a drawing of any size: only what is visible is drawn, so 500 words stay smooth.
//
// A drawing has: width, height; draw(surface, view, theme) with view = {x, y, width, height}, the part that is
// visible; hit(x, y, view), what lies at a point of the window: {row, col}, either may be missing, or null.

/// The colours of the page as it is now, or of another theme.
function themeColors(name) {
  const probe = document.createElement("div");
  if (name) probe.dataset.theme = name;
  document.body.append(probe);
  const style = getComputedStyle(probe);
  const colors = {};
  for (const key of ["paper", "ink", "muted", "line", "accent", "wash", "mark"]) colors[key] = style.getPropertyValue("--" + key).trim();
  probe.remove();
  return colors;
}

class Viewport {
  /// `events`: hover(hit or null, pointer event), pick(hit, pointer event).
  constructor(parent, label, events = {}) {
    this.events = events;
    this.canvas = element("canvas");
    this.sheet = element("div", { className: "sheet" }, this.canvas);
    this.scroller = element("div", { className: "viewport", tabIndex: 0, role: "application", "aria-roledescription": "figure" }, this.sheet);
    parent.append(this.scroller);
    this.label(label);
    this.scroller.addEventListener("scroll", () => this.redraw());
    this.canvas.addEventListener("pointermove", (event) => this.point("hover", event));
    this.canvas.addEventListener("pointerleave", (event) => this.events.hover?.(null, event));
    this.canvas.addEventListener("click", (event) => this.point("pick", event));
    this.observer = new ResizeObserver(() => this.redraw());
    this.observer.observe(this.scroller);
  }
  label(text) {
    this.scroller.setAttribute("aria-label", text);
  }
  show(drawing) {
    this.drawing = drawing;
    this.sheet.style.width = drawing.width + "px";
    this.sheet.style.height = drawing.height + "px";
    this.redraw();
  }
  /// Draws in the next frame, once, however often it is called.
  redraw() {
    if (this.pending || !this.drawing) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.paint();
    });
  }
  view() {
    const { scroller, drawing } = this;
    return {
      x: scroller.scrollLeft, y: scroller.scrollTop,
      width: Math.min(Math.ceil(drawing.width), scroller.clientWidth), height: Math.min(Math.ceil(drawing.height), scroller.clientHeight),
    };
  }
  paint() {
    const started = performance.now();
    const view = this.view();
    const context = sizeCanvas(this.canvas, view.width, view.height);
    const theme = themeColors();
    context.fillStyle = theme.paper;
    context.fillRect(0, 0, view.width, view.height);
    this.drawing.draw(new CanvasSurface(context), view, theme);
    this.milliseconds = performance.now() - started;
  }
  point(name, event) {
    const box = this.canvas.getBoundingClientRect();
    const hit = this.drawing?.hit(event.clientX - box.left, event.clientY - box.top, this.view()) ?? null;
    this.canvas.style.cursor = hit ? "pointer" : "default";
    this.events[name]?.(hit, event);
  }
  /// Scrolls so that the rectangle, which stands right of and below `gutter`, is visible.
  reveal(x, y, width, height, gutter) {
    const { scroller } = this;
    const view = this.view();
    if (x - gutter.left < scroller.scrollLeft) scroller.scrollLeft = x - gutter.left;
    if (x + width > scroller.scrollLeft + view.width) scroller.scrollLeft = Math.ceil(x + width - view.width);
    if (y - gutter.top < scroller.scrollTop) scroller.scrollTop = y - gutter.top;
    if (y + height > scroller.scrollTop + view.height) scroller.scrollTop = Math.ceil(y + height - view.height);
  }
  remove() {
    cancelAnimationFrame(this.pending);
    this.observer.disconnect();
    this.scroller.remove();
  }
}
