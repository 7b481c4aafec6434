// The stages of attention: what each computes, in symbols, in words and with the numbers of one query i and one
// key j, and how to compute it again from the stages before it.
//
// A context offers: get(name), the matrix of a stage or null; i, j; n, m; head, heads (counted in the tensor).

function dot(a, aRow, b, bRow) {
  let sum = 0;
  for (let c = 0; c < a.cols; ++c) sum += a.values[aRow * a.cols + c] * b.values[bRow * b.cols + c];
  return sum;
}

/// "1.20 x 0.50 + ... (32 terms)"
function terms(count, term, most = 3) {
  const shown = Array.from({ length: Math.min(count, most) }, (_, c) => term(c)).join(" + ");
  return count > most ? `${shown} + \u2026 (${count} terms)` : shown;
}

function paren(value) {
  return value < 0 ? `(${brief(value, 3)})` : brief(value, 3);
}

/// The first of these stages that the file has.
function firstOf(context, ...names) {
  return names.map((name) => context.get(name)).find((matrix) => matrix) ?? null;
}

/// The largest difference between `matrix` and computed(row, col), over what can be computed in a moment.
function difference(matrix, computed, cost = 1) {
  const step = Math.max(1, Math.ceil((matrix.rows * matrix.cols * cost) / 2e7));
  let most = 0;
  for (let r = 0; r < matrix.rows; r += step) {
    for (let c = 0; c < matrix.cols; ++c) {
      const [value, wanted] = [at(matrix, r, c), computed(r, c)];
      if (value !== wanted) most = Math.max(most, Math.abs(value - wanted));
    }
  }
  return most;
}

/// The stages that masks are put over, the last one first.
const UNMASKED = ["tempered", "biased", "capped", "scores"];

/// What the softmax reads, if the file has it: the last stage before the weights.
function softmaxInput(context) {
  return firstOf(context, "masked", ...UNMASKED);
}

/// The letter that equations give to a stage.
const LETTERS = { products: "p", scores: "s", capped: "u", biased: "b", tempered: "t", masked: "m", probabilities: "a" };

/// Whether the scores are plain products of queries and keys; other score functions have parameters of their own.
function scoresAreProducts(context) {
  const [q, k, s] = [context.get("query"), context.get("key"), firstOf(context, "products", "scores")];
  if (!q || !k || !s || q.cols !== k.cols) return false;
  // Outside of a window nothing was computed.
  const cell = s.values[context.i * s.cols + context.j] === -Infinity ? s.values.findIndex(Number.isFinite) : context.i * s.cols + context.j;
  if (cell < 0) return false;
  const wanted = dot(q, Math.floor(cell / s.cols), k, cell % s.cols);
  return Math.abs(wanted - s.values[cell]) <= 1e-3 * Math.max(1, Math.abs(wanted));
}

/// What `before` was divided by to give `after`: their ratio where `before` is largest and not masked.
function divisorOf(before, after) {
  let best = -1;
  for (let k = 0; k < before.values.length; ++k) {
    if (Number.isFinite(after.values[k]) && !(Math.abs(before.values[k]) <= Math.abs(before.values[best]))) best = k;
  }
  const ratio = before.values[best] / after.values[best];
  return Math.abs(ratio - 1) < 1e-5 || !Number.isFinite(ratio) ? 1 : ratio;
}

/// What the temperature divides, and the temperature.
const untempered = (context) => firstOf(context, ...UNMASKED.slice(1));
const temperature = (context) => divisorOf(untempered(context), context.get("tempered"));

function divisor(context) {
  context.divisor ??= divisorOf(context.get("products"), context.get("scores"));
  return context.divisor;
}

function rootText(context, ratio) {
  const width = context.get("query")?.cols;
  return width && Math.abs(Math.sqrt(width) / ratio - 1) < 1e-4 ? `\u221a${width} = ${brief(ratio, 4)}` : brief(ratio, 4);
}

/// e^x of a row with its largest value taken off, and their sum.
function exponentials(matrix, row) {
  const values = rowValues(matrix, row);
  const most = values.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = values.map((value) => (most === -Infinity ? 0 : Math.exp(value - most)));
  return { most, powers, sum: powers.reduce((a, b) => a + b, 0) };
}

function softmaxDifference(before, weights) {
  let row = -1;
  let e;
  return difference(weights, (r, c) => {
    if (r !== row) e = exponentials(before, r), row = r;
    return e.sum ? e.powers[c] / e.sum : 0;
  });
}

