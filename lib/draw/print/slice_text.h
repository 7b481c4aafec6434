// Slices as TSV and JSON for other programs.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "draw/select/slice.h"

namespace heed::draw {

/// Tab-separated values after a line of column names. A matrix is a table whose first field names the row (by
/// label or position). Any other slice has one line per value: positions, labels, value. Floats read back as
/// the same float; text is escaped (printable.h: tsv_field).
std::string tsv(const Slice& slice);

/// One line of JSON: {"name", "dims", "shape", "chosen", "labels": {dim: [...]}, "values": nested arrays}.
/// NaN and infinities are null.
std::string json(const Slice& slice);

/// The sentences of a stream, one line per value. The first slice decides which dimensions have a column of
/// labels; later slices without labels have positions there.
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
