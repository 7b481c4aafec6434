#include "draw/select/slice.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <string_view>

#include "base/error.h"
#include "base/paths.h"
#include "draw/print/printable.h"
#include "draw/select/tensors.h"

namespace heed::draw {
namespace {

using Kind = Selection::Kind;

/// "sentence 2, layer 1, query 5": for messages.
std::string describe(const Tensor& tensor) {
  const auto dims = dims_of(tensor);
  std::string text;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    text += concat(i ? ", " : "", escaped(dims[i]), " ", tensor.shape()[i]);
  }
  return text.empty() ? "no dimensions" : text;
}

/// Slices one tensor, dimension by dimension.
class Cutter {
 public:
  Cutter(const TensorMap& map, const std::string& path)
      : map_(map), path_(path), group_(parent_of(path)), whole_(map.at(path)) {
    const auto names = dims_of(whole_);
    for (std::size_t i = 0; i < names.size(); ++i) {
      dims_.push_back({names[i], whole_.shape()[i], 0, whole_.shape()[i]});
    }
  }

  void take(const Selection& selection) {
    Dim& dim = find(selection);
    if (selection.kind == Kind::index) take_index(selection, dim);
    if (selection.kind == Kind::range) take_part(selection, dim);
    if (selection.kind == Kind::label) take_labelled(selection, dim);
  }

  void reduce_by(const Selection& selection) {
    if (selection.kind != Kind::mean && selection.kind != Kind::max) return;
    Dim& dim = find(selection);
    if (dim.count == 0) fail("/", escaped(path_), ": ", escaped(dim.name), " is empty");
    const bool mean = selection.kind == Kind::mean;
    cut_ = reduce(values(), axis_of(dim), {{0, dim.count}}, mean ? Reduction::mean : Reduction::max);
    drop(dim, State::reduced);
    chosen_.push_back(dim.name + (mean ? " mean" : " max"));
  }

  void cut_padding() {
    for (auto& dim : dims_) {
      if (dim.state != State::kept) continue;
      const auto length = length_along(dim);
      if (length && *length < dim.count) keep(dim, 0, *length);
    }
  }

  Slice finish() && {
    Slice slice{path_, {}, {}, std::move(chosen_)};
    std::vector<std::string> names;
    for (const auto& dim : dims_) {
      if (dim.state != State::kept) continue;
      slice.axes.push_back({dim.name, dim.first, labels_along(dim)});
      names.push_back(dim.name);
    }
    slice.values = visit_values(values(), [&]<class T>(std::span<const T> all) {
      return Tensor::of<T>({all.begin(), all.end()}, values().shape(), names);
    });
    slice.words = words_of_cells();
    return slice;
  }

 private:
  enum class State {
    kept,    ///< elements [first, first + count)
    fixed,   ///< one index
    reduced  ///< mean or maximum
  };
  struct Dim {
    std::string name;
    std::int64_t size = 0;  ///< of the whole tensor
    std::int64_t first = 0, count = 0;
    State state = State::kept;
  };

  /// The slice so far; nothing is copied before the first cut.
  const Tensor& values() const { return cut_ ? *cut_ : whole_; }

  Dim& find(const Selection& selection) {
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      if (dims_[i].name != selection.dim && std::to_string(i) != selection.dim) continue;
      if (dims_[i].state == State::kept) return dims_[i];
      fail<UsageError>("dimension ", escaped(selection.dim), " is chosen twice");
    }
    fail("/", escaped(path_), " has no dimension '", escaped(selection.dim), "'; it has ", describe(whole_));
  }

  /// The axis of `dim` among the kept dimensions.
  std::size_t axis_of(const Dim& dim) const {
    const auto is_kept = [](const Dim& d) { return d.state == State::kept; };
    return static_cast<std::size_t>(
        std::count_if(dims_.begin(), dims_.begin() + (&dim - dims_.data()), is_kept));
  }

  void keep(Dim& dim, std::int64_t first, std::int64_t count) {
    cut_ = take_range(values(), axis_of(dim), first, count);
    dim.first += first;
    dim.count = count;
  }

  void drop(Dim& dim, State state) {
    cut_ = drop_axis(values(), axis_of(dim));
    dim.state = state;
  }

  void take_index(const Selection& selection, Dim& dim) {
    const std::int64_t index = selection.first < 0 ? selection.first + dim.count : selection.first;
    if (index < 0 || index >= dim.count) refuse(dim, concat(selection.first));
    keep(dim, index, 1);
    drop(dim, State::fixed);
    chosen_.push_back(concat(dim.name, " ", dim.first, dim.name == "layer" ? model_layer(dim) : ""));
  }

