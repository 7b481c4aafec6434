#include "draw/select/strongest.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "draw/print/printable.h"
#include "draw/select/values.h"

namespace heed::draw {

std::vector<Strongest> strongest(const Slice& slice, std::int64_t count) {
  if (slice.axes.empty())
    fail("/", escaped(slice.name), ": one value is left: there is nothing to choose from");
  if (slice.values.dtype() == DType::string) fail("/", escaped(slice.name), " holds text, wanted numbers");
  const std::vector<double> values = numbers(slice.values);
  const Shape& shape = slice.values.shape();
  const std::int64_t width = shape.back();
  std::vector<Strongest> rows;
  std::vector<std::int64_t> order(static_cast<std::size_t>(width));
  for (std::int64_t row = 0; width > 0 && row < std::ssize(values) / width; ++row) {
    const double* start = values.data() + row * width;
    std::iota(order.begin(), order.end(), 0);
    const auto better = [&](std::int64_t a, std::int64_t b) {
      if (std::isnan(start[a]) || std::isnan(start[b])) return !std::isnan(start[a]) && std::isnan(start[b]);
      return start[a] != start[b] ? start[a] > start[b] : a < b;
    };
    const auto end = order.begin() + std::min(count, width);
    std::partial_sort(order.begin(), end, order.end(), better);
    Strongest& found = rows.emplace_back();
    std::int64_t rest = row;
    for (std::size_t axis = shape.size() - 1; axis-- > 0; rest /= shape[axis]) {
      found.place.insert(found.place.begin(), rest % shape[axis]);
    }
    for (auto index = order.begin(); index != end; ++index) {
      if (!std::isnan(start[*index])) found.entries.push_back({*index, start[*index]});
    }
  }
  return rows;
}

std::string name_at(const Axis& axis, std::int64_t index) {
  return axis.labels.empty() ? std::to_string(axis.first + index)
                             : axis.labels[static_cast<std::size_t>(index)];
}

std::string StrongestLines::add(const Slice& slice,
                                const std::vector<std::pair<std::string, std::string>>& leading) {
  std::string out, start;
  for (const auto& [name, value] : leading) start += tsv_field(value) + "\t";
  if (!started_) {
    started_ = true;
    for (const auto& [name, value] : leading) out += tsv_field(name) + "\t";
    for (const auto& axis : slice.axes) {
      const std::string name = tsv_field(axis.name);
      out += concat(&axis == &slice.axes.back() ? "rank\t" : "", name, "\t", name, "_label\t");
    }
    out += "value\n";
  }
  for (const Strongest& row : strongest(slice, count_)) {
    std::string line = start;
    for (std::size_t a = 0; a < row.place.size(); ++a) {
      line += concat(slice.axes[a].first + row.place[a], "\t",
                     tsv_field(name_at(slice.axes[a], row.place[a])), "\t");
    }
    const Axis& last = slice.axes.back();
    for (std::size_t rank = 0; rank < row.entries.size(); ++rank) {
      const auto [index, value] = row.entries[rank];
      out += concat(
          line, rank, "\t", last.first + index, "\t", tsv_field(name_at(last, index)), "\t",
          slice.values.dtype() == DType::f32 ? shortest(static_cast<float>(value)) : shortest(value), "\n");
    }
  }
  return out;
}

}  // namespace heed::draw
