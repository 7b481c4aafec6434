#include "draw/select/slice.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "draw/select/coordinates.h"
#include "draw/select/find_tensor.h"
#include "draw/select/values.h"

namespace heed::draw {
namespace {

using Kind = Selection::Kind;
using State = SlicedDim::State;

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

/// Slices one tensor, dimension by dimension.
class Cutter {
 public:
  Cutter(const TensorMap& map, const std::string& path) : map_(map), path_(path), whole_(map.at(path)) {
    const auto names = dims_of(whole_);
    for (std::size_t i = 0; i < names.size(); ++i) {
      dims_.push_back({names[i], whole_.shape()[i], 0, whole_.shape()[i]});
    }
  }

  void take(const Selection& selection) {
    SlicedDim& dim = find(selection);
    if (selection.kind == Kind::index) take_index(selection, dim);
    if (selection.kind == Kind::range) take_part(selection, dim);
    if (selection.kind == Kind::label) take_labelled(selection, dim);
  }

  void reduce_by(const Selection& selection) {
    if (selection.kind != Kind::mean && selection.kind != Kind::max) return;
    SlicedDim& dim = find(selection);
    if (dim.count == 0) fail("/", escaped(path_), ": ", escaped(dim.name), " is empty");
    const bool mean = selection.kind == Kind::mean;
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
  /// The slice so far; nothing is copied before the first cut.
  const Tensor& values() const { return cut_ ? *cut_ : whole_; }

  SlicedDim& find(const Selection& selection) {
    for (std::size_t i = 0; i < dims_.size(); ++i) {
      if (dims_[i].name != selection.dim && std::to_string(i) != selection.dim) continue;
      if (dims_[i].state == State::kept) return dims_[i];
      fail<UsageError>("dimension ", escaped(selection.dim), " is chosen twice");
    }
    fail("/", escaped(path_), " has no dimension '", escaped(selection.dim), "'; it has ", describe(whole_));
  }

  /// The axis of `dim` among the kept dimensions.
  std::size_t axis_of(const SlicedDim& dim) const {
    const auto before = static_cast<std::size_t>(&dim - dims_.data());
    return static_cast<std::size_t>(std::count_if(dims_.begin(),
                                                  dims_.begin() + static_cast<std::ptrdiff_t>(before),
                                                  [](const SlicedDim& d) { return d.state == State::kept; }));
  }

  void keep(SlicedDim& dim, std::int64_t first, std::int64_t count) {
    cut_ = take_range(values(), axis_of(dim), first, count);
    dim.first += first;
    dim.count = count;
  }

  void take_index(const Selection& selection, SlicedDim& dim) {
    const std::int64_t index = selection.first < 0 ? selection.first + dim.count : selection.first;
    if (index < 0 || index >= dim.count) refuse(dim, concat(selection.first));
    keep(dim, index, 1);
    cut_ = drop_axis(values(), axis_of(dim));
    dim.state = State::fixed;
    chosen_.push_back(concat(dim.name, " ", index));
  }

  void take_labelled(Selection selection, SlicedDim& dim) {
    const auto labels = labels_along(map_, group_of(path_), dims_, dim);
    const auto is_meant = [&](const std::string& label) {
      return label == selection.label || label == "\u2581" + selection.label;
    };
    const auto found = std::find_if(labels.begin(), labels.end(), is_meant);
    if (found == labels.end()) {
      fail("/", escaped(path_), ": no ", escaped(dim.name), " is labelled '", escaped(selection.label), "'",
           labels.empty() ? why_unlabelled() : "");
    }
    if (std::any_of(found + 1, labels.end(), is_meant)) {
      fail("/", escaped(path_), ": '", escaped(selection.label), "' occurs several times along ",
           escaped(dim.name), ": choose by index");
    }
    selection.first = found - labels.begin();
    take_index(selection, dim);
    chosen_.back() += " (" + selection.label + ")";
  }

  /// Labels differ by sentence and rank, so there are none while several of these are kept.
  std::string why_unlabelled() const {
    for (const auto& dim : dims_) {
      const bool decides = dim.name == "sentence" || dim.name == "rank";
      if (decides && dim.state == State::kept) {
        return concat("; labels differ by ", dim.name, ": choose one first, as in --slice ", dim.name, "=0");
      }
    }
    return "; it has no labels: choose an index";
  }

  void take_part(const Selection& selection, SlicedDim& dim) {
    const std::int64_t first = selection.first < 0 ? selection.first + dim.count : selection.first;
    const std::int64_t last = selection.to_end     ? dim.count
                              : selection.last < 0 ? selection.last + dim.count
                                                   : selection.last;
    if (first < 0 || first >= last || last > dim.count) {
      refuse(dim, concat(selection.first, ":", selection.to_end ? "" : concat(selection.last)));
    }
    if (last - first == dim.count) return;
    keep(dim, first, last - first);
    chosen_.push_back(concat(dim.name, " ", first, ":", last));
  }

  [[noreturn]] void refuse(const SlicedDim& dim, const std::string& wanted) const {
    fail("/", escaped(path_), ": there is no ", escaped(dim.name), " ", wanted, " among ", dim.count,
         "; it has ", describe(whole_));
  }

  const TensorMap& map_;
  std::string path_;
  const Tensor& whole_;
  std::optional<Tensor> cut_;
  std::vector<SlicedDim> dims_;
  std::vector<std::string> chosen_;
};

}  // namespace

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

}  // namespace heed::draw
