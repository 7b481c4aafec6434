// The greatest values along the last dimension of a slice, for each place along the others: the keys that a
// query attends to most, the likeliest next words.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "draw/select/slice.h"

namespace heed::draw {

struct Strongest {
  std::vector<std::int64_t> place;  ///< along all axes but the last
  struct Entry {
    std::int64_t index;  ///< along the last axis
    double value;
  };
  std::vector<Entry> entries;  ///< greatest first, the lower index first among equals; without NaN
};

/// Throws Error for text and for a slice without dimensions.
std::vector<Strongest> strongest(const Slice& slice, std::int64_t count);

/// "golden", or the position where the axis has no labels.
std::string name_at(const Axis& axis, std::int64_t index);

/// A line per value: the positions and labels of its place, rank, position, label and value.
class StrongestLines {
 public:
  explicit StrongestLines(std::int64_t count) : count_(count) {}
  /// Lines for `slice`, the line of names before the first. `leading` are further columns.
  std::string add(const Slice& slice, const std::vector<std::pair<std::string, std::string>>& leading = {});

 private:
  std::int64_t count_;
  bool started_ = false;
};

}  // namespace heed::draw
