// The heat map of a slice or of a table: the choice of axes, and the texts around it.
#pragma once

#include <string>
#include <vector>

#include "draw/picture/heatmap.h"
#include "draw/select/column_table.h"
#include "draw/select/slice.h"

namespace heed::draw {

struct FigureOptions {
  std::string title;     ///< empty: the group's title, or the tensor's long name
  std::string quantity;  ///< what the numbers of a table measure, beside the colour bar; may be empty
  std::string range;     ///< "low:high"; empty: natural_range()
  std::string colormap =
      "auto";  ///< a Colormap name, or auto: blue-red for values of both signs, otherwise viridis
  bool write_values = false;
};

/// Selects an index for each leading dimension that `selections` leaves open, so that two dimensions remain:
/// the index in the group's default_slice, otherwise 0.
void complete_for_picture(const TensorMap& map, const std::string& path, std::vector<Selection>& selections);

/// The texts of a picture: the title given by the user, by the group or by the tensor; a subtitle such as
/// "attention/weights \u00b7 sentence 0 \u00b7 head 3", without the layer's name in the model if `title` has it;
/// what the numbers measure.
std::string title_of(const TensorMap& map, const Slice& slice, const FigureOptions& options);
std::string subtitle_of(const TensorMap& map, const Slice& slice, const std::string& title);
std::string quantity_of(const TensorMap& map, const Slice& slice);

/// A matrix becomes one map, three dimensions one map per element of the first, four a grid of maps
/// (layer x head), a vector a map with one row. Integers are printed in the cells of at most 20 x 20 (a
/// confusion table). Throws Error for text and for more dimensions.
Heatmap heatmap_of(const TensorMap& map, const Slice& slice, const FigureOptions& options);

/// One row per line of the table, named by its first field, and one column per further field. Throws Error if
/// a cell is not a number.
Heatmap heatmap_of_table(const ColumnTable& table, const FigureOptions& options);

}  // namespace heed::draw
