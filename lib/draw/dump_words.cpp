// viz-dump --arcs and --top with --bars: words and their numbers as pictures.
#include <algorithm>

#include "base/error.h"
#include "draw/arcs.h"
#include "draw/dump_forms.h"
#include "draw/labels.h"
#include "draw/ladder.h"
#include "draw/output.h"

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

void dump_ladder(const DumpOptions& options) {
  io::FrameReader reader(options.input);
  Ladder ladder;
  visit_single(options, reader, complete_for_picture, "a picture",
               [&](const TensorMap& frame, const Slice& slice) {
                 ladder = ladder_of(slice, options.top);
                 ladder.title = title_of(frame, slice, options.figure);
                 ladder.subtitle = subtitle_of(slice);
                 ladder.quantity = quantity_of(frame, slice);
               });
  if (!options.figure.range.empty()) ladder.range = parse_range(options.figure.range);
  write_drawing(options, {[&](PictureFormat format) { return draw_ladder(ladder, format); },
                          [&](const Terminal& terminal) { return draw_on_terminal(ladder, terminal); }});
}

}  // namespace heed::draw
