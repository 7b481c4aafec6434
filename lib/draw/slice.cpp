#include "draw/slice.h"

#include <algorithm>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "draw/select.h"
#include "draw/values.h"

namespace heed::draw {
namespace {

using Kind = Choice::Kind;

/// "sentence 2, layer 1, query 5": for messages.
std::string describe(const Tensor& tensor) {
  const auto dims = dims_of(tensor);
  std::string text;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    text += concat(i ? ", " : "", escaped(dims[i]), " ", tensor.shape()[i]);
  }
  return text.empty() ? "no dimensions" : text;
}

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
    if (choice.kind == Kind::index) take_index(choice, axis);
    if (choice.kind == Kind::range) keep_range(choice, axis);
  }

  void reduce_by(const Choice& choice) {
    if (choice.kind != Kind::mean && choice.kind != Kind::max) return;
    const std::size_t axis = axis_of(find_dim(choice.dim));
    if (values().shape()[axis] == 0) fail("/", escaped(path_), ": ", escaped(choice.dim), " is empty");
    cut_ = reduce(values(), axis, choice.kind == Kind::mean ? Reduction::mean : Reduction::max);
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
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      if (dims_[i].name == wanted || std::to_string(i) == wanted) return dims_[i].name;
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

  void take_index(const Choice& choice, std::size_t axis) {
    const std::int64_t size = values().shape()[axis];
    const std::int64_t index = choice.first < 0 ? choice.first + size : choice.first;
    if (index < 0 || index >= size) refuse(choice, concat(choice.first), size);
    cut_ = drop_axis(take_range(values(), axis, index, 1), axis);
    Dim& dim = dim_at(axis);
    dim.first += index;
    dim.kept = false;
    chosen_.push_back(concat(dim.name, " ", index));
  }

  void keep_range(const Choice& choice, std::size_t axis) {
    const std::int64_t size = values().shape()[axis];
    const std::int64_t first = choice.first < 0 ? choice.first + size : choice.first;
    const std::int64_t last = choice.to_end ? size : choice.last < 0 ? choice.last + size : choice.last;
    if (first < 0 || first >= last || last > size) {
      refuse(choice, concat(choice.first, ":", choice.to_end ? "" : concat(choice.last)), size);
    }
    cut_ = take_range(values(), axis, first, last - first);
    Dim& dim = dim_at(axis);
    dim.first += first;
    if (last - first != size) chosen_.push_back(concat(dim.name, " ", first, ":", last));
  }

  [[noreturn]] void refuse(const Choice& choice, const std::string& wanted, std::int64_t size) const {
    fail("/", escaped(path_), ": there is no ", escaped(choice.dim), " ", wanted, " among ", size,
         "; it has ", describe(whole_));
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

}  // namespace

Slice take_slice(const TensorMap& map, const std::string& path, const std::vector<Choice>& choices) {
  Cutter cutter(map, path);
  // Lengths differ by sentence and rank; once these are chosen, the other dimensions end where the words end.
  const auto decides_length = [](const Choice& c) { return c.dim == "sentence" || c.dim == "rank"; };
  for (const auto& choice : choices) {
    if (decides_length(choice)) cutter.take(choice);
  }
  cutter.cut_padding();
  for (const auto& choice : choices) {
    if (!decides_length(choice)) cutter.take(choice);
  }
  for (const auto& choice : choices) cutter.reduce_by(choice);
  return std::move(cutter).finish();
}

}  // namespace heed::draw
