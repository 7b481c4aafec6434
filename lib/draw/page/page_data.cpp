#include "draw/page/page_data.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include "base/digest.h"
#include "base/error.h"
#include "base/paths.h"
#include "draw/picture/colormap.h"
#include "draw/print/printable.h"
#include "draw/select/tensors.h"
#include "draw/select/value_range.h"

namespace heed::draw {
namespace {

using Json = nlohmann::json;
using Kind = Selection::Kind;

constexpr std::size_t kLongestLabel = 200;

/// An attribute as the page shows it.
std::string shown_text(const Attributes& attributes, const std::string& name) {
  return printable(text_attribute(attributes, name), kLongestLabel);
}

/// `selections` with the names of dimensions instead of their numbers, and an index as a range of one
/// element.
std::vector<Selection> that_keep_dimensions(std::vector<Selection> selections,
                                            const std::vector<std::string>& dims) {
  for (auto& selection : selections) {
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      if (selection.dim == std::to_string(axis)) selection.dim = dims[axis];
    }
    if (selection.kind != Kind::index) continue;
    selection.kind = Kind::range;
    selection.last = selection.first + 1;
    selection.to_end = selection.last == 0;
  }
  return selections;
}

const Selection* selection_of(const std::vector<Selection>& selections, const std::string& dim) {
  const auto found =
      std::find_if(selections.begin(), selections.end(), [&](auto& c) { return c.dim == dim; });
  return found == selections.end() ? nullptr : &*found;
}

bool is_reduced(const Selection* selection) {
  return selection && (selection->kind == Kind::mean || selection->kind == Kind::max);
}

/// The dimensions that make items: rank, and all but the last two of those that lead to a map.
std::vector<std::string> outer_dims(const Tensor& main, const std::vector<Selection>& selections) {
  std::vector<std::string> outer, lead;
  const auto dims = dims_of(main);
  for (std::size_t axis = 0; axis + 2 < dims.size(); ++axis) {
    if (dims[axis] == "sentence" || is_reduced(selection_of(selections, dims[axis]))) continue;
    (dims[axis] == "rank" ? outer : lead).push_back(dims[axis]);
  }
  if (lead.size() > 2) outer.insert(outer.end(), lead.begin(), lead.end() - 2);
  return outer;
}

std::int64_t size_along(const Tensor& tensor, const std::string& dim) {
  return tensor.shape()[*axis_named(dims_of(tensor), dim)];
}

/// The selected elements [first, last) of a dimension; take_slice() refuses those out of range.
std::pair<std::int64_t, std::int64_t> elements(const Selection* selection, std::int64_t size) {
  if (!selection || selection->kind == Kind::all) return {0, size};
  const auto from_start = [&](std::int64_t i) { return i < 0 ? i + size : i; };
  return {from_start(selection->first), selection->to_end ? size : from_start(selection->last)};
}

/// Replaces the selection of a dimension.
void set_index(std::vector<Selection>& selections, const std::string& dim, std::int64_t index) {
  std::erase_if(selections, [&](const Selection& c) { return c.dim == dim; });
  selections.insert(selections.begin(), Selection{dim, Kind::index, index});
}

std::vector<Selection> for_tensor(const Tensor& tensor, const std::vector<Selection>& selections) {
  const auto dims = dims_of(tensor);
  std::vector<Selection> fitting;
  std::copy_if(selections.begin(), selections.end(), std::back_inserter(fitting),
               [&](const Selection& c) { return axis_named(dims, c.dim).has_value(); });
  return fitting;
}

std::string float_bytes(const Tensor& tensor) {
  static_assert(std::endian::native == std::endian::little, "the page's blocks are little-endian");
  return visit_values(tensor, []<class T>(std::span<const T> values) -> std::string {
    std::vector<float> floats;
    if constexpr (!std::is_same_v<T, std::string>) {
      std::transform(values.begin(), values.end(), std::back_inserter(floats),
                     [](T value) { return static_cast<float>(value); });
    }
    return base64({reinterpret_cast<const char*>(floats.data()), floats.size() * sizeof(float)});
  });
}

Json range_of(const Tensor& tensor) {
  const Range range = natural_range(numbers(tensor));
  return {range.low, range.high};
}

void widen(Json& range, const Json& other) {
  if (range.is_null()) range = other;
  range[0] = std::min(range[0].get<double>(), other[0].get<double>());
  range[1] = std::max(range[1].get<double>(), other[1].get<double>());
}

/// The initial view of the page: the group's default_slice.
Json start_of(const Group& info, const Tensor& main) {
  Json start = Json::object();
  const auto dims = dims_of(main);
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (const auto index = default_index(info, axis)) start[dims[axis]] = *index;
  }
  return start;
}

