#include "draw/picture/table_heatmap.h"

#include <cmath>

#include "base/error.h"

namespace heed::draw {

Heatmap heatmap_of_table(const ColumnTable& table, const FigureOptions& options) {
  if (table.columns.size() < 2 || table.rows() == 0)
    fail(table.name, ": a heat map wants a column of names, columns of numbers, and rows");
  const auto rows = static_cast<std::int64_t>(table.rows()),
             columns = static_cast<std::int64_t>(table.columns.size()) - 1;
  std::vector<double> values;
  std::vector<std::string> names;
  for (std::size_t c = 1; c < table.columns.size(); ++c) names.push_back(table.columns[c].name);
  for (std::size_t r = 0; r < table.rows(); ++r) {
    for (std::size_t c = 1; c < table.columns.size(); ++c) {
      values.push_back(table.columns[c].values[r]);
      if (!std::isfinite(values.back()))
        fail(table.name, ": row ", r + 1, ", column ", escaped(table.columns[c].name), " is no number: '",
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
  map.at("table/values").attributes["long_name"] = std::string(" ");
  map.groups["table"] = {"values", table.name, {}, {}};
  return heatmap_of(map, take_slice(map, "table/values", {}), options);
}

}  // namespace heed::draw
