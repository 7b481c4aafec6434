// The values beside the figure, as text: the selected cell, the strongest keys of its row, and sums over
// pinned words.

const LISTED = 8;

/// The largest of `values` (by size): [[index, value], ...].
function largest(values, count = LISTED) {
  return values.map((value, i) => [i, value]).filter(([, value]) => !Number.isNaN(value))
    .sort((a, b) => Math.abs(b[1]) - Math.abs(a[1])).slice(0, count);
}

function barList(entries, texts, full) {
  return element("ol", { className: "bars" }, ...entries.map(([i, value]) => {
    const bar = element("span", { className: "bar" });
    bar.style.width = `${Math.min(100, (100 * Math.abs(value)) / (full || 1))}%`;
    return element("li", {}, element("bdi", {}, texts[i]), element("span", { className: "number" }, exact(value)), bar);
  }));
}

function wordList(words, indices, axis, unpin) {
  return element("p", { className: "pins" }, ...[...indices].sort((a, b) => a - b).map((i) => element("button",
    { type: "button", title: "Unpin", onclick: () => unpin(axis, i), "aria-label": `Unpin ${words[i]}` }, element("bdi", {}, words[i]), " \u00d7")));
}

/// `shown`: {matrix, scale, pins, rowTitle, colTitle}; `place`: the selected {row, col}.
function fillPanel(panel, shown, place, unpin) {
  const { matrix, scale, pins } = shown;
  const full = Math.max(Math.abs(scale.low), Math.abs(scale.high));
  const rowTexts = textsOf(matrix.rowWords, matrix.rowLabels);
  const colTexts = textsOf(matrix.colWords, matrix.colLabels);
  // What is alike for rows and columns: a row's values belong to the columns' words.
  const sides = [
    { place: place.row, title: shown.rowTitle, texts: rowTexts, others: colTexts, valuesOf: rowValues, what: "row", axis: "rows", sumOf: sumOfRows },
    { place: place.col, title: shown.colTitle, texts: colTexts, others: rowTexts, valuesOf: colValues, what: "column", axis: "cols", sumOf: sumOfCols },
  ];
  const parts = [];
  if (place.row !== undefined && place.col !== undefined) {
    parts.push(element("h2", {}, "Cell"), element("p", { className: "cell" },
      ...arrow(rowTexts[place.row], colTexts[place.col]), element("br"),
      element("strong", { id: "cell-value" }, exact(at(matrix, place.row, place.col)))));
  }
  const side = sides.find((other) => other.place !== undefined);
  if (side) {
    parts.push(element("h2", {}, `${side.title} \u201c`, element("bdi", {}, side.texts[side.place]), "\u201d"),
      barList(largest(side.valuesOf(matrix, side.place)), side.others, full));
  }
  for (const { texts, others, what, axis, sumOf } of sides) {
    const pinned = pins[axis];
    if (!pinned.size) continue;
    const title = pinned.size > 1 ? `Sum of ${pinned.size} pinned ${what}s` : `Pinned ${what}`;
    parts.push(element("h2", {}, title), wordList(texts, pinned, axis, unpin), barList(largest(sumOf(matrix, pinned)), others, full * pinned.size));
  }
  if (pins.rows.size && pins.cols.size) {
    const sums = sumOfRows(matrix, pins.rows);
    parts.push(element("p", { id: "pinned-total" }, "Pinned rows and columns together: ", element("strong", {}, exact([...pins.cols].reduce((sum, c) => sum + sums[c], 0)))));
  }
  if (!parts.length) parts.push(element("p", { className: "hint" }, "Point at a cell or a word to see its values; click to pin it."));
  panel.replaceChildren(...parts);
}
