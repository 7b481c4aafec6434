#include "draw/select/statistics.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/error.h"
#include "draw/print/printable.h"

namespace heed::draw {
namespace {

using Field = std::pair<const char*, double>;

/// A quantile of sorted values, interpolated linearly.
double quantile(const std::vector<double>& sorted, double share) {
  if (sorted.empty()) return NAN;
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double part = place - static_cast<double>(below);
  const double upper = sorted[std::min(below + 1, sorted.size() - 1)];
  return sorted[below] + (upper - sorted[below]) * part;
}

std::vector<Field> fields_of(const Statistics& s) {
  return {{"count", static_cast<double>(s.count)},
          {"nan", static_cast<double>(s.nan)},
          {"infinite", static_cast<double>(s.infinite)},
          {"zero", static_cast<double>(s.zero)},
          {"mean", s.mean},
          {"deviation", s.deviation},
          {"norm", s.norm},
          {"min", s.min},
          {"lower_quartile", s.lower_quartile},
          {"median", s.median},
          {"upper_quartile", s.upper_quartile},
          {"max", s.max}};
}

/// All finite values lie in it.
Range extent(const std::vector<double>& values) {
  const Range range = Range::around(values);
  if (range.low > range.high) fail("there is no finite value to count");
  return range.low == range.high ? Range{range.low - 0.5, range.high + 0.5} : range;
}

}  // namespace

Statistics statistics(std::vector<double> values) {
  Statistics s;
  s.count = std::ssize(values);
  s.nan = std::count_if(values.begin(), values.end(), [](double v) { return std::isnan(v); });
  s.infinite = std::count_if(values.begin(), values.end(), [](double v) { return std::isinf(v); });
  s.zero = std::count(values.begin(), values.end(), 0.0);
  std::erase_if(values, [](double v) { return !std::isfinite(v); });
  std::sort(values.begin(), values.end());
  const auto n = static_cast<double>(values.size());
  double sum = 0, squares = 0, around_mean = 0;
  for (double v : values) {
    sum += v;
    squares += v * v;
  }
  s.mean = values.empty() ? NAN : sum / n;
  for (double v : values) around_mean += (v - s.mean) * (v - s.mean);
  s.deviation = values.empty() ? NAN : std::sqrt(around_mean / n);
  s.norm = std::sqrt(squares);
  s.min = quantile(values, 0);
  s.lower_quartile = quantile(values, 0.25);
  s.median = quantile(values, 0.5);
  s.upper_quartile = quantile(values, 0.75);
  s.max = quantile(values, 1);
  return s;
}

std::string statistics_tsv(const Statistics& statistics) {
  std::string out = "statistic\tvalue\n";
  for (const auto& [name, value] : fields_of(statistics)) out += concat(name, "\t", shortest(value), "\n");
  return out;
}

std::string statistics_json(const Statistics& statistics) {
  nlohmann::ordered_json object;
  for (const auto& [name, value] : fields_of(statistics)) object[name] = value;  // NaN becomes null
  return object.dump() + "\n";
}

double Histogram::edge(std::size_t bin) const {
  const auto bins = static_cast<double>(counts.size());
  return bin == counts.size() ? range.high
                              : range.low + (range.high - range.low) * static_cast<double>(bin) / bins;
}

Histogram histogram(const std::vector<double>& values, std::int64_t bins, const std::optional<Range>& range) {
  Histogram histogram{range ? *range : extent(values),
                      std::vector<std::int64_t>(static_cast<std::size_t>(bins))};
  const auto last = histogram.counts.size() - 1;
  for (double value : values) {
    if (!(value >= histogram.range.low && value <= histogram.range.high)) continue;
    const double place = histogram.range.position(value) * static_cast<double>(bins);
    std::size_t bin = std::min(static_cast<std::size_t>(place), last);
    // The edges, not the rounding of the quotient, decide where a value belongs.
    if (bin > 0 && value < histogram.edge(bin)) --bin;
    if (bin < last && value >= histogram.edge(bin + 1)) ++bin;
    ++histogram.counts[bin];
  }
  return histogram;
}

std::string histogram_tsv(const Histogram& histogram) {
  std::string out = "low\thigh\tcount\n";
  for (std::size_t bin = 0; bin < histogram.counts.size(); ++bin) {
    out += concat(shortest(histogram.edge(bin)), "\t", shortest(histogram.edge(bin + 1)), "\t",
                  histogram.counts[bin], "\n");
  }
  return out;
}

std::vector<Strongest> strongest(const Slice& slice, std::int64_t count) {
  if (slice.axes.empty())
    fail("/", escaped(slice.name), ": one value is left: there is nothing to choose from");
  const std::vector<double> values = numbers(slice);
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
      found.at.insert(found.at.begin(), rest % shape[axis]);
    }
    for (auto index = order.begin(); index != end; ++index) {
      if (!std::isnan(start[*index])) found.entries.push_back({*index, start[*index]});
    }
  }
  return rows;
}

}  // namespace heed::draw
