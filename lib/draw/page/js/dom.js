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