  /// Which of the model's layers that is, where only some are kept: " (encoder layer 3)".
  std::string model_layer(const Dim& dim) const {
    const Attributes& attributes = info_of(map_, group_).attributes;
    const std::string path = text_attribute(attributes, "model_layer");
    if (!path.empty()) return " (" + path + ")";
    const auto done = attributes.find("layers_done");
    const auto* layers = done == attributes.end() ? nullptr : std::get_if<std::int64_t>(&done->second);
    if (!layers || *layers == dim.size) return "";
    return concat(" (encoder layer ", *layers - dim.size + dim.first, ")");
  }

  void take_labelled(Selection selection, Dim& dim) {
    const auto labels = labels_along(dim);
    const auto is_meant = [&](const std::string& label) {
      return label == selection.label || label == "\u2581" + selection.label;
    };
    const auto found = std::find_if(labels.begin(), labels.end(), is_meant);
    if (found == labels.end()) {
      fail("/", escaped(path_), ": no ", escaped(dim.name), " is labelled '", escaped(selection.label), "'",
           labels.empty() ? why_unlabelled(dim)
                          : "; its labels: " + escaped(listed(labels), std::string::npos));
    }
    if (std::any_of(found + 1, labels.end(), is_meant)) {
      std::vector<std::string> places;
      for (std::size_t i = 0; i < labels.size(); ++i)
        if (is_meant(labels[i])) places.push_back(std::to_string(i));
      fail("/", escaped(path_), ": '", escaped(selection.label), "' occurs several times along ",
           escaped(dim.name), ": choose one by its index: ", listed(places));
    }
    selection.first = found - labels.begin();
    take_index(selection, dim);
    chosen_.back() += " (" + selection.label + ")";
  }

  /// Labels differ by sentence and rank, so there are none while several of these are kept.
  std::string why_unlabelled(const Dim& dim) const {
    for (const auto& other : dims_) {
      const bool decides = other.name == "sentence" || other.name == "rank";
      if (decides && other.state == State::kept && dim.name != "layer" && dim.name != "head") {
        return concat("; labels differ by ", other.name, ": choose one first, as in --slice ", other.name,
                      "=0");
      }
    }
    return concat("; it has no labels: choose an index from 0 to ", dim.count - 1, ", mean, max or all");
  }

  void take_part(const Selection& selection, Dim& dim) {
    const auto from_start = [&](std::int64_t i) { return i < 0 ? i + dim.count : i; };
    const std::int64_t first = from_start(selection.first);
    const std::int64_t last = selection.to_end ? dim.count : from_start(selection.last);
    if (first < 0 || first >= last || last > dim.count) {
      refuse(dim, concat(selection.first, ":", selection.to_end ? "" : concat(selection.last)));
    }
    if (last - first == dim.count) return;
    keep(dim, first, last - first);
    chosen_.push_back(concat(dim.name, " ", dim.first, ":", dim.first + dim.count));
  }

  [[noreturn]] void refuse(const Dim& dim, const std::string& wanted) const {
    fail("/", escaped(path_), ": there is no ", escaped(dim.name), " ", wanted, " among ", dim.count,
         "; it has ", describe(whole_));
  }

  // ---- coordinates: other tensors of the file that say how long its sentences are, and label elements ----

  /// `coordinate` (whose dimensions are some of this tensor's) sliced like the tensor; none when it has
  /// another dimension or another size and so describes something else.
  std::optional<Tensor> matching_part(const Tensor& coordinate) const {
    Tensor part = coordinate;
    std::size_t axis = 0;
    for (std::size_t i = 0; i < coordinate.dims().size(); ++i) {
      const auto dim = std::find_if(dims_.begin(), dims_.end(),
                                    [&](const Dim& d) { return d.name == coordinate.dims()[i]; });
      if (dim == dims_.end() || coordinate.shape()[i] != dim->size) return std::nullopt;
      part = take_range(part, axis, dim->first, dim->count);
      if (dim->state == State::fixed) {
        part = drop_axis(part, axis);
      } else {
        ++axis;
      }
    }
    return part;
  }

  std::vector<std::string> words_of_cells() const {
    const auto named = whole_.attributes.find("cell_text");
    const auto* name = named == whole_.attributes.end() ? nullptr : std::get_if<std::string>(&named->second);
    const Tensor* words = name ? map_.find(in_group(group_, *name)) : nullptr;
    if (!words || words->dtype() != DType::string) return {};
    const auto part = matching_part(*words);
    if (!part || part->shape() != values().shape()) return {};
    const auto all = part->values<std::string>();
    return {all.begin(), all.end()};
  }

  std::optional<std::int64_t> length_along(const Dim& dim) const {
    const Tensor* length = map_.find(in_group(group_, dim.name + "_length"));
    if (!length && dim.name == "position") length = map_.find(in_group(group_, "length"));
    if (!length || !holds_integers(*length)) return std::nullopt;
    const auto part = matching_part(*length);
    if (!part || part->size() == 0) return std::nullopt;
    const auto lengths = numbers(*part);
    const double longest = *std::max_element(lengths.begin(), lengths.end());
    return static_cast<std::int64_t>(std::clamp(longest, 0.0, static_cast<double>(dim.size)));
  }

