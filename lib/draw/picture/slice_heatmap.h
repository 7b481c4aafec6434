// The heat map of a slice or of a table: which dimension becomes which axis, and the texts around it.
#pragma once

#include <string>
#include <vector>

#include "draw/picture/heatmap.h"
#include "draw/select/column_table.h"
#include "draw/select/slice.h"

namespace heed::draw {

struct FigureOptions {
  std::string title;     ///< empty: the group's title, or the tensor's long name
  std::string quantity;  ///< what the numbers of a table measure, beside the colour bar; empty: not said
  std::string range;     ///< "low:high"; empty: natural_range()
  std::string colormap =
      "auto";  ///< or a name of Colormap; auto: blue-red for values of both signs, else viridis
  bool write_values = false;
};

/// Selects an index for each leading dimension that `selections` leaves open, so that two dimensions remain:
/// the one of the group's default_slice, else 0.
void complete_for_picture(const TensorMap& map, const std::string& path, std::vector<Selection>& selections);

/// The texts of a picture: the title given by the user, else by the group or the tensor; a subtitle such as
/// "attention/weights \u00b7 sentence 0 \u00b7 head 3"; what the numbers measure.
std::string title_of(const TensorMap& map, const Slice& slice, const FigureOptions& options);
std::string subtitle_of(const Slice& slice);
std::string quantity_of(const TensorMap& map, const Slice& slice);

/// A matrix becomes one map, three dimensions a map for each element of the first, four a grid of maps
/// (layer x head), a vector a map of one row. Integers are written into their cells when there are at most
/// 20 x 20 (a confusion table). Throws Error for text and for more dimensions.
Heatmap heatmap_of(const TensorMap& map, const Slice& slice, const FigureOptions& options);

/// A row for each line of the table, named by its first field, a column for each further field. Throws Error
/// when a cell is no number.
Heatmap heatmap_of_table(const ColumnTable& table, const FigureOptions& options);

}  // namespace heed::draw
