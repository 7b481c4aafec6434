// viz-dump --curves and --bars, of a table or of the greatest values (--top).
#include "base/error.h"
#include "draw/chart/top_bars.h"
#include "draw/dump/forms.h"
#include "draw/dump/output.h"
#include "draw/terminal/follow.h"

namespace heed::draw {
namespace {

Chart chart_of(const DumpOptions& options) {
  std::vector<ColumnTable> tables = {read_columns(options.input, options.name)};
  for (const auto& path : options.chart.overlays) tables.push_back(read_columns(path, options.name));
  Chart chart = options.bars ? bars_of(tables, options.chart) : curves_of(tables, options.chart);
  chart.title = options.figure.title;
  if (!options.figure.range.empty()) chart.y_range = parse_range(options.figure.range);
  if (chart.y_range && chart.log_y && chart.y_range->low <= 0) {
    fail<UsageError>("--range ", escaped(options.figure.range), ": a logarithmic axis begins above 0");
  }
  chart.write_values = options.figure.write_values;
  return chart;
}

/// While it grows, a table without rows is not an error.
std::string drawn_while_growing(const DumpOptions& options) {
  if (read_columns(options.input, options.name).rows() == 0)
    return escaped(options.input) + ": no rows yet\n";
  return draw_on_terminal(chart_of(options), detect_terminal(options.color));
}

}  // namespace

void dump_chart(const DumpOptions& options) {
  if (options.follow) {
    if (wants_pictures(options) || options.output != "-" || options.input == "-") {
      fail<UsageError>("--follow redraws a file on the terminal: it wants a file as input and no -o");
    }
    follow(options.input, options.stop, [&] { return drawn_while_growing(options); });
    return;
  }
  const Chart chart = chart_of(options);
  write_drawing(options, {[&](PictureFormat format) { return draw_chart(chart, format); },
                          [&](const Terminal& terminal) { return draw_on_terminal(chart, terminal); }});
}

void dump_top_bars(const DumpOptions& options) {
  io::FrameReader reader(options.input);
  TopBars bars;
  visit_single(options, reader, complete_for_picture, "a picture",
               [&](const TensorMap& frame, const Slice& slice) {
                 bars = top_bars_of(slice, options.top);
                 bars.title = title_of(frame, slice, options.figure);
                 bars.subtitle = subtitle_of(slice);
                 bars.quantity = quantity_of(frame, slice);
               });
  if (!options.figure.range.empty()) bars.range = parse_range(options.figure.range);
  write_drawing(options, {[&](PictureFormat format) { return draw_top_bars(bars, format); },
                          [&](const Terminal& terminal) { return draw_on_terminal(bars, terminal); }});
}

}  // namespace heed::draw