const isHard = (weights) => weights.values.every((w) => w === 0 || w === 1);

/// The stage that is a softmax, or that was made from one.
function softmaxStage(name, letter) {
  const made = (c) => (name === "weights" ? c.get("probabilities") : null);
  return {
    formula: (c) => {
      const from = LETTERS[softmaxInput(c)?.name] ?? "m";
      if (made(c)) return "w_{ij} = a_{ij} f_{ij}";
      return isHard(c.get(name)) ? `${letter}_{ij} = 1 where ${from}_{ij} is largest, else 0` : `${letter}_{ij} = e^{${from}_{ij}} / \u03a3_{j\u2032} e^{${from}_{ij\u2032}}`;
    },
    text: (c) => {
      if (made(c)) return "The softmax is changed once more: bent towards a place, or down to one key.";
      return isHard(c.get(name)) ? "Each query takes the one key with the largest score." : "The softmax turns each row into shares that sum to 1.";
    },
    numbers: (c) => {
      const value = exact(at(c.get(name), c.i, c.j));
      const soft = made(c);
      if (soft) return [`w_{ij} = ${brief(at(soft, c.i, c.j), 6)} \u00d7 ${brief(at(c.get(name), c.i, c.j) / at(soft, c.i, c.j), 6)} = ${value}`];
      const before = softmaxInput(c);
      if (!before || isHard(c.get(name))) return [`${letter}_{ij} = ${value}`];
      const { most, powers, sum } = exponentials(before, c.i);
      const taken = `(${brief(most, 4)}, the largest of the row, is taken off, which changes no weight)`;
      return [`e^{${brief(at(before, c.i, c.j), 4)} \u2212 ${paren(most)}} = ${brief(powers[c.j], 6)} ${taken}`,
        `\u03a3_{j\u2032} = ${brief(sum, 6)}`, `${letter}_{ij} = ${brief(powers[c.j], 6)} / ${brief(sum, 6)} = ${value}`];
    },
    again: (c) => {
      const before = softmaxInput(c);
      return before && !made(c) && !isHard(c.get(name)) && softmaxDifference(before, c.get(name));
    },
  };
}

/// The numbers of a stage that may be products of queries and keys, and the stage computed again.
function productNumbers(c, name, letter) {
  const [q, k, value] = [c.get("query"), c.get("key"), at(c.get(name), c.i, c.j)];
  if (!scoresAreProducts(c) || value === -Infinity) return [`${letter}_{ij} = ${exact(value)}`];
  return [`${letter}_{ij} = ${terms(q.cols, (d) => `${paren(at(q, c.i, d))} \u00d7 ${paren(at(k, c.j, d))}`)} = ${exact(value)}`];
}
function productsAgain(c, name) {
  const product = (r, j) => (at(c.get(name), r, j) === -Infinity ? -Infinity : dot(c.get("query"), r, c.get("key"), j));
  return scoresAreProducts(c) && difference(c.get(name), product, c.get("key").cols);
}

/// A stage that is one vector per row: of the query i, or of the key j.
function vectorNumbers(name, letter, place) {
  return (c) => [`${letter}_${place} = [${terms(c.get(name).cols, (k) => brief(at(c.get(name), c[place], k), 3), 6).replaceAll(" + ", ", ")}]`];
}

/// A vector that the layer projects from its input x.
function projection(name, title, letter, place, text) {
  return {
    name, title, formula: (c) => (c.projected ? `${letter}_${place} = x_${place} W^${letter.toUpperCase()}` : `${letter}_${place}`),
    text: () => text, numbers: vectorNumbers(name, letter, place),
  };
}

/// A stage that changes a score, of which only the result is shown.
const cellNumber = (name, letter) => (c) => [`${letter}_{ij} = ${exact(at(c.get(name), c.i, c.j))}`];