// ---- which tensors are shown ----

bool holds_maps(const Tensor& tensor) {
  const auto& dims = tensor.dims();
  return tensor.dtype() != DType::string && dims.size() >= 2 && dims.back() == "key" &&
         dims[dims.size() - 2] == "query";
}

bool is_stage(const TensorMap& map, const PageTensors& part, const std::string& path) {
  if (path == part.main || parent_of(path) != part.group) return false;
  const Tensor& tensor = map.at(path);
  if (tensor.dtype() != DType::f32 && tensor.dtype() != DType::f64) return false;
  const bool is_product = path == in_group(part.group, "weighted_values") &&
                          map.contains(in_group(part.group, "weights")) &&
                          map.contains(in_group(part.group, "value_vector"));
  return !is_product && (axis_named(tensor.dims(), "query") || axis_named(tensor.dims(), "key"));
}

PageTensors part_around(const TensorMap& map, const std::string& main) {
  PageTensors part{parent_of(main), main, {}};
  if (!holds_maps(map.at(main))) return part;
  for (const auto& [path, tensor] : map.tensors()) {
    if (is_stage(map, part, path)) part.stages.push_back(path);
  }
  return part;
}

/// The default tensors: the attention weights of every group, those of the file's default group first.
std::vector<std::string> attention_of(const TensorMap& map) {
  std::vector<std::string> mains;
  for (const auto& [path, tensor] : map.tensors()) {
    const std::string group = parent_of(path);
    const std::string& signal = info_of(map, group).signal;
    const std::string main = in_group(group, signal.empty() ? "weights" : signal);
    if (path == main && holds_maps(tensor)) mains.push_back(path);
  }
  const std::string first = without_root(text_attribute(map.attributes, "default"));
  std::ranges::stable_partition(mains, [&](const std::string& main) { return parent_of(main) == first; });
  return mains;
}

}  // namespace

std::vector<PageTensors> page_tensors_of(const TensorMap& map, const std::string& name) {
  std::vector<std::string> mains = name.empty() ? attention_of(map) : std::vector<std::string>{};
  if (mains.empty()) mains.push_back(find_tensor(map, name));
  std::vector<PageTensors> parts;
  for (const auto& main : mains) {
    if (map.at(main).dtype() == DType::string) fail("/", escaped(main), " holds text; a page needs numbers");
    parts.push_back(part_around(map, main));
  }
  return parts;
}

void PageData::add(const TensorMap& frame, const PageTensors& part, SentenceAt at,
                   const std::vector<Selection>& given) {
  const Tensor& main = frame.at(part.main);
  std::vector<Selection> selections = that_keep_dimensions(given, dims_of(main));
  Json position = Json::array();
  std::vector<std::string> outer;
  if (at.in_stream >= 0) {
    set_index(selections, "sentence", at.in_frame);
    position.push_back(at.in_stream);
    outer.emplace_back("sentence");
  }
  const auto further = outer_dims(main, selections);
  outer.insert(outer.end(), further.begin(), further.end());
  Json& group = group_for(frame, part, outer);

  // Counts through all combinations of the further dimensions.
  const auto visit = [&](auto&& self, std::size_t depth, const std::vector<Selection>& chosen,
                         const Json& place) -> void {
    if (depth == further.size()) return add_item(frame, part, group, chosen, place);
    const auto [first, last] =
        elements(selection_of(chosen, further[depth]), size_along(main, further[depth]));
    if (first >= last) take_slice(frame, part.main, chosen);  // says what is wrong
    for (std::int64_t i = first; i < last; ++i) {
      auto narrower = chosen;
      set_index(narrower, further[depth], i);
      Json next = place;
      next.push_back(i);
      self(self, depth + 1, narrower, next);
    }
  };
  visit(visit, 0, selections, position);
}

