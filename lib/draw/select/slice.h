// Slices of a tensor by named dimensions (head=3, key=2:5, layer=mean, key=golden), with the labels of their
// axes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/tensor_map.h"

namespace heed::draw {

/// The selection along one dimension.
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
/// marks a label: "=3". Throws UsageError for an empty text.
Selection parse_selection(const std::string& dim, const std::string& text);
/// "head=3"; throws UsageError.
Selection parse_selection(const std::string& text);

/// A dimension of a slice.
struct Axis {
  std::string name;
  std::int64_t first = 0;           ///< position of its first element in the tensor
  std::vector<std::string> labels;  ///< one per element, or none
  /// "golden", or the position if there are no labels.
  std::string name_at(std::int64_t index) const;
};

struct Slice {
  std::string name;  ///< path of the tensor
  Tensor values;     ///< its dims are the names of `axes`
  std::vector<Axis> axes;
  std::vector<std::string> chosen;  ///< the selections as text: "sentence 3", "head mean"
  /// A word for each value, from the text in the same group that the tensor's attribute `cell_text` names; or
  /// empty.
  std::vector<std::string> words{};
};

/// Applies `selections` to the tensor at `path`: first sentence and rank, then padding is removed, then other
/// indices and ranges are applied, and finally means and maxima.
///
/// Padding is cut after the greatest length among the selected sentences, from the group's tensor DIM_length
/// (query_length), or `length` for position. Labels come from the group's text tensor DIM_token or DIM_label
/// (query_token, truth_label), for position from `token`, for choice from `piece`. Positions of /tokens,
/// /embeddings and /encoder are those of the source: without a `token` they are labelled with its pieces in
/// /tokens, or with its words if their number fits. Labels that differ along another selected dimension are
/// not used. Throws Error listing dimensions and sizes if a selection does not fit.
Slice take_slice(const TensorMap& map, const std::string& path, const std::vector<Selection>& selections);

/// The values of a slice as doubles. Throws Error for text.
std::vector<double> numbers(const Slice& slice);

}  // namespace heed::draw
