// A table of numbers as a heat map: a row for each line, named by its first field, a column for each further
// one.
#pragma once

#include "draw/select/column_table.h"
#include "draw/picture/slice_heatmap.h"
#include "draw/picture/heatmap.h"

namespace heed::draw {

/// Throws Error when a cell is no number.
Heatmap heatmap_of_table(const ColumnTable& table, const HeatmapOptions& options);

}  // namespace heed::draw
