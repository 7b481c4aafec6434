// The forms of viz-dump that are pictures, text on the terminal, or both.
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/glob.h"
#include "base/log.h"
#include "base/paths.h"
#include "draw/chart/top_bars.h"
#include "draw/dump/forms.h"
#include "draw/graph/model_graph.h"
#include "draw/page/page.h"
#include "draw/picture/arcs.h"
#include "draw/picture/document.h"
#include "draw/picture/over_picture.h"
#include "draw/print/printable.h"
#include "draw/select/merge_words.h"
#include "draw/select/statistics.h"
#include "draw/select/tensors.h"
#include "io/text_writer.h"

namespace heed::draw {
namespace {

constexpr std::size_t kMostHistograms = 200;

/// Writes the requested pictures.
void write_pictures(const DumpOptions& options, const std::function<std::string(PictureFormat)>& picture) {
  for (const auto& [path, format] : {std::pair(options.png, PictureFormat::png),
                                     {options.svg, PictureFormat::svg},
                                     {options.pdf, PictureFormat::pdf}}) {
    if (path.empty()) continue;
    if (path == "-" && isatty(STDOUT_FILENO) == 1) {
      fail<UsageError>("a picture is binary and stdout is a terminal: redirect it, or use --heatmap");
    }
    io::write_file(path, picture(format));
  }
}

/// write_drawing() of something that `draw` turns into a picture.
template <class Drawn>
void write_drawing(const DumpOptions& options, const Drawn& drawn,
                   std::string (*draw)(const Drawn&, PictureFormat)) {
  write_drawing(
      options, [&](PictureFormat format) { return draw(drawn, format); },
      [&](const Terminal& terminal) { return draw_on_terminal(drawn, terminal); });
}

std::optional<Range> range_of(const DumpOptions& options) {
  if (options.figure.range.empty()) return std::nullopt;
  return parse_range(options.figure.range);
}

/// Visits the selected slices, reduced to a size that a picture can show.
void visit_for_picture(const DumpOptions& options, const VisitSlice& visit) {
  io::FrameReader reader = open_input(options);
  visit_single(options, reader, complete_for_picture, "a picture",
               [&](const TensorMap& frame, const Slice& slice, std::int64_t sentence) {
                 at_place(reader.name(), [&] { visit(frame, slice, sentence); });
               });
}

/// The rows selected by --pin, by word or position.
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
  // The weight of a word on itself is drawn as a ring; if rows and columns differ, two columns are needed.
  arcs.in_line = !options.columns && map.rows == map.columns && map.row_labels == map.column_labels &&
                 map.first_row == map.first_column;
  arcs.threshold = options.threshold >= 0 ? options.threshold : 0.05 * map.range.high;
  arcs.pinned = pinned_rows(map, options.pins);
  arcs.most = options.top;
  arcs.map = std::move(map);
  return arcs;
}

// ---- charts ----

Chart chart_of(const DumpOptions& options) {
  std::vector<ColumnTable> tables = {read_columns(options.input(), options.name)};
  for (const auto& path : options.chart.overlays) tables.push_back(read_columns(path, options.name));
  Chart chart = options.bars ? bars_of(tables, options.chart) : curves_of(tables, options.chart);
  chart.title = options.figure.title;
  chart.y_range = range_of(options);
  if (chart.y_range && chart.log_y && chart.y_range->low <= 0) {
    fail<UsageError>("--range ", escaped(options.figure.range), ": a logarithmic axis begins above 0");
  }
  chart.write_values = options.figure.write_values;
  return chart;
}

/// While it grows, a table without rows is not an error.
std::string drawn_while_growing(const DumpOptions& options) {
  if (read_columns(options.input(), options.name).rows() == 0)
    return escaped(options.input()) + ": no rows yet\n";
  return draw_on_terminal(chart_of(options), detect_terminal(options.color));
}

// ---- histograms ----

/// The numeric tensors below the group `name`, or that match a glob; for a model without a name, its
/// parameters. Empty if the name selects a single tensor.
std::vector<Gathered> gather_group(const DumpOptions& options) {
  if (options.inputs.size() > 1 || options.input() == "-") return {};
  std::vector<Gathered> list;
  std::string group = without_root(options.name);
  const auto is_in_group = [&](const std::string& path) {
    return is_glob(group) ? glob_means(group, path) : path.starts_with(group + "/");
  };
  const TensorMap map = read_meant(
      options.input(), [&](const std::string& path) { return path == group || is_in_group(path); });
  if (group.empty() && map.contains("model/config")) group = "model/parameters";
  if (group.empty() || map.contains(group) || !info_of(map, group).signal.empty()) return {};
  const bool has_glob = is_glob(group);
  for (const auto& [path, tensor] : map.tensors()) {
    if (!is_in_group(path) || tensor.dtype() == DType::string || tensor.size() == 0) continue;
    list.push_back({path, numbers(tensor)});
  }
  if (has_glob) logging::verbose(concat("--name ", options.name, ": ", list.size(), " tensors"));
  if (list.size() > kMostHistograms) {
    fail(escaped(options.input()), ": /", escaped(group), " holds ", list.size(), " tensors, wanted at most ",
         kMostHistograms, ": choose a smaller group by --name");
  }
  return list;
}

Chart histogram_of(const Gathered& gathered, const DumpOptions& options) {
  const Histogram counted = histogram(gathered.values, options.bins, range_of(options));
  const Statistics s = statistics(gathered.values);
  Chart chart;
  chart.is_histogram = true;
  chart.title = options.figure.title.empty() ? gathered.name : options.figure.title;
  chart.subtitle = concat(s.count, " values, mean ", rounded(s.mean), ", deviation ", rounded(s.deviation));
  chart.x_title = "value";
  chart.y_title = "values per bin";
  Series series{"count", {}, {}};
  for (std::size_t bin = 0; bin <= counted.counts.size(); ++bin) series.x.push_back(counted.edge(bin));
  for (std::int64_t count : counted.counts) series.y.push_back(static_cast<double>(count));
  chart.series.push_back(std::move(series));
  return chart;
}

void dump_histograms(const DumpOptions& options, const std::vector<Gathered>& group) {
  std::vector<Chart> charts;
  for (const Gathered& gathered : group) {
    Chart chart = histogram_of(gathered, options);
    chart.title = gathered.name;
    charts.push_back(std::move(chart));
  }
  double width = 300;  // all as wide as the longest title, so that no part of the picture stays empty
  for (const Chart& chart : charts) width = std::max(width, heading_size(chart.title, chart.subtitle).width);
  for (Chart& chart : charts) chart.plot = {width, 110};
  const std::size_t across = std::min<std::size_t>(charts.size(), charts.size() <= 8 ? 2 : 4);
  write_drawing(
      options, [&](PictureFormat format) { return draw_charts(charts, across, format); },
      [&](const Terminal& terminal) {
        std::string text;
        for (const Chart& chart : charts) text += draw_on_terminal(chart, terminal) + "\n";
        return text;
      });
}

// ---- over a picture ----

/// Attention over an image has one key per place, and places have no words.
void expect_places(const TensorMap& frame, const Slice& slice) {
  const Tensor& whole = frame.at(slice.name);
  const std::vector<std::string> dims = dims_of(whole);
  if (!slice.axes.empty() && slice.axes.back().name == "key" && slice.axes.back().labels.empty()) {
    const auto keys = static_cast<std::size_t>(std::ranges::find(dims, "key") - dims.begin());
    if (keys < dims.size() && slice.values.shape().back() == whole.shape()[keys]) return;
  }
  fail("/", escaped(slice.name),
       ": its columns are not the places of an image: --over wants attention of a model that reads images, "
       "with all its keys");
}

// ---- documents ----

/// The weights of `attention`, from decode --attention or a trace.
std::string weights_of(const TensorMap& frame, const std::string& attention, const std::string& input) {
  for (const char* place : {"/weights", "/weights/values"})
    if (frame.contains(attention + place)) return attention + place;
  fail(escaped(input), ": no ", attention,
       "/weights: a document is drawn from what decode --attention or --trace keeps of a model of documents");
}

/// The first layer and head of a document's weights (query, key).
Slice weights_slice(const TensorMap& frame, const std::string& path, std::int64_t document) {
  std::vector<Selection> first;
  for (const std::string& dim : dims_of(frame.at(path)))
    if (dim != "query" && dim != "key")
      first.push_back({dim, Selection::Kind::index, dim == "sentence" ? document : 0});
  return take_slice(frame, path, first);
}

}  // namespace

