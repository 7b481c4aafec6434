// Charts of tables: which columns become curves or bars.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "draw/chart/chart.h"
#include "draw/print/printable.h"

namespace heed::draw {
namespace {

const Column& numeric(const ColumnTable& table, const std::string& name) {
  const Column& column = table.at(name);
  if (column.is_numeric) return column;
  const auto word = std::ranges::find_if(column.texts, is_word);
  fail(escaped(table.name), ": column '", escaped(name), "' has ",
       column.texts.empty() ? "no rows"
       : word == column.texts.end()
           ? "no number"
           : concat("'", escaped(*word, 40), "' in row ", word - column.texts.begin() + 1),
       ", wanted numbers");
}

std::vector<double> values_of(const ColumnTable& table, const std::string& name) {
  std::vector<double> values = numeric(table, name).values;
  // `train` writes -1 where it validated nothing (train/metrics.h).
  if (name.starts_with("valid_")) std::replace(values.begin(), values.end(), -1.0, double{NAN});
  return values;
}

/// Whether there is anything to draw.
bool has_values(const ColumnTable& table, const std::string& name) {
  return std::ranges::any_of(values_of(table, name), [](double x) { return !std::isnan(x); });
}

/// "run/a.metrics.tsv" is called "a".
std::string stem(std::string path) {
  path.erase(0, path.rfind('/') + 1);
  for (const char* suffix : {".tsv", ".txt", ".metrics", ".h5"}) {
    if (path.ends_with(suffix)) path.resize(path.size() - std::string(suffix).size());
  }
  return path;
}

std::string spaced(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  return name;
}

std::string last_word(const std::string& name) {
  return name.substr(name.rfind('_') + 1);
}

/// What the y axis says: the column, or the last word that all columns share ("train_loss", "valid_loss").
std::string common_title(const std::vector<std::string>& columns) {
  if (columns.size() == 1) return spaced(columns.front());
  const std::string word = last_word(columns.front());
  const bool shared =
      std::all_of(columns.begin(), columns.end(), [&](auto& name) { return last_word(name) == word; });
  return shared ? word : "";
}

std::vector<std::string> columns_ending(const ColumnTable& table, const std::string& x,
                                        const std::string& end) {
  std::vector<std::string> names;
  for (const Column& column : table.columns) {
    if (column.is_numeric && column.name != x && column.name.ends_with(end) && has_values(table, column.name))
      names.push_back(column.name);
  }
  return names;
}

std::vector<std::string> y_columns(const ColumnTable& table, const std::string& x,
                                   const ChartOptions& options, bool losses_first) {
  if (!options.y.empty()) return options.y;
  auto names = losses_first ? columns_ending(table, x, "loss") : std::vector<std::string>{};
  if (names.empty()) names = columns_ending(table, x, "");
  if (names.empty()) fail(escaped(table.name), ": there is no column of numbers beside '", escaped(x), "'");
  return names;
}

Size parse_size(const std::string& text) {
  const auto size = parse_pair(text, 'x');
  if (size && std::min(size->first, size->second) >= 60 && std::max(size->first, size->second) <= 4000) {
    return {size->first, size->second};
  }
  fail<UsageError>("--size '", escaped(text),
                   "': wanted WIDTHxHEIGHT in points from 60 to 4000, as in 430x260");
}

std::string label_of(const std::vector<ColumnTable>& tables, std::size_t table, const ChartOptions& options) {
  return table < options.labels.size() ? options.labels[table] : stem(tables[table].name);
}

/// Names, colours and dashes: tables differ by colour when there are several, else columns do.
Series named_series(const std::vector<ColumnTable>& tables, std::size_t table,
                    const std::vector<std::string>& columns, std::size_t column,
                    const ChartOptions& options) {
  const std::string label = label_of(tables, table, options);
  Series series;
  series.name = tables.size() == 1    ? spaced(columns[column])
                : columns.size() == 1 ? label
                                      : label + ", " + spaced(columns[column]);
  series.color = tables.size() == 1 ? column : table;
  series.dash = tables.size() == 1 ? 0 : column;
  return series;
}

Chart empty_chart(const std::vector<ColumnTable>& tables, const ChartOptions& options) {
  if (options.labels.size() > tables.size()) {
    fail<UsageError>("--label is given ", options.labels.size(), " times for ", tables.size(), " tables");
  }
  Chart chart;
  if (!options.size.empty()) chart.plot = parse_size(options.size);
  return chart;
}

void set_titles(Chart& chart, const std::string& x, const std::vector<std::string>& columns,
                const ChartOptions& options) {
  chart.x_title = options.x_title.empty() ? spaced(x) : options.x_title;
  chart.y_title = options.y_title.empty() ? common_title(columns) : options.y_title;
}

/// The values of `column` in the order of `groups`, NaN for names that the table lacks.
std::vector<double> in_order_of(const std::vector<std::string>& groups, const ColumnTable& table,
                                const std::string& names, const std::string& column) {
  const auto values = values_of(table, column);
  const auto& texts = table.at(names).texts;
  std::vector<double> ordered;
  for (const auto& group : groups) {
    const auto place = std::find(texts.begin(), texts.end(), group) - texts.begin();
    ordered.push_back(place < std::ssize(texts) ? values[static_cast<std::size_t>(place)] : NAN);
  }
  return ordered;
}

/// What curves run along: `step` where all have it, for an epoch may have several rows; else the first
/// column.
std::string running_column(const std::vector<ColumnTable>& tables, const ChartOptions& options) {
  auto has_steps = [](const ColumnTable& table) {
    const Column* steps = table.find("step");
    return steps && steps->is_numeric;
  };
  const bool is_drawn = std::ranges::find(options.y, "step") != options.y.end();
  return !is_drawn && std::ranges::all_of(tables, has_steps) ? "step" : tables.front().columns.front().name;
}

}  // namespace

Chart curves_of(const std::vector<ColumnTable>& tables, const ChartOptions& options) {
  Chart chart = empty_chart(tables, options);
  const std::string x = options.x.empty() ? running_column(tables, options) : options.x;
  const auto columns = y_columns(tables.front(), x, options, true);
  for (std::size_t t = 0; t < tables.size(); ++t) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      Series series = named_series(tables, t, columns, c, options);
      series.x = numeric(tables[t], x).values;
      series.y = values_of(tables[t], columns[c]);
      chart.series.push_back(std::move(series));
    }
  }
  chart.log_x = options.log_x;
  chart.log_y = options.log_y;
  set_titles(chart, x, columns, options);
  return chart;
}

