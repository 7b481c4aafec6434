// viz-dump --curves and --bars.
#include "base/error.h"
#include "draw/dump/forms.h"
#include "draw/terminal/follow.h"
#include "draw/dump/output.h"

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

/// A table that has no rows yet is no error while it grows.
std::string drawn_while_growing(const DumpOptions& options) {
  if (read_columns(options.input, options.name).rows() == 0)
    return escaped(options.input) + ": no rows yet\n";
  return draw_on_terminal(chart_of(options), detect_terminal(options.color));
}

}  // namespace

void dump_chart(const DumpOptions& options) {
  if (options.follow) {
    if (wants_pictures(options) || options.output != "-" || options.input == "-") {
      fail<UsageError>("--follow draws a file on the terminal, over and over");
    }
    follow(options.input, options.stop, [&] { return drawn_while_growing(options); });
    return;
  }
  const Chart chart = chart_of(options);
  write_drawing(options, {[&](PictureFormat format) { return draw_chart(chart, format); },
                          [&](const Terminal& terminal) { return draw_on_terminal(chart, terminal); }});
}

}  // namespace heed::draw