void write_drawing(const DumpOptions& options, const std::function<std::string(PictureFormat)>& picture,
                   const std::function<std::string(const Terminal&)>& text) {
  write_pictures(options, picture);
  if (wants_pictures(options) && !options.heatmap) return;
  io::write_file(is_picture(options.output) ? "-" : options.output, text(detect_terminal(options.color)));
}

Heatmap chosen_heatmap(const DumpOptions& options) {
  Heatmap map;
  visit_for_picture(options, [&](const TensorMap& frame, const Slice& slice, std::int64_t) {
    map = heatmap_of(frame, slice, options.figure);
  });
  return map;
}

void dump_figure(const DumpOptions& options) {
  const Heatmap figure = options.table ? heatmap_of_table(read_columns(options.input(), ""), options.figure)
                                       : chosen_heatmap(options);
  if (const std::string shown = missing_labels(figure); wants_pictures(options) && !shown.empty())
    logging::note(
        concat("the picture has room for ", shown, ": choose a part by --slice, --layer or --head"));
  write_drawing(options, figure, draw_heatmap);
}

void dump_over(const DumpOptions& options) {
  const TensorMap found = io::read_map(options.over);
  Heatmap map;
  std::int64_t image = 0;
  visit_for_picture(options, [&](const TensorMap& frame, const Slice& slice, std::int64_t sentence) {
    expect_places(frame, slice);
    map = heatmap_of(frame, slice, options.figure);
    image = std::max<std::int64_t>(sentence, 0);
  });
  const OverPicture drawn = at_place("--over " + name_of_input(options.over), [&] {
    return over_picture(map, found.at(find_tensor(found, "")), image);
  });
  write_pictures(options, [&](PictureFormat format) { return draw_over_picture(drawn, format); });
}

