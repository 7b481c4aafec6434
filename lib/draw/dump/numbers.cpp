// viz-dump --top, --stats, --histogram and --npy: numbers rather than pictures (but a histogram may be one).
#include <unistd.h>

#include <cmath>
#include <optional>

#include "base/error.h"
#include "draw/chart/chart.h"
#include "draw/dump/forms.h"
#include "draw/dump/output.h"
#include "draw/print/npy.h"
#include "draw/print/printable.h"
#include "draw/select/find_tensor.h"
#include "draw/select/merge_words.h"
#include "draw/select/statistics.h"
#include "draw/select/strongest.h"
#include "draw/select/values.h"
#include "io/text_writer.h"

namespace heed::draw {
namespace {

constexpr std::int64_t kMostValues = std::int64_t{1} << 27;  // 1 GiB of doubles
constexpr std::size_t kMostHistograms = 200;

/// The values of all chosen slices and the name of their tensor.
struct Gathered {
  std::string name;
  std::vector<double> values;
};

Gathered gather(const DumpOptions& options) {
  Gathered gathered;
  io::FrameReader reader(options.input);
  visit_chosen(options, reader, keep_all, [&](const TensorMap&, const Slice& slice, std::int64_t) {
    if (slice.values.dtype() == DType::string) fail("/", escaped(slice.name), " holds text, wanted numbers");
    const auto values = numbers(slice.values);
    if (std::ssize(gathered.values) + std::ssize(values) > kMostValues) {
      fail("/", escaped(slice.name), ": more than ", kMostValues,
           " values: choose some of them (--sentence, --slice)");
    }
    gathered.name = slice.name;
    gathered.values.insert(gathered.values.end(), values.begin(), values.end());
  });
  return gathered;
}

/// The numeric tensors below the group `name`; of a model without a name, its parameters. Empty when the name
/// means one tensor.
std::vector<Gathered> gather_group(const DumpOptions& options) {
  if (options.input == "-") return {};
  std::vector<Gathered> list;
  const TensorMap map = io::read_map(options.input);
  std::string group = options.name.starts_with('/') ? options.name.substr(1) : options.name;
  if (group.empty() && map.contains("model/config")) group = "model/parameters";
  const auto info = map.groups.find(group);
  if (group.empty() || map.contains(group) || (info != map.groups.end() && !info->second.signal.empty()))
    return {};
  for (const auto& [path, tensor] : map.tensors()) {
    if (!path.starts_with(group + "/") || tensor.dtype() == DType::string || tensor.size() == 0) continue;
    list.push_back({path.substr(group.size() + 1), numbers(tensor)});
  }
  if (list.size() > kMostHistograms) {
    fail(escaped(options.input), ": /", escaped(group), " holds ", list.size(), " tensors, wanted at most ",
         kMostHistograms, ": choose a smaller group by --name");
  }
  return list;
}

std::optional<Range> range_of(const DumpOptions& options) {
  if (options.figure.range.empty()) return std::nullopt;
  return parse_range(options.figure.range);
}

Chart chart_of(const Gathered& gathered, const Histogram& histogram, const DumpOptions& options) {
  const Statistics s = statistics(gathered.values);
  Chart chart;
  chart.is_histogram = true;
  chart.title = options.figure.title.empty() ? gathered.name : options.figure.title;
  chart.subtitle = concat(s.count, " values, mean ", rounded(s.mean), ", deviation ", rounded(s.deviation));
  chart.y_title = "values per bin";
  Series series{"count", {}, {}};
  for (std::size_t bin = 0; bin <= histogram.counts.size(); ++bin) series.x.push_back(histogram.edge(bin));
  for (std::int64_t count : histogram.counts) series.y.push_back(static_cast<double>(count));
  chart.series.push_back(std::move(series));
  return chart;
}

void dump_histograms(const DumpOptions& options, const std::vector<Gathered>& group) {
  std::vector<Chart> charts;
  for (const Gathered& gathered : group) {
    Chart chart = chart_of(gathered, histogram(gathered.values, options.bins, range_of(options)), options);
    chart.title = gathered.name;
    chart.y_title.clear();
    chart.plot = {300, 110};
    charts.push_back(std::move(chart));
  }
  const std::size_t across = std::min<std::size_t>(charts.size(), charts.size() <= 8 ? 2 : 4);
  write_drawing(options, {[&](PictureFormat format) { return draw_charts(charts, across, format); },
                          [&](const Terminal& terminal) {
                            std::string text;
                            for (const Chart& chart : charts)
                              text += draw_on_terminal(chart, terminal) + "\n";
                            return text;
                          }});
}

Tensor chosen_tensor(const DumpOptions& options) {
  io::FrameReader reader(options.input);
  if (is_one_sentence(selections_of(options)))
    return single_slice(options, reader, keep_all, "an .npy file").values;
  const TensorMap map = reader.whole();
  const Slice slice = take_slice(map, find_tensor(map, options.name), selections_of(options));
  return options.words ? merge_words(slice).values : slice.values;
}

}  // namespace

void dump_top(const DumpOptions& options) {
  io::FrameReader reader(options.input);
  io::TextWriter output(options.output);
  const bool single = is_one_sentence(selections_of(options));
  StrongestLines lines(options.top);
  visit_chosen(options, reader, keep_all, [&](const TensorMap&, const Slice& slice, std::int64_t sentence) {
    if (single || sentence < 0) {
      output.write(lines.add(slice));
    } else {
      output.write(lines.add(slice, {{"sentence", std::to_string(sentence)}}));
    }
  });
  output.finish();
}

void dump_stats(const DumpOptions& options) {
  const Statistics all = statistics(gather(options).values);
  write_text(options.output, options.json ? statistics_json(all) : statistics_tsv(all));
}

void dump_histogram(const DumpOptions& options) {
  if (const auto group = gather_group(options); !group.empty() && !options.tsv) {
    dump_histograms(options, group);
    return;
  }
  const Gathered gathered = gather(options);
  const Histogram counted = histogram(gathered.values, options.bins, range_of(options));
  if (options.tsv) {
    write_text(options.output, histogram_tsv(counted));
    return;
  }
  const Chart chart = chart_of(gathered, counted, options);
  write_drawing(options, {[&](PictureFormat format) { return draw_chart(chart, format); },
                          [&](const Terminal& terminal) { return draw_on_terminal(chart, terminal); }});
}

void dump_npy(const DumpOptions& options) {
  if (options.output == "-" && isatty(STDOUT_FILENO) == 1) {
    fail<UsageError>("an .npy file is binary and stdout is a terminal: name a file by -o");
  }
  write_text(options.output, npy(chosen_tensor(options)));
}

}  // namespace heed::draw