/// In the order of the computation. `uses`: the stages shown beside the result; `strip`: of these, only row i.
const STAGES = [
  projection("query", "Queries", "q", "i", "Every attending word has a query vector in each head: what it searches for."),
  projection("key", "Keys", "k", "j", "Every word that can be attended to has a key vector, which queries are compared with."),
  {
    name: "products", title: "Products", uses: ["query", "key"], strip: ["query"],
    formula: () => "p_{ij} = q_i \u00b7 k_j = \u03a3_c q_{ic} k_{jc}",
    text: () => "The product of a query and a key is large when their vectors point the same way.",
    numbers: (c) => productNumbers(c, "products", "p"),
    again: (c) => productsAgain(c, "products"),
  },
  {
    name: "scores", title: "Scores", uses: ["products|query", "products|key"], strip: ["query"],
    formula: (c) => (c.get("products") ? (divisor(c) === 1 ? "s_{ij} = p_{ij}" : "s_{ij} = p_{ij} / \u221ad_k")
      : scoresAreProducts(c) || !c.get("query") ? "s_{ij} = q_i \u00b7 k_j = \u03a3_c q_{ic} k_{jc}" : "s_{ij} = score(q_i, k_j)"),
    text: (c) => (c.get("products")
      ? "Long vectors make large products, so the products are divided by the root of the vectors' length."
      : scoresAreProducts(c) || !c.get("query")
        ? "The score of a query and a key is the product of their vectors: large when they point the same way."
        : "The score of a query and a key comes from a function with parameters of its own, not from a plain product."),
    numbers: (c) => (c.get("products")
      ? [`s_{ij} = ${brief(at(c.get("products"), c.i, c.j), 4)} / ${rootText(c, divisor(c))} = ${exact(at(c.get("scores"), c.i, c.j))}`]
      : productNumbers(c, "scores", "s")),
    again: (c) => (c.get("products") ? difference(c.get("scores"), (r, j) => at(c.get("products"), r, j) / divisor(c)) : productsAgain(c, "scores")),
  },
  {
    name: "capped", title: "Capped", uses: ["scores"], formula: () => "u_{ij} = c tanh(s_{ij} / c)",
    text: () => "Large scores are bent so that they stay between \u2212c and c.",
    numbers: cellNumber("capped", "u"),
  },
  {
    name: "biased", title: "Biased", uses: ["capped|scores"], formula: (c) => `b_{ij} = ${LETTERS[firstOf(c, "capped", "scores")?.name] ?? "s"}_{ij} + bias_{ij}`,
    text: () => "A bias is added that knows only the places of the two words, or that came with the input.",
    numbers: (c) => {
      const before = firstOf(c, "capped", "scores");
      const value = at(c.get("biased"), c.i, c.j);
      if (!before || value === -Infinity) return [`b_{ij} = ${exact(value)}`];
      return [`b_{ij} = ${brief(at(before, c.i, c.j), 4)} + ${paren(value - at(before, c.i, c.j))} = ${exact(value)}`];
    },
  },
  {
    name: "tempered", title: "Tempered", uses: ["biased|capped|scores"],
    formula: (c) => `t_{ij} = ${LETTERS[untempered(c)?.name] ?? "s"}_{ij} / \u03c4`,
    text: (c) => `The scores are divided by the temperature${untempered(c) ? ` \u03c4 = ${brief(temperature(c), 4)}` : ""}: below 1 the weights become sharper, above 1 more even.`,
    numbers: (c) => {
      const from = untempered(c) ? `${brief(at(untempered(c), c.i, c.j), 4)} / ${brief(temperature(c), 4)} = ` : "";
      return [`t_{ij} = ${from}${exact(at(c.get("tempered"), c.i, c.j))}`];
    },
    again: (c) => untempered(c) && difference(c.get("tempered"), (r, j) => at(untempered(c), r, j) / temperature(c)),
  },
  {
    name: "masked", title: "Masked", uses: ["tempered|biased|capped|scores"],
    formula: (c) => {
      const before = firstOf(c, ...UNMASKED);
      const divided = before && divisorOf(before, c.get("masked")) !== 1 ? " / \u03c4" : "";
      return `m_{ij} = ${LETTERS[before?.name] ?? "s"}_{ij}${divided} where i may attend to j, else \u2212\u221e`;
    },
    text: (c) => {
      const closed = c.get("masked").values.reduce((count, value) => count + (value === -Infinity ? 1 : 0), 0);
      const before = firstOf(c, ...UNMASKED);
      const tau = before ? divisorOf(before, c.get("masked")) : 1;
      const cooled = tau === 1 ? "" : `The scores are divided by the temperature \u03c4 = ${brief(tau, 4)}. `;
      return cooled + (closed ? `${closed} of ${c.n * c.m} cells are masked (gray): their score becomes minus infinity, so their weight becomes 0.` : "No cell is masked: every query may attend to every key.");
    },
    numbers: cellNumber("masked", "m"),
    again: (c) => {
      const [before, after] = [firstOf(c, ...UNMASKED), c.get("masked")];
      const tau = before && divisorOf(before, after);
      return before && difference(after, (r, j) => (at(after, r, j) === -Infinity ? -Infinity : at(before, r, j) / tau));
    },
  },
  {
    name: "probabilities", title: "Softmax", uses: ["masked|tempered|biased|capped|scores"], ...softmaxStage("probabilities", "a"),
  },
  {
    name: "position", title: "Position", formula: () => "p_i", text: () => "Each query predicts the position around which it attends.",
    numbers: (c) => [`p_i = ${exact(at(c.get("position"), 0, c.i))}`],
  },
  {
    name: "weights", title: "Weights", uses: ["probabilities|masked|tempered|biased|capped|scores"], ...softmaxStage("weights", "w"),
  },
  projection("value", "Values", "v", "j", "Every word that can be attended to has a value vector: what it contributes to the context."),
  {
    name: "weighted_values", title: "Weighted values", uses: ["weights", "value"], strip: ["weights"],
    formula: () => "w_{ij} v_j",
    text: () => "Each value vector is multiplied by the weight it got from the query: one row for each key.",
    numbers: (c) => {
      const [w, v, x] = [c.get("weights"), c.get("value"), c.get("weighted_values")];
      return v ? [`w_{ij} v_{j0} = ${brief(at(w, c.i, c.j), 6)} \u00d7 ${paren(at(v, c.j, 0))} = ${exact(at(x, c.j, 0))}`] : [];
    },
  },
  {
    name: "head_context", title: "Context of the head", uses: ["weighted_values"],
    formula: () => "c_i = \u03a3_j w_{ij} v_j",
    text: () => "The weighted values are added up: what the query takes away from this head.",
    numbers: (c) => {
      const x = c.get("weighted_values");
      const value = exact(at(c.get("head_context"), c.i, 0));
      return [x ? `c_{i0} = ${terms(x.rows, (j) => paren(at(x, j, 0)), 5)} = ${value}` : `c_{i0} = ${value}`];
    },
    again: (c) => c.get("value") && difference(c.get("head_context"), (r, d) => {
      let sum = 0;
      for (let j = 0; j < c.m; ++j) sum += at(c.get("weights"), r, j) * at(c.get("value"), j, d);
      return sum;
    }, c.m),
  },
  {
    name: "context", title: "Context", uses: ["head_context"],
    formula: () => "c_i = [head_0 ; head_1 ; \u2026]",
    text: (c) => (c.heads > 1 ? `The contexts of the ${c.heads} heads side by side; this head's are columns ${c.head * c.get("context").cols / c.heads} to ${(c.head + 1) * c.get("context").cols / c.heads - 1}.` : "With one head, its context is the context."),
    numbers: vectorNumbers("context", "c", "i"),
    again: (c) => {
      const [head, all] = [c.get("head_context"), c.get("context")];
      return head && head.cols * c.heads === all.cols && difference(head, (r, d) => at(all, r, c.head * head.cols + d));
    },
  },
  {
    name: "output", title: "Output", uses: ["context"],
    formula: () => "y_i = c_i W^O + b^O",
    text: () => "The heads are mixed by the output matrix; this is what the layer passes on.",
    numbers: vectorNumbers("output", "y", "i"),
  },
];

