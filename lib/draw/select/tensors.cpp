#include "draw/select/tensors.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/glob.h"
#include "base/log.h"
#include "base/paths.h"

namespace heed::draw {
namespace {

/// The path of the signal of `group`; nullopt if the map has none.
std::optional<std::string> signal_of(const TensorMap& map, const std::string& group) {
  const std::string& signal = info_of(map, group).signal;
  const std::string path = in_group(group, signal);
  return !signal.empty() && map.contains(path) ? std::optional(path) : std::nullopt;
}

std::string default_tensor(const TensorMap& map) {
  const std::string named = text_attribute(map.attributes, "default");
  const auto preferred = named.empty() ? std::nullopt : signal_of(map, without_root(named));
  if (preferred) return *preferred;
  std::vector<std::string> signals, numeric;
  for (const auto& [group, info] : map.groups) {
    if (const auto path = signal_of(map, group)) signals.push_back(*path);
  }
  if (signals.size() == 1) return signals.front();
  if (map.tensors().size() == 1) return map.tensors().front().first;
  for (const auto& [path, tensor] : map.tensors()) {
    if (tensor.dtype() != DType::string) numeric.push_back(path);
  }
  if (numeric.size() == 1) return numeric.front();
  if (map.tensors().empty()) fail("the input holds no tensors");
  std::string list;
  for (std::size_t i = 0; i < map.tensors().size() && i < 12; ++i) {
    list += concat(i ? ", " : "", escaped(map.tensors()[i].first));
  }
  fail<UsageError>("which tensor? Choose by --name; there are ", list,
                   map.tensors().size() > 12 ? ", ..." : "");
}

/// A row-major shape around one axis: the product of the sizes before it, its size, the product of those
/// after it.
struct Around {
  Around(const Shape& shape, std::size_t axis) : size(shape[axis]) {
    for (std::size_t i = 0; i < axis; ++i) outer *= shape[i];
    for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  }
  std::int64_t outer = 1, size, inner = 1;
};

}  // namespace

std::string in_group(const std::string& group, const std::string& name) {
  return group.empty() ? name : group + "/" + name;
}

const Group& info_of(const TensorMap& map, const std::string& group) {
  static const Group none;
  const auto found = map.groups.find(group);
  return found == map.groups.end() ? none : found->second;
}

std::optional<std::int64_t> default_index(const Group& group, std::size_t axis) {
  if (axis >= group.default_slice.size()) return std::nullopt;
  const std::string& text = group.default_slice[axis];
  std::int64_t index = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), index);
  return parsed.ec == std::errc() ? std::optional(index) : std::nullopt;
}

std::string text_attribute(const Attributes& attributes, const std::string& name) {
  const auto found = attributes.find(name);
  const auto* text = found == attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
  return text ? *text : "";
}

bool glob_means(const std::string& glob, const std::string& path) {
  for (std::string part = path; !part.empty(); part = parent_of(part)) {
    if (glob_matches(without_root(glob), part)) return true;
  }
  return false;
}

std::string find_tensor(const TensorMap& map, const std::string& name) {
  if (name.empty()) return default_tensor(map);
  const std::string path = without_root(name);
  if (map.contains(path)) return path;
  if (const auto signal = signal_of(map, path)) return *signal;
  const bool has_glob = is_glob(path);
  const auto is_meant = [&](const std::string& candidate) {
    return has_glob ? glob_matches(path, candidate) : candidate.ends_with("/" + path);
  };
  std::vector<std::string> found;
  for (const auto& [candidate, tensor] : map.tensors()) {
    if (is_meant(candidate)) found.push_back(candidate);
  }
  for (const auto& [group, info] : map.groups) {
    const auto signal = is_meant(group) ? signal_of(map, group) : std::nullopt;
    if (signal && std::ranges::find(found, *signal) == found.end()) found.push_back(*signal);
  }
  if (found.size() == 1) {
    if (has_glob) logging::verbose(concat("--name ", name, ": /", found.front()));
    return found.front();
  }
  if (found.empty()) map.at(path);  // fails, listing what there is
  fail<UsageError>("--name ", escaped(name), " could be /", escaped(found[0]), " or /", escaped(found[1]));
}

std::vector<std::string> dims_of(const Tensor& tensor) {
  const bool has_names = tensor.dims().size() == tensor.shape().size();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < tensor.shape().size(); ++i) {
    const bool is_good = has_names && !axis_named(names, tensor.dims()[i]);
    names.push_back(is_good ? tensor.dims()[i] : concat("dim_", i));
  }
  return names;
}

std::optional<std::size_t> axis_named(const std::vector<std::string>& dims, const std::string& name) {
  const auto found = std::find(dims.begin(), dims.end(), name);
  if (found == dims.end()) return std::nullopt;
  return static_cast<std::size_t>(found - dims.begin());
}

bool holds_integers(const Tensor& tensor) {
  return tensor.dtype() == DType::i32 || tensor.dtype() == DType::i64 || tensor.dtype() == DType::u8;
}

std::vector<double> numbers(const Tensor& tensor) {
  return visit_values(tensor, []<class T>(std::span<const T> values) -> std::vector<double> {
    if constexpr (std::is_same_v<T, std::string>) {
      fail("holds text, wanted numbers");
    } else {
      return {values.begin(), values.end()};
    }
  });
}

Tensor take_range(const Tensor& tensor, std::size_t axis, std::int64_t first, std::int64_t count) {
  const Around around(tensor.shape(), axis);
  Shape shape = tensor.shape();
  shape[axis] = count;
  return visit_values(tensor, [&]<class T>(std::span<const T> from) {
    std::vector<T> to;
    to.reserve(static_cast<std::size_t>(around.outer * count * around.inner));
    for (std::int64_t o = 0; o < around.outer; ++o) {
      const auto start = from.begin() + (o * around.size + first) * around.inner;
      to.insert(to.end(), start, start + count * around.inner);
    }
    return Tensor::of<T>(std::move(to), shape);
  });
}

Tensor drop_axis(const Tensor& tensor, std::size_t axis) {
  Shape shape = tensor.shape();
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  return visit_values(tensor, [&]<class T>(std::span<const T> from) {
    return Tensor::of<T>({from.begin(), from.end()}, shape);
  });
}

Tensor reduce(const Tensor& tensor, std::size_t axis, const std::vector<Part>& parts, Reduction reduction) {
  const Around around(tensor.shape(), axis);
  Shape shape = tensor.shape();
  shape[axis] = std::ssize(parts);
  const std::vector<double> from = numbers(tensor);
  std::vector<double> to;
  to.reserve(static_cast<std::size_t>(around.outer * shape[axis] * around.inner));
  for (std::int64_t o = 0; o < around.outer; ++o) {
    for (const Part& part : parts) {
      for (std::int64_t i = 0; i < around.inner; ++i) {
        double result = reduction == Reduction::max ? -INFINITY : 0;
        for (std::int64_t k = part.first; k < part.first + part.count; ++k) {
          const double value = from[static_cast<std::size_t>((o * around.size + k) * around.inner + i)];
          if (reduction != Reduction::max) {
            result += value;
          } else if (value > result || std::isnan(value)) {
            result = value;
          }
        }
        to.push_back(reduction == Reduction::mean ? result / static_cast<double>(part.count) : result);
      }
    }
  }
  return Tensor::of(std::move(to), shape, tensor.dims());
}

}  // namespace heed::draw
