// Numbers as text and as colours.

/// A value with the fewest digits that tell it from its neighbours (float32), or seven (a mean or sum).
function exact(value) {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value < 0 ? "\u2212\u221e" : "\u221e";
  const isFloat = Math.fround(value) === value;
  for (let digits = 6; isFloat && digits < 9; ++digits) {
    if (Math.fround(Number(value.toPrecision(digits))) === value) return minus(Number(value.toPrecision(digits)));
  }
  return minus(Number(value.toPrecision(isFloat ? 9 : 7)));
}

/// A value for a cell or an equation: few digits.
function brief(value, digits = 2) {
  if (!Number.isFinite(value)) return exact(value);
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e5 || size < 0.5 * 10 ** -digits)) {
    return digits < 3 && size < 1 ? minus(0) : minus(value.toExponential(digits > 2 ? 2 : 0));
  }
  return minus(size >= 100 ? value.toFixed(Math.max(0, digits - 2)) : value.toFixed(digits));
}

function minus(number) {
  return String(number).replace(/-/g, "\u2212");
}

/// About five round values between low and high.
function ticksOf(low, high) {
  const rough = (high - low) / 5;
  if (!(rough > 0)) return [low];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) * power;
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-6); i * step <= high + step * 1e-6; ++i) ticks.push(Number((i * step).toPrecision(9)));
  return ticks;
}

/// A colour scale: {low, high, colors: 256 x [r, g, b], missing}.
function makeScale(name, [low, high]) {
  const chosen = name !== "auto" ? name : low < 0 && high > 0 ? "blue-red" : "viridis";
  const table = DATA.colormaps[chosen];
  const colors = Array.from({ length: 256 }, (_, i) =>
    [0, 2, 4].map((at) => parseInt(table.slice(i * 6 + at, i * 6 + at + 2), 16)));
  return { low, high, colors };
}

/// Which of the 256 colours; -1 for NaN and for minus infinity, which marks a masked cell.
function colorIndex(scale, value) {
  if (Number.isNaN(value) || value === -Infinity) return -1;
  const width = scale.high - scale.low;
  const place = width > 0 ? (value - scale.low) / width : 0.5;
  return Math.round(255 * Math.min(1, Math.max(0, place)));
}

const MISSING = [213, 213, 213];  // as Colormap::missing

function colorOf(scale, value) {
  const index = colorIndex(scale, value);
  return index < 0 ? MISSING : scale.colors[index];
}

function css([r, g, b]) {
  return `rgb(${r},${g},${b})`;
}

/// Black or white, whichever can be read on the colour.
function inkOn([r, g, b]) {
  const linear = (channel) => (channel / 255) ** 2.2;
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) > 0.3 ? "#000" : "#fff";
}

/// The least and greatest finite value, around 0 when both signs occur, from 0 when all are probabilities.
function ownRange(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low && value > -Infinity) low = value;
    if (value > high && value < Infinity) high = value;
  }
  if (low > high) return [0, 1];
  if (low < 0 && high > 0) return [-Math.max(-low, high), Math.max(-low, high)];
  if (low >= 0 && high <= 1) return [0, high || 1];
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}

function within(value, low, high) {
  return Math.max(low, Math.min(high, value));
}
