// A part of one tensor of a map, chosen by the names of its dimensions, with the words that label its axes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/tensor_map.h"

namespace heed::draw {

/// What to take along one dimension.
struct Choice {
  enum class Kind { index, range, mean, max, all };
  std::string dim;  ///< name, or the number of the dimension
  Kind kind = Kind::all;
  std::int64_t first = 0;  ///< index and range; negative counts from the end
  std::int64_t last = 0;   ///< end of a range, exclusive
  bool to_end = false;     ///< the range has no end: "3:"
};

/// "head" and "3", "-1", "2:5", "2:", ":5", "mean", "max" or "all"; throws UsageError.
Choice parse_choice(const std::string& dim, const std::string& text);
/// "head=3"; throws UsageError.
Choice parse_choice(const std::string& text);

/// One dimension that is left.
struct Axis {
  std::string name;
  std::int64_t first = 0;           ///< position of its first element in the tensor
  std::vector<std::string> labels;  ///< one per element, or none
};

struct Slice {
  std::string name;  ///< path of the tensor
  Tensor values;     ///< its dims are the names of `axes`
  std::vector<Axis> axes;
  std::vector<std::string> chosen;  ///< what was chosen, for a subtitle: "sentence 3", "head mean"
};

/// The path that `name` stands for: a path (with or without leading slash), the last part of one, or a group,
/// which stands for its signal. Empty: the signal of the root's default group, or of the only group that has
/// one, or the only tensor. Throws Error that lists what there is.
std::string find_tensor(const TensorMap& map, const std::string& name);

/// The names of the dimensions of a tensor, "dim_0" and so on where it has none.
std::vector<std::string> dims_of(const Tensor& tensor);

/// Applies `choices` to the tensor at `path`. Indices and ranges come first; then padding is cut off by the
/// tensors of lengths in the same group (`length` for position, `query_length` for query, ...); means and
/// maxima come last. Labels come from string tensors of the same group (`query_token` for query, `piece` for
/// position), or the words of /tokens. Throws Error that lists dimensions and sizes when a choice does not
/// fit.
Slice take_slice(const TensorMap& map, const std::string& path, const std::vector<Choice>& choices);

/// The values as doubles. Throws Error for strings.
std::vector<double> numbers(const Tensor& tensor);

}  // namespace heed::draw