  std::vector<std::string> labels_along(const Dim& dim) const {
    std::vector<std::string> paths;
    for (const char* end : {"_token", "_label"}) paths.push_back(in_group(group_, dim.name + end));
    if (dim.name == "choice") paths.push_back(in_group(group_, "piece"));
    if (dim.name == "position") paths.push_back(in_group(group_, "token"));
    // Their positions are those of /tokens, or of what a decoder alone reads in its place.
    const bool of_tokens =
        dim.name == "position" && (group_ == "tokens" || group_ == "embeddings" || group_ == "encoder");
    if (of_tokens) paths.insert(paths.end(), {"embeddings/token", "tokens/piece"});
    for (const auto& path : paths) {
      const Tensor* words = map_.find(path);
      if (!words || words->dtype() != DType::string || !axis_named(words->dims(), dim.name)) continue;
      const auto part = matching_part(*words);
      if (!part || part->shape() != Shape{dim.count}) continue;
      const auto labels = part->values<std::string>();
      return {labels.begin(), labels.end()};
    }
    return of_tokens ? words_of_text(dim) : std::vector<std::string>{};
  }

  /// The words of the sentence in /tokens, if there is one for each position (with or without the end mark).
  std::vector<std::string> words_of_text(const Dim& dim) const {
    const Tensor* text = map_.find("tokens/text");
    if (!text || text->dtype() != DType::string || dim.first != 0) return {};
    const auto sentence = matching_part(*text);
    if (!sentence || !sentence->shape().empty()) return {};
    std::istringstream line(sentence->values<std::string>()[0]);
    std::vector<std::string> words;
    for (std::string word; line >> word;) words.push_back(word);
    if (std::ssize(words) + 1 == dim.count) words.emplace_back("</s>");
    return std::ssize(words) == dim.count ? words : std::vector<std::string>{};
  }

  const TensorMap& map_;
  const std::string path_, group_;
  const Tensor& whole_;
  std::optional<Tensor> cut_;
  std::vector<Dim> dims_;
  std::vector<std::string> chosen_;
};

}  // namespace

Selection parse_selection(const std::string& dim, const std::string& text) {
  Selection selection{dim};
  const auto parse_integer = [](std::string_view digits, std::int64_t& value) {
    const auto number = parse_number<std::int64_t>(digits);
    value = number.value_or(value);
    return number.has_value();
  };
  const auto colon = text.find(':');
  if (text == "all") return selection;
  if (text == "mean" || text == "max") {
    selection.kind = text == "mean" ? Kind::mean : Kind::max;
    return selection;
  }
  if (parse_integer(text, selection.first)) {
    selection.kind = Kind::index;
    return selection;
  }
  if (colon != std::string::npos) {
    selection.kind = Kind::range;
    selection.to_end = colon + 1 == text.size();
    const bool starts = colon == 0 || parse_integer(text.substr(0, colon), selection.first);
    const bool ends = selection.to_end || parse_integer(text.substr(colon + 1), selection.last);
    if (starts && ends) return selection;
  }
  if (text.empty()) {
    fail<UsageError>("'", escaped(dim), "=': wanted an index (3), a range (2:5), mean, max, all or a label");
  }
  selection.kind = Kind::label;
  selection.label = text.starts_with('=') ? text.substr(1) : text;
  return selection;
}

Selection parse_selection(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    fail<UsageError>("--slice '", escaped(text), "': wanted dimension=index, as in head=3");
  }
  return parse_selection(text.substr(0, equals), text.substr(equals + 1));
}

std::string Axis::name_at(std::int64_t index) const {
  return labels.empty() ? std::to_string(first + index) : labels[static_cast<std::size_t>(index)];
}

Slice take_slice(const TensorMap& map, const std::string& path, const std::vector<Selection>& selections) {
  Cutter cutter(map, path);
  // Lengths differ by sentence and rank, so these come first; then padding is known and removed.
  const auto decides_length = [](const Selection& c) { return c.dim == "sentence" || c.dim == "rank"; };
  for (const auto& selection : selections) {
    if (decides_length(selection)) cutter.take(selection);
  }
  cutter.cut_padding();
  for (const auto& selection : selections) {
    if (!decides_length(selection)) cutter.take(selection);
  }
  for (const auto& selection : selections) cutter.reduce_by(selection);
  return std::move(cutter).finish();
}

std::vector<double> numbers(const Slice& slice) {
  if (slice.values.dtype() == DType::string) fail("/", escaped(slice.name), " holds text, wanted numbers");
  return numbers(slice.values);
}

}  // namespace heed::draw
