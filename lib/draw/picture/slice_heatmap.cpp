#include "draw/picture/slice_heatmap.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/error.h"
#include "base/paths.h"
#include "draw/select/tensors.h"

namespace heed::draw {
namespace {

bool is_chosen(const std::vector<Selection>& selections, const std::string& dim, std::size_t axis) {
  return std::any_of(selections.begin(), selections.end(),
                     [&](const Selection& c) { return c.dim == dim || c.dim == std::to_string(axis); });
}

constexpr std::int64_t kMostCellWords = 40;     // in either direction, that cells have room for
constexpr std::int64_t kMostWrittenCells = 20;  // per axis

/// The axes of cross-attention say which side is the output and which the input.
std::string axis_name(const TensorMap& map, const Slice& slice, const std::string& dim) {
  const bool cross = text_attribute(map.at(slice.name).attributes, "kind") == "cross" ||
                     parent_of(slice.name) == "cross_attention";
  if (cross && dim == "query") return "output (query)";
  if (cross && dim == "key") return "input (key)";
  return dim;
}

const Colormap& colors_for(const std::string& name, const Range& range) {
  if (name != "auto") return Colormap::named(name);
  return Colormap::named(range.low < 0 && range.high > 0 ? "blue-red" : "viridis");
}

/// "head 0", "head 1", ...
std::vector<std::string> names_along(const Slice& slice, std::size_t axis) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < slice.values.shape()[axis]; ++i) {
    names.push_back(slice.axes[axis].name + " " + slice.axes[axis].name_at(i));
  }
  return names;
}

void set_panels(Heatmap& figure, const Slice& slice, const std::vector<double>& values) {
  const std::size_t rank = slice.axes.size();
  const std::int64_t cells = figure.rows * figure.columns;
  for (std::int64_t start = 0; start < std::ssize(values); start += cells) {
    figure.panels.push_back({"", {values.begin() + start, values.begin() + start + cells}});
  }
  if (rank == 3) {
    const auto names = names_along(slice, 0);
    for (std::size_t i = 0; i < names.size(); ++i) figure.panels[i].caption = names[i];
  } else if (rank == 4) {
    figure.panel_rows = names_along(slice, 0);
    figure.panel_columns = names_along(slice, 1);
  }
}

}  // namespace

std::string title_of(const TensorMap& map, const Slice& slice, const FigureOptions& options) {
  if (!options.title.empty()) return options.title;
  const Group& group = info_of(map, parent_of(slice.name));
  if (!group.title.empty()) return group.title;
  const std::string long_name = text_attribute(map.at(slice.name).attributes, "long_name");
  return long_name.empty() ? slice.name : long_name;
}

std::string quantity_of(const TensorMap& map, const Slice& slice) {
  const Attributes& attributes = map.at(slice.name).attributes;
  const std::string long_name = text_attribute(attributes, "long_name");
  const std::string units = text_attribute(attributes, "units");
  const std::string name = long_name.empty() ? leaf_of(slice.name) : long_name;
  return units.empty() || units == "1" ? name : name + " (" + units + ")";
}

std::string subtitle_of(const TensorMap& map, const Slice& slice, const std::string& title) {
  const std::string layer = text_attribute(info_of(map, parent_of(slice.name)).attributes, "model_layer");
  const std::string again = " (" + layer + ")";
  std::string text = slice.name;
  for (const std::string& selection : slice.chosen) {
    const bool repeats =
        !layer.empty() && selection.ends_with(again) && title.find(layer) != std::string::npos;
    text += " \u00b7 " + selection.substr(0, selection.size() - (repeats ? again.size() : 0));
  }
  return text;
}

void complete_for_picture(const TensorMap& map, const std::string& path, std::vector<Selection>& selections) {
  const Tensor& tensor = map.at(path);
  const Group& group = info_of(map, parent_of(path));
  const bool is_signal = path == in_group(parent_of(path), group.signal);
  const auto dims = dims_of(tensor);
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    const bool leads = dims[axis] == "sentence" || axis + 2 < dims.size();
    if (!leads || is_chosen(selections, dims[axis], axis)) continue;
    const auto index = is_signal ? default_index(group, axis).value_or(0) : 0;
    const bool exists = index >= 0 && index < tensor.shape()[axis];
    selections.push_back({dims[axis], Selection::Kind::index, exists ? index : 0});
  }
}

