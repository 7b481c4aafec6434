#include "draw/slice.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "draw/values.h"

namespace heed::draw {
namespace {

using Kind = Choice::Kind;

std::string group_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string in_group(const std::string& group, const std::string& name) {
  return group.empty() ? name : group + "/" + name;
}

/// "sentence 2, layer 1, query 5": for messages.
std::string describe(const Tensor& tensor) {
  const auto dims = dims_of(tensor);
  std::string text;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    text += concat(i ? ", " : "", escaped(dims[i]), " ", tensor.shape()[i]);
  }
  return text.empty() ? "no dimensions" : text;
}

bool parse_integer(std::string_view text, std::int64_t& value) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && result.ec == std::errc() && result.ptr == text.data() + text.size();
}

// ---- one dimension at a time
// --------------------------------------------------------------------------------------

// The tensors on the way are unnamed; the slice gets its names at the end.

Shape without(Shape shape, std::size_t axis) {
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  return shape;
}

/// Elements [first, first + count) along `axis`, which stays.
Tensor take_range(const Tensor& tensor, std::size_t axis, std::int64_t first, std::int64_t count) {
  Shape shape = tensor.shape();
  const auto [outer, size, inner] = around(shape, axis);
  shape[axis] = count;
  return visit_values(tensor,
                      [&, outer = outer, size = size, inner = inner]<class T>(std::span<const T> from) {
                        std::vector<T> to;
                        to.reserve(static_cast<std::size_t>(outer * count * inner));
                        for (std::int64_t o = 0; o < outer; ++o) {
                          const auto start = from.begin() + (o * size + first) * inner;
                          to.insert(to.end(), start, start + count * inner);
                        }
                        return Tensor::of<T>(std::move(to), shape);
                      });
}

/// `tensor` without `axis`, which has one element.
Tensor drop_axis(const Tensor& tensor, std::size_t axis) {
  return visit_values(tensor, [&]<class T>(std::span<const T> from) {
    return Tensor::of<T>({from.begin(), from.end()}, without(tensor.shape(), axis));
  });
}

/// Mean or maximum along `axis`, as double. NaN wins.
Tensor reduce(const Tensor& tensor, std::size_t axis, Kind kind) {
  const auto [outer, size, inner] = around(tensor.shape(), axis);
  const std::vector<double> from = numbers(tensor);
  std::vector<double> to(static_cast<std::size_t>(outer * inner));
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t i = 0; i < inner; ++i) {
      double result = kind == Kind::max ? -INFINITY : 0;
      for (std::int64_t k = 0; k < size; ++k) {
        const double value = from[static_cast<std::size_t>((o * size + k) * inner + i)];
        if (kind == Kind::mean) {
          result += value;
        } else if (value > result || std::isnan(value)) {
          result = value;
        }
      }
      to[static_cast<std::size_t>(o * inner + i)] =
          kind == Kind::mean ? result / static_cast<double>(size) : result;
    }
  }
  return Tensor::of(std::move(to), without(tensor.shape(), axis));
}

// ---- the slice
// ----------------------------------------------------------------------------------------------------

Tensor named(const Tensor& tensor, const std::vector<Axis>& axes) {
  std::vector<std::string> dims;
  for (const auto& axis : axes) dims.push_back(axis.name);
  return visit_values(tensor, [&]<class T>(std::span<const T> values) {
    return Tensor::of<T>({values.begin(), values.end()}, tensor.shape(), dims);
  });
}

/// One tensor being cut down; remembers which part of each original dimension is left, so that side tensors
/// (lengths, words) can be cut in the same way.
class Cutter {
 public:
  Cutter(const TensorMap& map, const std::string& path)
      : map_(map), path_(path), group_(group_of(path)), whole_(map.at(path)) {
    for (const auto& dim : dims_of(whole_)) dims_.push_back({dim, 0, true});
  }

