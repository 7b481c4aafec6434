#include "models/foreign/mapping.h"

#include <algorithm>

#include "base/error.h"

namespace heed::foreign {
namespace {

constexpr std::int64_t kTile = 32;

/// The source as a matrix.
struct Seen {
  std::int64_t rows, cols;
};

Seen seen(const Shape& shape) {
  const std::int64_t count = element_count(shape);
  if (shape.size() < 2) return {1, count};
  return {shape[0], shape[0] == 0 ? 0 : count / shape[0]};
}

/// Calls visit(at, row, col) for each value of the parameter that is in these rows of the source, at that place
/// of the source.
template <class Visit>
void for_each_value(const Mapping& mapping, std::int64_t cols, Slice rows, const Visit& visit) {
  const Seen source = seen(mapping.shape);
  if (mapping.slices.empty() && !mapping.transposed) {
    const std::int64_t begin = rows.begin * source.cols, end = rows.end * source.cols;
    for (std::int64_t at = begin, i = begin / cols, j = begin % cols; at < end; ++i, j = 0)
      for (; j < cols && at < end; ++j, ++at) visit(at, i, j);
    return;
  }
  std::vector<Slice> slices = mapping.slices;
  if (slices.empty()) slices = {{0, mapping.axis == 0 ? source.rows : source.cols}};
  std::int64_t before = 0;  // values of the axis in earlier slices
  for (const Slice& slice : slices) {
    const std::int64_t first_row = mapping.axis == 0 ? slice.begin : 0,
                       last_row = std::min(mapping.axis == 0 ? slice.end : source.rows, rows.end),
                       first_col = mapping.axis == 1 ? slice.begin : 0,
                       last_col = mapping.axis == 1 ? slice.end : source.cols;
    // By tiles, so that a transpose reads and writes within the cache.
    for (std::int64_t top = std::max(first_row, rows.begin); top < last_row; top += kTile) {
      for (std::int64_t left = first_col; left < last_col; left += kTile) {
        for (std::int64_t r = top; r < std::min(top + kTile, last_row); ++r) {
          for (std::int64_t c = left; c < std::min(left + kTile, last_col); ++c) {
            const std::int64_t row = r - first_row + (mapping.axis == 0 ? before : 0),
                               col = c - first_col + (mapping.axis == 1 ? before : 0);
            visit(r * source.cols + c, mapping.transposed ? col : row, mapping.transposed ? row : col);
          }
        }
      }
    }
    before += slice.end - slice.begin;
  }
}

}  // namespace

std::string Mapping::transform() const {
  if (slices.empty()) return transposed ? "transposed" : "as is";
  std::string text = axis == 0 ? "rows" : "columns";
  for (const Slice& slice : slices) text += concat(' ', slice.begin, ':', slice.end);
  return transposed ? text + ", transposed" : text;
}

void Mapping::fill(std::span<const float> values, std::int64_t first_row, Matrix<float> parameter) const {
  const std::int64_t cols = seen(shape).cols, before = first_row * cols;
  if (cols == 0) return;
  const Slice rows{first_row, first_row + std::ssize(values) / cols};
  for_each_value(*this, parameter.cols, rows, [&](std::int64_t at, std::int64_t i, std::int64_t j) {
    parameter(i, j) = values[static_cast<std::size_t>(at - before)];
  });
}

void Mapping::put_back(Matrix<const float> parameter, std::span<float> source) const {
  for_each_value(*this, parameter.cols, {0, seen(shape).rows},
                 [&](std::int64_t at, std::int64_t i, std::int64_t j) {
                   source[static_cast<std::size_t>(at)] = parameter(i, j);
                 });
}

void Mappings::same(const std::string& source, Shape shape, const std::string& parameter) {
  add({source, std::move(shape), parameter, false, 0, {}});
}

void Mappings::transposed(const std::string& source, Shape shape, const std::string& parameter) {
  add({source, std::move(shape), parameter, true, 0, {}});
}

void Mappings::linear(const std::string& source, const std::string& scope, std::int64_t d_in,
                      std::int64_t d_out, bool bias) {
  transposed(source + ".weight", {d_out, d_in}, scope + "/weight");
  if (bias) same(source + ".bias", {d_out}, scope + "/bias");
}

void Mappings::stacked(const std::string& source, std::int64_t d_in, const std::string& scope,
                       const std::vector<std::pair<const char*, std::int64_t>>& parts, bool bias) {
  std::int64_t rows = 0, first = 0;
  for (const auto& [name, d_out] : parts) rows += d_out;
  for (const auto& [name, d_out] : parts) {
    const std::vector<Slice> slice{{first, first + d_out}};
    add({source + ".weight", {rows, d_in}, concat(scope, name, "/weight"), true, 0, slice});
    if (bias) add({source + ".bias", {rows}, concat(scope, name, "/bias"), false, 1, slice});
    first += d_out;
  }
}

void Mappings::norm(const std::string& source, const std::string& scope, std::int64_t d, bool beta) {
  same(source + ".weight", {d}, scope + "/gamma");
  if (beta) same(source + ".bias", {d}, scope + "/beta");
}

}  // namespace heed::foreign