void dump_arcs(const DumpOptions& options) {
  Heatmap map;
  visit_for_picture(options, [&](const TensorMap& frame, const Slice& slice, std::int64_t) {
    map = heatmap_of(frame, slice, options.figure);
    if (map.range.low < 0)
      fail("arcs draw weights from 0 upwards, and there are negative values: try --heatmap");
  });
  write_drawing(options, arcs_from(options, std::move(map)), draw_arcs);
}

void dump_document(const DumpOptions& options) {
  io::FrameReader reader = open_input(options);
  std::optional<Document> document;
  visit_sentences(
      reader,
      [&](const TensorMap& frame, std::vector<Selection>&) {
        return weights_of(frame, "word_attention", reader.name());
      },
      selections_of(options),
      [&](const TensorMap& frame, SentenceAt at, const std::vector<Selection>&) {
        if (document) fail<UsageError>("--document shows one document: choose it by --sentence");
        const auto slice = [&](const std::string& attention) {
          return weights_slice(frame, weights_of(frame, attention, reader.name()),
                               std::max<std::int64_t>(at.in_frame, 0));
        };
        const Slice words = slice("word_attention"), sentences = slice("sentence_attention");
        document = at_place(reader.name(), [&] {
          return document_of(options.words ? merge_words(words) : words, sentences);
        });
        document->title = options.figure.title;
        document->subtitle = concat("document ", at.in_stream);
      });
  if (!document) fail(escaped(reader.name()), ": there is no document in it");
  write_drawing(options, *document, draw_document);
}

void dump_chart(const DumpOptions& options) {
  if (!options.follow) return write_drawing(options, chart_of(options), draw_chart);
  if (wants_pictures(options) || options.output != "-" || options.input() == "-") {
    fail<UsageError>("--follow redraws a file on the terminal: it needs a file as input and no -o");
  }
  follow(options.input(), options.stop, [&] { return drawn_while_growing(options); });
}

void dump_bars(const DumpOptions& options) {
  if (options.top == 0) return dump_chart(options);
  TopBars bars;
  visit_for_picture(options, [&](const TensorMap& frame, const Slice& slice, std::int64_t) {
    bars = top_bars_of(slice, options.top);
    bars.title = title_of(frame, slice, options.figure);
    bars.subtitle = subtitle_of(frame, slice, bars.title);
    bars.quantity = quantity_of(frame, slice);
  });
  bars.range = range_of(options).value_or(bars.range);
  write_drawing(options, bars, draw_top_bars);
}

void dump_histogram(const DumpOptions& options) {
  if (const auto group = gather_group(options); !group.empty() && !options.tsv) {
    if (!selections_of(options).empty() || options.words || !options.figure.title.empty())
      fail<UsageError>(
          "the histograms of a group are of whole tensors, each with its name: choose one by --name");
    return dump_histograms(options, group);
  }
  const Gathered gathered = gather(options);
  if (!options.tsv) return write_drawing(options, histogram_of(gathered, options), draw_chart);
  io::write_file(options.output, histogram_tsv(histogram(gathered.values, options.bins, range_of(options))));
}

void dump_graph(const DumpOptions& options) {
  const std::optional<ModelShapes> foreign = options.foreign_model(options.input());
  TensorMap map, further;
  if (!foreign) {
    io::FrameReader reader(options.input());
    reader.next(map);
    while (reader.next(further)) {  // it has the same steps, but a failing producer must be noticed
    }
  }
  Graph graph = at_place(name_of_input(options.input()), [&] {
    return foreign ? model_graph(*foreign, options.name) : model_graph(map, options.name);
  });
  if (!options.figure.title.empty()) graph.title = options.figure.title;
  write_drawing(
      options, [&](PictureFormat format) { return draw_graph(graph, format); },
      [&](const Terminal&) { return dot(graph); });
}

void dump_page(const DumpOptions& options) {
  io::FrameReader reader = open_input(options);
  io::TextWriter output(options.html);
  const PageOptions page{options.figure.title, options.figure.range, options.figure.colormap};
  output.write(html_page(reader, options.name, selections_of(options), page));
  output.finish();
}

}  // namespace heed::draw