Chart bars_of(const std::vector<ColumnTable>& tables, const ChartOptions& options) {
  Chart chart = empty_chart(tables, options);
  if (options.log_x || options.log_y)
    fail<UsageError>("bars start at 0, which a logarithmic axis does not have");
  const std::string x = options.x.empty() ? tables.front().columns.front().name : options.x;
  const auto columns = y_columns(tables.front(), x, options, false);
  for (const ColumnTable& table : tables) {
    for (const auto& name : table.at(x).texts) {
      if (std::find(chart.groups.begin(), chart.groups.end(), name) == chart.groups.end()) {
        chart.groups.push_back(name);
      } else if (&table == &tables.front()) {
        fail(escaped(table.name), ": two rows are named '", escaped(name), "' in column '", escaped(x), "'");
      }
    }
  }
  if (chart.groups.empty()) fail(escaped(tables.front().name), ": there are no rows");
  for (std::size_t t = 0; t < tables.size(); ++t) {
    for (std::size_t c = 0; c < columns.size(); ++c) {
      Series series = named_series(tables, t, columns, c, options);
      series.color = chart.series.size();
      series.y = in_order_of(chart.groups, tables[t], x, columns[c]);
      chart.series.push_back(std::move(series));
    }
  }
  set_titles(chart, x, columns, options);
  return chart;
}

}  // namespace heed::draw
