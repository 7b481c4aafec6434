// The document in few words.

const byId = (id) => document.getElementById(id);

/// A DOM element with properties (attributes where there is a dash) and children.
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key.includes("-") || key === "role") made.setAttribute(key, value);
    else made[key] = value;
  }
  made.append(...children);
  return made;
}

/// "query -> key", from left to right whatever way the words run.
function arrow(query, key) {
  return [element("bdi", {}, query), " \u2192 ", element("bdi", {}, key)];
}

/// Gives a canvas a size on the page, with as many pixels as the screen has there; returns its context, which counts
/// in lengths of the page.
function sizeCanvas(canvas, width, height) {
  const ratio = Math.min(3, window.devicePixelRatio || 1);
  const pixels = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== pixels[0] || canvas.height !== pixels[1]) [canvas.width, canvas.height] = pixels;
  [canvas.style.width, canvas.style.height] = [width + "px", height + "px"];
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}