Heatmap heatmap_of(const TensorMap& map, const Slice& slice, const FigureOptions& options) {
  if (slice.values.dtype() == DType::string) {
    fail("/", escaped(slice.name), " holds text; a heat map needs numbers");
  }
  const std::size_t rank = slice.axes.size();
  if (rank > 4) {
    fail("/", escaped(slice.name), ": ", rank,
         " dimensions remain, a heat map shows two (a third gives several maps, a fourth a grid): choose by "
         "--slice dim=index");
  }
  Heatmap figure;
  figure.rows = figure.columns = 1;
  const auto side = [&](std::size_t from_end) {
    const Axis& of = slice.axes[rank - from_end];
    return std::tuple(slice.values.shape()[rank - from_end], axis_name(map, slice, of.name), of.labels,
                      of.first);
  };
  if (rank >= 1) {
    std::tie(figure.columns, figure.column_axis, figure.column_labels, figure.first_column) = side(1);
  }
  if (rank >= 2) std::tie(figure.rows, figure.row_axis, figure.row_labels, figure.first_row) = side(2);
  if (rank < 2) figure.row_labels = {""};
  const auto values = numbers(slice.values);
  set_panels(figure, slice, values);
  figure.range = options.range.empty() ? natural_range(values) : parse_range(options.range);
  figure.colors = &colors_for(options.colormap, figure.range);
  figure.title = title_of(map, slice, options);
  figure.subtitle = subtitle_of(map, slice, figure.title);
  if (figure.subtitle == figure.title) figure.subtitle.clear();
  figure.quantity = quantity_of(map, slice);
  if (rank == 2 && std::max(figure.rows, figure.columns) <= kMostCellWords) figure.words = slice.words;
  figure.write_values = options.write_values || (rank == 2 && holds_integers(slice.values) &&
                                                 std::max(figure.rows, figure.columns) <= kMostWrittenCells);
  return figure;
}

Heatmap heatmap_of_table(const ColumnTable& table, const FigureOptions& options) {
  if (table.columns.size() < 2 || table.rows() == 0)
    fail(table.name, ": a heat map needs a column of names, columns of numbers, and rows");
  const auto rows = static_cast<std::int64_t>(table.rows()),
             columns = static_cast<std::int64_t>(table.columns.size()) - 1;
  std::vector<double> values;
  std::vector<std::string> names;
  for (std::size_t c = 1; c < table.columns.size(); ++c) names.push_back(table.columns[c].name);
  for (std::size_t r = 0; r < table.rows(); ++r) {
    for (std::size_t c = 1; c < table.columns.size(); ++c) {
      values.push_back(table.columns[c].values[r]);
      if (!std::isfinite(values.back()))
        fail(table.name, ": row ", r + 1, ", column ", escaped(table.columns[c].name), " is not a number: '",
             escaped(table.columns[c].texts[r]), "'");
    }
  }
  std::string row_axis = table.columns[0].name;
  if (row_axis.empty() || row_axis == "column" || row_axis.find('/') != std::string::npos) row_axis = "row";
  TensorMap map;
  map.add("table/" + row_axis + "_label",
          Tensor::of<std::string>(table.columns[0].texts, {rows}, {row_axis}));
  map.add("table/column_label", Tensor::of<std::string>(std::move(names), {columns}, {"column"}));
  map.add("table/values", Tensor::of<double>(std::move(values), {rows, columns}, {row_axis, "column"}));
  map.groups["table"] = {"values", table.name, {}, {}};
  Heatmap picture = heatmap_of(map, take_slice(map, "table/values", {}), options);
  picture.subtitle = options.title.empty() ? "" : table.name;
  picture.column_axis.clear();
  picture.quantity = options.quantity;
  return picture;
}

}  // namespace heed::draw