/// What the file calls otherwise than STAGES: `query` and `key` are names of its dimensions.
const SYNONYMS = { query: ["query_vector"], key: ["key_vector"], value: ["value_vector"] };

/// A stage without a description of its own.
function plainStage(name, quantity) {
  const title = name.replaceAll("_", " ");
  return { name, title: title[0].toUpperCase() + title.slice(1), formula: () => "", text: () => quantity ?? "", numbers: () => [] };
}

/// A formula as elements: letters in italics, a_b and a_{bc} below the line, a^b and a^{bc} above it.
function formulaElement(text, longestName = 1) {
  const span = element("span", { className: "formula" });
  const parts = text.match(/[_^]\{(?:[^{}]|\{[^{}]*\})*\}|[_^].|[A-Za-z\u03b1-\u03c9]+|[^A-Za-z_^\u03b1-\u03c9]+/gu) ?? [];
  for (const part of parts) {
    if (/^[_^]/.test(part)) {
      const inside = formulaElement(part[1] === "{" ? part.slice(2, -1) : part.slice(1), 2);
      span.append(element(part[0] === "_" ? "sub" : "sup", {}, ...inside.childNodes));
    } else if (/^[A-Za-z\u03b1-\u03c9]+$/.test(part) && part.length <= longestName) {
      span.append(element("i", {}, part));
    } else {
      span.append(part);
    }
  }
  return span;
}
