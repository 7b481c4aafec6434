#include "draw/slice.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "draw/select.h"
#include "draw/side.h"
#include "draw/values.h"

namespace heed::draw {
namespace {

using Kind = Choice::Kind;
using State = CutDim::State;

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

/// One tensor being cut down, dimension by dimension.
class Cutter {
 public:
  Cutter(const TensorMap& map, const std::string& path) : map_(map), path_(path), whole_(map.at(path)) {
    const auto names = dims_of(whole_);
    for (std::size_t i = 0; i < names.size(); ++i) {
      dims_.push_back({names[i], whole_.shape()[i], 0, whole_.shape()[i]});
    }
  }

  void take(const Choice& choice) {
    CutDim& dim = find(choice);
    if (choice.kind == Kind::index) take_index(choice, dim);
    if (choice.kind == Kind::range) take_part(choice, dim);
    if (choice.kind == Kind::label) take_labelled(choice, dim);
  }

  void reduce_by(const Choice& choice) {
    if (choice.kind != Kind::mean && choice.kind != Kind::max) return;
    CutDim& dim = find(choice);
    if (dim.count == 0) fail("/", escaped(path_), ": ", escaped(dim.name), " is empty");
    const bool mean = choice.kind == Kind::mean;
    cut_ = reduce(values(), axis_of(dim), mean ? Reduction::mean : Reduction::max);
    dim.state = State::reduced;
    chosen_.push_back(dim.name + (mean ? " mean" : " max"));
  }

  void cut_padding() {
    for (auto& dim : dims_) {
      if (dim.state != State::kept) continue;
      const auto length = length_along(map_, group_of(path_), dims_, dim);
      if (length && *length < dim.count) keep(dim, 0, *length);
    }
  }

  Slice finish() && {
    Slice slice{path_, {}, {}, std::move(chosen_)};
    for (const auto& dim : dims_) {
      if (dim.state != State::kept) continue;
      slice.axes.push_back({dim.name, dim.first, labels_along(map_, group_of(path_), dims_, dim)});
    }
    slice.values = named(values(), slice.axes);
    return slice;
  }

 private:
  /// What is left so far; nothing is copied before the first cut.
  const Tensor& values() const { return cut_ ? *cut_ : whole_; }

  CutDim& find(const Choice& choice) {
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      if (dims_[i].name != choice.dim && std::to_string(i) != choice.dim) continue;
      if (dims_[i].state == State::kept) return dims_[i];
      fail<UsageError>("dimension ", escaped(choice.dim), " is chosen twice");
    }
    fail("/", escaped(path_), " has no dimension '", escaped(choice.dim), "'; it has ", describe(whole_));
  }

  /// Where `dim` is among the dimensions that are left.
  std::size_t axis_of(const CutDim& dim) const {
    const auto before = static_cast<std::size_t>(&dim - dims_.data());
    return static_cast<std::size_t>(std::count_if(dims_.begin(),
                                                  dims_.begin() + static_cast<std::ptrdiff_t>(before),
                                                  [](const CutDim& d) { return d.state == State::kept; }));
  }

  void keep(CutDim& dim, std::int64_t first, std::int64_t count) {
    cut_ = take_range(values(), axis_of(dim), first, count);
    dim.first += first;
    dim.count = count;
  }

  void take_index(const Choice& choice, CutDim& dim) {
    const std::int64_t index = choice.first < 0 ? choice.first + dim.count : choice.first;
    if (index < 0 || index >= dim.count) refuse(dim, concat(choice.first));
    keep(dim, index, 1);
    cut_ = drop_axis(values(), axis_of(dim));
    dim.state = State::fixed;
    chosen_.push_back(concat(dim.name, " ", index));
  }

  void take_labelled(Choice choice, CutDim& dim) {
    const auto labels = labels_along(map_, group_of(path_), dims_, dim);
    const auto is_meant = [&](const std::string& label) {
      return label == choice.label || label == "\u2581" + choice.label;
    };
    const auto found = std::find_if(labels.begin(), labels.end(), is_meant);
    if (found == labels.end()) {
      fail("/", escaped(path_), ": no ", escaped(dim.name), " is labelled '", escaped(choice.label), "'",
           labels.empty() ? why_unlabelled() : "");
    }
    if (std::any_of(found + 1, labels.end(), is_meant)) {
      fail("/", escaped(path_), ": '", escaped(choice.label), "' comes several times along ",
           escaped(dim.name), ": choose by index");
    }
    choice.first = found - labels.begin();
    take_index(choice, dim);
    chosen_.back() += " (" + choice.label + ")";
  }

  /// Words differ by sentence and rank: they have none to be found by while several of these are left.
  std::string why_unlabelled() const {
    for (const auto& dim : dims_) {
      const bool decides = dim.name == "sentence" || dim.name == "rank";
      if (decides && dim.state == State::kept) {
        return concat("; labels differ by ", dim.name, ": choose one first, as in --slice ", dim.name, "=0");
      }
    }
    return "; it has no labels: choose an index";
  }

  void take_part(const Choice& choice, CutDim& dim) {
    const std::int64_t first = choice.first < 0 ? choice.first + dim.count : choice.first;
    const std::int64_t last = choice.to_end     ? dim.count
                              : choice.last < 0 ? choice.last + dim.count
                                                : choice.last;
    if (first < 0 || first >= last || last > dim.count) {
      refuse(dim, concat(choice.first, ":", choice.to_end ? "" : concat(choice.last)));
    }
    if (last - first == dim.count) return;
    keep(dim, first, last - first);
    chosen_.push_back(concat(dim.name, " ", first, ":", last));
  }

  [[noreturn]] void refuse(const CutDim& dim, const std::string& wanted) const {
    fail("/", escaped(path_), ": there is no ", escaped(dim.name), " ", wanted, " among ", dim.count,
         "; it has ", describe(whole_));
  }

  const TensorMap& map_;
  std::string path_;
  const Tensor& whole_;
  std::optional<Tensor> cut_;
  std::vector<CutDim> dims_;
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
