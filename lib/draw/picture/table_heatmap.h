// The heat map of a table: a row for each line, named by its first field, a column for each further field.
#pragma once

#include "draw/picture/heatmap.h"
#include "draw/picture/slice_heatmap.h"
#include "draw/select/column_table.h"

namespace heed::draw {

/// Throws Error when a cell is no number.
Heatmap heatmap_of_table(const ColumnTable& table, const FigureOptions& options);

}  // namespace heed::draw