  void take(const Choice& choice) {
    const std::size_t axis = axis_of(find_dim(choice.dim));
    const std::int64_t size = values().shape()[axis];
    if (choice.kind == Kind::index) {
      take_index(choice, axis, size);
    } else if (choice.kind == Kind::range) {
      const std::int64_t first = choice.first < 0 ? choice.first + size : choice.first;
      const std::int64_t last = choice.to_end ? size : choice.last < 0 ? choice.last + size : choice.last;
      if (first < 0 || first >= last || last > size) {
        fail("/", escaped(path_), ": ", escaped(choice.dim), "=", choice.first, ":",
             choice.to_end ? "" : concat(choice.last), " is not a part of it; it has ", describe(whole_));
      }
      keep_range(axis, first, last - first);
    }
  }

  void reduce_by(const Choice& choice) {
    if (choice.kind != Kind::mean && choice.kind != Kind::max) return;
    const std::size_t axis = axis_of(find_dim(choice.dim));
    if (values().shape()[axis] == 0) fail("/", escaped(path_), ": ", escaped(choice.dim), " is empty");
    cut_ = reduce(values(), axis, choice.kind);
    Dim& dim = dim_at(axis);
    dim.kept = false;
    dim.reduced = true;
    chosen_.push_back(dim.name + (choice.kind == Kind::mean ? " mean" : " max"));
  }

  void cut_padding() {
    for (const auto& dim : dims_) {
      if (!dim.kept) continue;
      const auto length = length_along(dim.name);
      if (!length) continue;
      const std::size_t axis = axis_of(dim.name);
      const std::int64_t count = std::clamp<std::int64_t>(*length - dim.first, 0, values().shape()[axis]);
      cut_ = take_range(values(), axis, 0, count);
    }
  }

  Slice finish() && {
    Slice slice{path_, {}, {}, std::move(chosen_)};
    for (const auto& dim : dims_) {
      if (dim.kept)
        slice.axes.push_back({dim.name, dim.first, labels_along(dim, values().shape()[slice.axes.size()])});
    }
    slice.values = named(values(), slice.axes);
    return slice;
  }

 private:
  /// A dimension of the whole tensor: what is left starts at `first`; not kept: one index, or reduced.
  struct Dim {
    std::string name;
    std::int64_t first = 0;
    bool kept = true;
    bool reduced = false;
  };

  /// What is left so far; nothing is copied before the first cut.
  const Tensor& values() const { return cut_ ? *cut_ : whole_; }

