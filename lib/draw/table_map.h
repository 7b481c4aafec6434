// A table of numbers as a heat map: a row for each line, named by its first field, a column for each further
// one.
#pragma once

#include "draw/columns.h"
#include "draw/figure.h"
#include "draw/heatmap.h"

namespace heed::draw {

/// Throws Error when a cell is no number.
Heatmap heatmap_of_table(const ColumnTable& table, const FigureOptions& options);

}  // namespace heed::draw
