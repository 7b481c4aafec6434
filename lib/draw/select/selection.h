// Selections along named dimensions: head=3, key=2:5, layer=mean, key=golden.
#pragma once

#include <cstdint>
#include <string>

namespace heed::draw {

/// What is taken along one dimension.
struct Selection {
  enum class Kind { index, range, mean, max, all, label };
  std::string dim;  ///< name, or the number of the dimension
  Kind kind = Kind::all;
  std::int64_t first = 0;  ///< index and range; negative counts from the end
  std::int64_t last = 0;   ///< end of a range, exclusive
  bool to_end = false;     ///< the range has no end: "3:"
  std::string label = {};  ///< the label of the element
};

/// `text` is "3", "-1", "2:5", "2:", ":5", "mean", "max" or "all"; any other text is a label. A leading "="
/// makes a label of anything: "=3". Throws UsageError for an empty text.
Selection parse_selection(const std::string& dim, const std::string& text);
/// "head=3"; throws UsageError.
Selection parse_selection(const std::string& text);

}  // namespace heed::draw
