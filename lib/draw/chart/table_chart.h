// Charts of tables: which columns become curves or bars.
#pragma once

#include <string>
#include <vector>

#include "draw/chart/chart.h"
#include "draw/select/column_table.h"

namespace heed::draw {

struct ChartOptions {
  std::string x;                      ///< column; empty: the first
  std::vector<std::string> y;         ///< columns; empty: those of losses for curves, else every numeric one
  std::vector<std::string> overlays;  ///< further tables
  std::vector<std::string> labels;    ///< names of the tables, INPUT first; else those of the files
  std::string x_title, y_title;
  bool log_x = false, log_y = false;
  std::string size;  ///< of the plot in points, "430x260"
};

/// The tables in one chart: each column a series, or each table's column when there are several tables.
/// Bars of several tables stand side by side where their names agree. Throws Error for columns that are
/// missing or hold text.
Chart curves_of(const std::vector<ColumnTable>& tables, const ChartOptions& options);
Chart bars_of(const std::vector<ColumnTable>& tables, const ChartOptions& options);

}  // namespace heed::draw
