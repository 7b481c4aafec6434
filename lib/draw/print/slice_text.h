// A slice as text for other programs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "draw/select/slice.h"

namespace heed::draw {

/// Tab-separated. A matrix is a table: the first line names the columns, the first field of each further line
/// its row (by label, or by position). Any other slice has one line per value: its positions, its labels, the
/// value, after a line of names. Floats have the digits that bring back the same float; text is escaped
/// (labels.h: tsv_field).
std::string tsv(const Slice& slice);

/// One line of JSON: {"name", "dims", "shape", "chosen", "labels": {dim: [...]}, "values": nested arrays}.
/// NaN and infinities, which JSON cannot say, are null.
std::string json(const Slice& slice);

/// Slices that follow each other, one line per value: the sentences of a stream. The first slice decides
/// which dimensions have a column of labels; a later one without labels repeats its positions there.
class TsvLines {
 public:
  /// Lines for `slice`, the line of names before the first. `leading` are the names and values of further
  /// columns.
  std::string add(const Slice& slice, const std::vector<std::pair<std::string, std::string>>& leading = {});

 private:
  bool started_ = false;
  std::vector<bool> labelled_;
};

}  // namespace heed::draw
