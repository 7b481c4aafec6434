// Statistics and histograms of values, and the largest values: the keys that a query attends to most, the
// most likely next words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "draw/select/slice.h"
#include "draw/select/value_range.h"

namespace heed::draw {

struct Statistics {
  std::int64_t count = 0, nan = 0, infinite = 0, zero = 0;
  // Over the finite values; NaN if there are none. Quantiles are interpolated as in numpy.quantile.
  double mean = 0, deviation = 0, norm = 0;  ///< deviation: of the population; norm: L2
  double min = 0, lower_quartile = 0, median = 0, upper_quartile = 0, max = 0;
};

Statistics statistics(std::vector<double> values);
/// A line "name <tab> value" each, after a line of names.
std::string statistics_tsv(const Statistics& statistics);
/// As one JSON object; NaN is null.
std::string statistics_json(const Statistics& statistics);

struct Histogram {
  Range range;
  std::vector<std::int64_t> counts;  ///< bins of equal width; the last includes its upper edge
  double edge(std::size_t bin) const;
};

/// Counts the finite values in `range` (empty: from the smallest to the largest of them). Throws Error if
/// there is none.
Histogram histogram(const std::vector<double>& values, std::int64_t bins, const std::optional<Range>& range);
/// Lines "low <tab> high <tab> count" after a line of names.
std::string histogram_tsv(const Histogram& histogram);

/// The largest values along the last dimension of a slice at one position along the others.
struct Strongest {
  std::vector<std::int64_t> at;  ///< along all axes but the last
  struct Entry {
    std::int64_t index;  ///< along the last axis
    double value;
  };
  std::vector<Entry> entries;  ///< largest first, ties by the lower index; without NaN
};

/// Throws Error for text and for a slice without dimensions.
std::vector<Strongest> strongest(const Slice& slice, std::int64_t count);

}  // namespace heed::draw
