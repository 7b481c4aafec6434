// The data of the page: one JSON (page_data.h describes it) and blocks of base64.

const DATA = JSON.parse(document.getElementById("data").textContent);
const blocks = new Map();

/// The float32 values of a block, decoded when first asked for.
function blockValues(number) {
  if (!blocks.has(number)) {
    const element = document.getElementById("block-" + number);
    const text = atob(element.textContent);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
    blocks.set(number, new Float32Array(bytes.buffer));
    element.remove();
  }
  return blocks.get(number);
}

function tensorOf(item, name) {
  return item.tensors.find((tensor) => tensor.name === name);
}

/// The names of the dimensions that of the layer and head selectors: [layer, head], either may be null.
function leadDims(group, item) {
  const lead = tensorOf(item, group.main).dims.slice(0, -2);
  if (lead.length === 2) return lead;
  return lead[0] === "layer" ? ["layer", null] : [null, lead[0] ?? null];
}

/// How many elements the main tensor has along `dim`, and the position of its first one: [count, first].
function extentOf(group, item, dim) {
  const tensor = tensorOf(item, group.main);
  const axis = tensor.dims.indexOf(dim);
  return axis < 0 ? [1, 0] : [tensor.shape[axis], tensor.first[axis]];
}

function labelsOf(item, dim, first, count) {
  const labels = item.labels[dim];
  return labels ? labels : Array.from({ length: count }, (_, i) => String(first + i));
}

/// One matrix of a tensor: {name, values, rows, cols, rowDim, colDim, rowFirst, colFirst, rowLabels, colLabels}.
/// `choice` says for each leading dimension an index, "mean" or "max"; a dimension it leaves out is taken at 0.
function matrixOf(item, name, choice) {
  const tensor = tensorOf(item, name);
  let { dims, shape, first } = tensor;
  const before = dims[dims.length - 2];
  if (before !== "query" && before in choice) {  // a vector for each layer or head: a matrix of one row
    dims = [...dims.slice(0, -1), "", ...dims.slice(-1)];
    shape = [...shape.slice(0, -1), 1, ...shape.slice(-1)];
    first = [...first.slice(0, -1), 0, ...first.slice(-1)];
  }
  const rank = dims.length;
  const rows = rank > 1 ? shape[rank - 2] : 1;
  const cols = rank > 0 ? shape[rank - 1] : 1;
  const matrix = {
    name, rows, cols, tensor,
    rowDim: rank > 1 ? dims[rank - 2] : "", colDim: rank > 0 ? dims[rank - 1] : "",
    rowFirst: rank > 1 ? first[rank - 2] : 0, colFirst: rank > 0 ? first[rank - 1] : 0,
  };
  matrix.rowLabels = matrix.rowDim ? labelsOf(item, matrix.rowDim, matrix.rowFirst, rows) : [""];
  matrix.colLabels = labelsOf(item, matrix.colDim, matrix.colFirst, cols);
  matrix.values = collapse(blockValues(tensor.block), dims.slice(0, -2), shape.slice(0, -2), rows * cols, choice);
  return matrix;
}

function at(matrix, row, col) {
  return matrix.values[row * matrix.cols + col];
}

/// `values` [leading dimensions..., size] brought down to one block of `size`, dimension by dimension.
function collapse(values, dims, shape, size, choice) {
  if (dims.length === 0) return values.subarray(0, size);
  const inner = shape.slice(1).reduce((a, b) => a * b, size);
  const part = (i) => collapse(values.subarray(i * inner, (i + 1) * inner), dims.slice(1), shape.slice(1), size, choice);
  const wanted = choice[dims[0]] ?? 0;
  if (wanted !== "mean" && wanted !== "max") return part(Math.min(wanted, shape[0] - 1));
  const result = new Float64Array(size).fill(wanted === "max" ? -Infinity : 0);
  for (let i = 0; i < shape[0]; ++i) {
    const block = part(i);
    for (let k = 0; k < size; ++k) {
      result[k] = wanted === "max" ? Math.max(result[k], block[k]) : result[k] + block[k] / shape[0];
    }
  }
  return result;
}
