// viz-dump --arcs.
#include <algorithm>

#include "base/error.h"
#include "draw/dump/forms.h"
#include "draw/dump/output.h"
#include "draw/picture/arcs.h"

namespace heed::draw {
namespace {

/// The rows that --pin means, by word or position.
std::vector<std::int64_t> pinned_rows(const Heatmap& map, const std::vector<std::string>& pins) {
  std::vector<std::int64_t> rows;
  for (const auto& pin : pins) {
    bool found = false;
    for (std::int64_t row = 0; row < map.rows; ++row) {
      const bool is_word = !map.row_labels.empty() && map.row_labels[static_cast<std::size_t>(row)] == pin;
      if (!is_word && std::to_string(map.first_row + row) != pin) continue;
      rows.push_back(row);
      found = true;
    }
    if (!found)
      fail("--pin ", escaped(pin), ": there is no such ", escaped(map.row_axis), " here, word or position");
  }
  return rows;
}

Arcs arcs_from(const DumpOptions& options, Heatmap map) {
  Arcs arcs;
  // A word for itself is drawn as a ring; what differs between rows and columns needs two columns.
  arcs.in_line = !options.columns && map.rows == map.columns && map.row_labels == map.column_labels &&
                 map.first_row == map.first_column;
  arcs.threshold = options.threshold >= 0 ? options.threshold : 0.05 * map.range.high;
  arcs.pinned = pinned_rows(map, options.pins);
  arcs.most = options.top;
  arcs.map = std::move(map);
  return arcs;
}

}  // namespace

void dump_arcs(const DumpOptions& options) {
  Heatmap map = chosen_heatmap(options);
  if (map.range.low < 0)
    fail("arcs draw weights from 0 upwards, and there are negative values: try --heatmap");
  const Arcs arcs = arcs_from(options, std::move(map));
  write_drawing(options, {[&](PictureFormat format) { return draw_arcs(arcs, format); },
                          [&](const Terminal& terminal) { return draw_on_terminal(arcs, terminal); }});
}

}  // namespace heed::draw