  const std::string& find_dim(const std::string& wanted) const {
    std::int64_t number = -1;
    const bool is_number = parse_integer(wanted, number);
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      if (dims_[i].name == wanted || (is_number && static_cast<std::int64_t>(i) == number))
        return dims_[i].name;
    }
    fail("/", escaped(path_), " has no dimension '", escaped(wanted), "'; it has ", describe(whole_));
  }

  std::size_t axis_of(const std::string& name) const {
    std::size_t axis = 0;
    for (const auto& dim : dims_) {
      if (dim.name == name) {
        if (dim.kept) return axis;
        fail<UsageError>("dimension ", escaped(name), " is chosen twice");
      }
      axis += dim.kept ? 1 : 0;
    }
    fail("/", escaped(path_), " has no dimension '", escaped(name), "'");
  }

  Dim& dim_at(std::size_t axis) {
    for (auto& dim : dims_) {
      if (dim.kept && axis-- == 0) return dim;
    }
    fail("/", escaped(path_), " has no dimension ", axis);
  }

  void take_index(const Choice& choice, std::size_t axis, std::int64_t size) {
    const std::int64_t index = choice.first < 0 ? choice.first + size : choice.first;
    if (index < 0 || index >= size) {
      fail("/", escaped(path_), ": there is no ", escaped(choice.dim), " ", choice.first, "; it has ",
           describe(whole_));
    }
    cut_ = drop_axis(take_range(values(), axis, index, 1), axis);
    Dim& dim = dim_at(axis);
    dim.first += index;
    dim.kept = false;
    chosen_.push_back(concat(dim.name, " ", index));
  }

  void keep_range(std::size_t axis, std::int64_t first, std::int64_t count) {
    cut_ = take_range(values(), axis, first, count);
    Dim& dim = dim_at(axis);
    dim.first += first;
    if (count != whole_size(dim.name)) chosen_.push_back(concat(dim.name, " ", first, ":", first + count));
  }

  std::int64_t whole_size(const std::string& name) const {
    const auto dims = dims_of(whole_);
    const auto at = std::find(dims.begin(), dims.end(), name) - dims.begin();
    return whole_.shape()[static_cast<std::size_t>(at)];
  }

  /// The number of real elements along `name`, from the start of the whole tensor: the greatest over what is
  /// left of the other dimensions. None: the map does not say.
  std::optional<std::int64_t> length_along(const std::string& name) const {
    const Tensor* length = find_length(name);
    if (!length || length->dtype() == DType::string) return std::nullopt;
    const auto part = matching_part(*length);
    if (!part) return std::nullopt;
    const auto values = numbers(*part);
    if (values.empty()) return std::nullopt;
    return static_cast<std::int64_t>(*std::max_element(values.begin(), values.end()));
  }

  const Tensor* find_length(const std::string& name) const {
    if (const Tensor* own = map_.find(in_group(group_, name + "_length"))) return own;
    return name == "position" ? map_.find(in_group(group_, "length")) : nullptr;
  }

  /// `side` (a tensor whose dimensions are some of ours) cut as our tensor is; none when it has another
  /// dimension or another size, so that it does not describe this tensor.
  std::optional<Tensor> matching_part(const Tensor& side, const std::string& along = "") const {
    Tensor part = side;
    std::size_t axis = 0;
    for (const auto& name : side.dims()) {
      const auto dim = std::find_if(dims_.begin(), dims_.end(), [&](const Dim& d) { return d.name == name; });
      if (dim == dims_.end() || side.shape()[axis_in(side, name)] != whole_size(name)) return std::nullopt;
      if (!dim->kept && !dim->reduced) {
        part = drop_axis(take_range(part, axis, dim->first, 1), axis);
        continue;
      }
      if (name != along && !along.empty())
        return std::nullopt;  // words that differ along a dimension that is left
      const std::int64_t left = dim->kept ? values().shape()[axis_of(name)] : whole_size(name);
      part = take_range(part, axis, dim->first, left);
      ++axis;
    }
    return part;
  }

  static std::size_t axis_in(const Tensor& tensor, const std::string& name) {
    const auto& dims = tensor.dims();
    return static_cast<std::size_t>(std::find(dims.begin(), dims.end(), name) - dims.begin());
  }

  std::vector<std::string> labels_along(const Dim& dim, std::int64_t count) const {
    for (const auto& candidate : label_paths(dim.name)) {
      const Tensor* words = map_.find(candidate);
      if (!words || words->dtype() != DType::string || words->shape().empty()) continue;
      const auto part = matching_part(*words, dim.name);
      if (!part || part->shape() != Shape{count}) continue;
      const auto values = part->values<std::string>();
      return {values.begin(), values.end()};
    }
    return dim.name == "position" ? words_of_text(dim, count) : std::vector<std::string>{};
  }

  std::vector<std::string> label_paths(const std::string& dim) const {
    std::vector<std::string> paths = {in_group(group_, dim + "_token"), in_group(group_, dim + "_label")};
    if (dim == "position") {
      for (const char* path : {"piece", "token"}) paths.push_back(in_group(group_, path));
      paths.emplace_back("tokens/piece");
    }
    return paths;
  }

  /// The words of the sentence in /tokens, when they are as many as the positions (with or without the end
  /// mark).
  std::vector<std::string> words_of_text(const Dim& dim, std::int64_t count) const {
    const Tensor* text = map_.find("tokens/text");
    if (!text || text->dtype() != DType::string || text->dims() != std::vector<std::string>{"sentence"})
      return {};
    const auto sentence = matching_part(*text);
    if (!sentence || sentence->size() != 1 || dim.first != 0) return {};
    std::istringstream line(sentence->values<std::string>()[0]);
    std::vector<std::string> words;
    for (std::string word; line >> word;) words.push_back(word);
    if (static_cast<std::int64_t>(words.size()) + 1 == count) words.emplace_back("</s>");
    return static_cast<std::int64_t>(words.size()) == count ? words : std::vector<std::string>{};
  }

  const TensorMap& map_;
  std::string path_;
  std::string group_;
  const Tensor& whole_;
  std::optional<Tensor> cut_;
  std::vector<Dim> dims_;
  std::vector<std::string> chosen_;
};

