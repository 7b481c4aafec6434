// Finds the tensor that a user names; accesses elements whose type is known only at run time.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "tensor/tensor_map.h"

namespace heed::draw {

/// The path of `name` in `group`.
std::string in_group(const std::string& group, const std::string& name);

/// How viewers present `group`; a Group without entries if the map does not say.
const Group& info_of(const TensorMap& map, const std::string& group);
/// The index that the group's default_slice names along an axis of its signal.
std::optional<std::int64_t> default_index(const Group& group, std::size_t axis);
/// The attribute's text; "" if there is none.
std::string text_attribute(const Attributes& attributes, const std::string& name);

/// Whether the glob (base/glob.h) matches the tensor's path, or one of its groups.
bool glob_means(const std::string& glob, const std::string& path);

/// The path of the tensor `name`. A name is a path, with or without leading slash, or the end of one, or a
/// glob; the name of a group means its signal (NeXus: the group's main dataset). An empty name means the
/// signal of the root's default group, else of the only group that has one, else the only tensor (of
/// numbers). Throws Error that lists the tensors when none or several fit.
std::string find_tensor(const TensorMap& map, const std::string& name);

/// Calls `work` with a span of the elements in their own type and returns its result.
template <class Work>
auto visit_values(const Tensor& tensor, Work&& work) {
  switch (tensor.dtype()) {
    case DType::f32:
      return work(tensor.values<float>());
    case DType::f64:
      return work(tensor.values<double>());
    case DType::i32:
      return work(tensor.values<std::int32_t>());
    case DType::i64:
      return work(tensor.values<std::int64_t>());
    case DType::u8:
      return work(tensor.values<std::uint8_t>());
    case DType::string:
      return work(tensor.values<std::string>());
  }
  fail("a tensor of unknown type");
}

/// The names of the dimensions; "dim_0" etc. if a name is missing or not unique.
std::vector<std::string> dims_of(const Tensor& tensor);
/// The axis with that name in `dims`.
std::optional<std::size_t> axis_named(const std::vector<std::string>& dims, const std::string& name);

bool holds_integers(const Tensor& tensor);

/// The values as doubles. Throws Error for strings.
std::vector<double> numbers(const Tensor& tensor);

/// Elements [first, first + count) of an axis.
struct Part {
  std::int64_t first = 0, count = 1;
};
enum class Reduction { sum, mean, max };
/// Reduces each part of `axis` to one value, as double. NaN propagates.
Tensor reduce(const Tensor& tensor, std::size_t axis, const std::vector<Part>& parts, Reduction reduction);

// The results of the following have no dimension names.

/// Elements [first, first + count) along `axis`, which is kept.
Tensor take_range(const Tensor& tensor, std::size_t axis, std::int64_t first, std::int64_t count);

/// Removes `axis`, which must have one element.
Tensor drop_axis(const Tensor& tensor, std::size_t axis);

}  // namespace heed::draw
