// Slices in formats for other programs: TSV, JSON, NumPy arrays.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
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

/// The bytes of an .npy file for numpy.load (format NPY 1.0): C order, little-endian, the tensor's own type;
/// text as NumPy's fixed-width Unicode (<U), in which invalid bytes become U+FFFD. No pickle is needed to
/// read it.
std::string npy(const Tensor& tensor);

/// The sentences of a stream, one line per value: positions, labels, value. The first slice decides which
/// dimensions have a column of labels; later slices without labels have positions there.
class TsvLines {
 public:
  /// Lines for `slice`, the line of names before the first; with a first column `sentence` when it has one.
  std::string add(const Slice& slice, std::optional<std::int64_t> sentence = std::nullopt);

 private:
  bool started_ = false;
  std::vector<bool> labelled_;
};

/// Lines of the `count` largest values along the last dimension: positions and labels along the others, place
/// among them (0: the largest; rank is a dimension of n-best lists), position, label and value.
class StrongestLines {
 public:
  explicit StrongestLines(std::int64_t count) : count_(count) {}
  std::string add(const Slice& slice, std::optional<std::int64_t> sentence = std::nullopt);

 private:
  std::int64_t count_;
  bool started_ = false;
};

}  // namespace heed::draw