/// The signal of `group`, if the map has it.
std::optional<std::string> signal_of(const TensorMap& map, const std::string& group) {
  const auto found = map.groups.find(group);
  if (found == map.groups.end() || found->second.signal.empty()) return std::nullopt;
  const std::string path = in_group(group, found->second.signal);
  return map.contains(path) ? std::optional(path) : std::nullopt;
}

std::string default_tensor(const TensorMap& map) {
  const auto named = map.attributes.find("default");
  if (named != map.attributes.end() && std::holds_alternative<std::string>(named->second)) {
    const std::string& group = std::get<std::string>(named->second);
    if (const auto path = signal_of(map, group.starts_with('/') ? group.substr(1) : group)) return *path;
  }
  std::vector<std::string> signals;
  for (const auto& [group, info] : map.groups) {
    if (const auto path = signal_of(map, group)) signals.push_back(*path);
  }
  if (signals.size() == 1) return signals.front();
  if (map.tensors().size() == 1) return map.tensors().front().first;
  if (map.tensors().empty()) fail("the input holds no tensors");
  std::string list;
  for (std::size_t i = 0; i < map.tensors().size() && i < 12; ++i) {
    list += concat(i ? ", " : "", escaped(map.tensors()[i].first));
  }
  fail<UsageError>("which tensor? Choose by --name; there are ", list,
                   map.tensors().size() > 12 ? ", ..." : "");
}

}  // namespace

std::vector<std::string> dims_of(const Tensor& tensor) {
  if (tensor.dims().size() == tensor.shape().size()) return tensor.dims();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < tensor.shape().size(); ++i) names.push_back(concat("dim_", i));
  return names;
}

std::string find_tensor(const TensorMap& map, const std::string& name) {
  if (name.empty()) return default_tensor(map);
  const std::string path = name.starts_with('/') ? name.substr(1) : name;
  if (map.contains(path)) return path;
  if (const auto signal = signal_of(map, path)) return *signal;
  std::vector<std::string> found;
  for (const auto& [candidate, tensor] : map.tensors()) {
    if (candidate.ends_with("/" + path)) found.push_back(candidate);
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) map.at(path);  // fails, listing what there is
  fail<UsageError>("--name ", escaped(name), " could be /", escaped(found[0]), " or /", escaped(found[1]));
}

Choice parse_choice(const std::string& dim, const std::string& text) {
  Choice choice{dim};
  const auto colon = text.find(':');
  if (text == "all") return choice;
  if (text == "mean" || text == "max") {
    choice.kind = text == "mean" ? Kind::mean : Kind::max;
    return choice;
  }
  if (colon == std::string::npos && parse_integer(text, choice.first)) {
    choice.kind = Kind::index;
    return choice;
  }
  if (colon != std::string::npos) {
    choice.kind = Kind::range;
    choice.to_end = colon + 1 == text.size();
    const bool starts = colon == 0 || parse_integer(text.substr(0, colon), choice.first);
    const bool ends = choice.to_end || parse_integer(text.substr(colon + 1), choice.last);
    if (starts && ends) return choice;
  }
  fail<UsageError>("'", escaped(dim), "=", escaped(text),
                   "': wanted an index (3), a range (2:5), mean, max or all");
}

Choice parse_choice(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    fail<UsageError>("--slice '", escaped(text), "': wanted dimension=index, as in head=3");
  }
  return parse_choice(text.substr(0, equals), text.substr(equals + 1));
}

Slice take_slice(const TensorMap& map, const std::string& path, const std::vector<Choice>& choices) {
  Cutter cutter(map, path);
  for (const auto& choice : choices) cutter.take(choice);
  cutter.cut_padding();
  for (const auto& choice : choices) cutter.reduce_by(choice);
  return std::move(cutter).finish();
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

}  // namespace heed::draw