Json& PageData::group_for(const TensorMap& frame, const PageTensors& part,
                          const std::vector<std::string>& outer) {
  for (auto& group : groups_) {
    if (group["path"] == part.main) return group;
  }
  const Group& info = info_of(frame, part.group);
  Json quantity = Json::object();
  for (const auto& path : part.stages)
    quantity[leaf_of(path)] = shown_text(frame.at(path).attributes, "long_name");
  const Tensor& main = frame.at(part.main);
  quantity[leaf_of(part.main)] = shown_text(main.attributes, "long_name");
  Json sizes = Json::object();
  for (const auto& dim : dims_of(main)) sizes[dim] = size_along(main, dim);
  groups_.push_back({{"name", part.group},
                     {"path", part.main},
                     {"title", printable(info.title, kLongestLabel)},
                     {"kind", shown_text(main.attributes, "kind")},
                     {"model_layer", shown_text(info.attributes, "model_layer")},
                     {"main", leaf_of(part.main)},
                     {"outer", outer},
                     {"quantity", quantity},
                     {"range", nullptr},
                     {"sizes", sizes},
                     {"start", start_of(info, main)},
                     {"items", Json::array()}});
  return groups_.back();
}

void PageData::add_item(const TensorMap& frame, const PageTensors& part, Json& group,
                        const std::vector<Selection>& selections, Json at) {
  const Slice main = take_slice(frame, part.main, selections);
  if (main.values.size() == 0) return;  // a missing rank
  Json item = {{"at", std::move(at)}, {"labels", Json::object()}, {"tensors", Json::array()}};
  item["chosen"] = Json::array();
  const bool reduced =
      std::any_of(selections.begin(), selections.end(), [](auto& c) { return is_reduced(&c); });
  for (const auto& selection : selections) {
    if (is_reduced(&selection))
      item["chosen"].push_back(selection.dim + (selection.kind == Kind::mean ? " mean" : " max"));
  }
  const auto add_slice = [&](const Slice& slice) {
    item["tensors"].push_back(tensor(slice));
    for (const auto& axis : slice.axes) {
      if (axis.labels.empty() || item["labels"].contains(axis.name)) continue;
      Json& labels = item["labels"][axis.name] = Json::array();
      for (const auto& label : axis.labels) labels.push_back(printable(label, kLongestLabel));
    }
  };
  add_slice(main);
  widen(group["range"], item["tensors"][0]["range"]);
  for (const auto& path : part.stages) {
    if (!reduced) add_slice(take_slice(frame, path, for_tensor(frame.at(path), selections)));
  }
  size_ += item.dump(-1, ' ', false, Json::error_handler_t::replace).size();
  group["items"].push_back(std::move(item));
}

Json PageData::tensor(const Slice& slice) {
  Json dims = Json::array(), first = Json::array();
  for (const auto& axis : slice.axes) {
    dims.push_back(printable(axis.name));
    first.push_back(axis.first);
  }
  expect_room(slice);
  blocks_.push_back(float_bytes(slice.values));
  size_ += blocks_.back().size();
  return {{"name", leaf_of(slice.name)},     {"dims", dims},
          {"shape", slice.values.shape()},   {"first", first},
          {"range", range_of(slice.values)}, {"block", blocks_.size() - 1}};
}

void PageData::expect_room(const Slice& slice) const {
  constexpr std::size_t bytes_per_value = 6;  // four of them in base64, rounded up
  if (size_ + bytes_per_value * static_cast<std::size_t>(slice.values.size()) <= limit_) return;
  const auto items = groups_[0]["items"];
  const bool by_sentence = !items.empty() && groups_[0]["outer"] == Json{"sentence"};
  fail<UsageError>(escaped(input_), ": a page of all this would exceed ", limit_ >> 20, " MB",
                   by_sentence ? concat(" (", items.size(), " sentences fit)") : "",
                   ": choose by --name, --sentence or --slice sentence=0:",
                   std::max<std::size_t>(items.size() / 2, 1), ", --layer and --head");
}

}  // namespace heed::draw
