// Heat maps as pictures: one colour per number, row 0 at the top, labelled rows and columns, a colour bar.
// For attention, rows are output words (queries) and columns input words (keys), as in Bahdanau et al. 2015.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "draw/picture/colormap.h"
#include "draw/picture/painter.h"
#include "draw/select/value_range.h"

namespace heed::draw {

/// One matrix of a heat map; several, for instance one per head, share labels and scale.
struct Panel {
  std::string caption;         ///< may be empty
  std::vector<double> values;  ///< [rows, columns]
};

struct Heatmap {
  std::int64_t rows = 0, columns = 0;
  std::vector<Panel> panels;
  std::vector<std::string> panel_rows, panel_columns;  ///< names of a grid's rows and columns; empty: no grid
  std::vector<std::string> row_labels, column_labels;  ///< one each; empty: positions are shown
  std::int64_t first_row = 0, first_column = 0;        ///< the position of row 0 and column 0
  std::string row_axis, column_axis;                   ///< "query", "key"
  std::string title, subtitle;
  std::string quantity;  ///< what the colours measure, printed beside the colour bar
  Range range;
  const Colormap* colors = &Colormap::named("viridis");
  bool write_values = false;       ///< print each number in its cell
  std::vector<std::string> words;  ///< printed in the cells of the only map; may be empty

  double value(std::size_t panel, std::int64_t row, std::int64_t column) const {
    return panels[panel].values[static_cast<std::size_t>(row * columns + column)];
  }
  /// The label of a row or column, printable and cut to `longest` characters, or its position.
  std::string row_name(std::int64_t row, std::size_t longest) const;
  std::string column_name(std::int64_t column, std::size_t longest) const;
};

/// A number in a cell: two decimals at most.
std::string cell_text(double value);

/// The layout of the picture, in points.
struct HeatmapLayout {
  Size size;
  Size cell;                   ///< square unless the matrix is very long or wide
  double gap = 0;              ///< white line between cells
  std::vector<Rect> matrices;  ///< one per panel
  Rect bar;                    ///< colour bar, greatest value on top
  Point quantity;              ///< middle of the name beside the bar
  double label_turn = 0;       ///< column labels: 0 level, 45 or 90 degrees

  Rect cell_at(std::size_t panel, std::int64_t row, std::int64_t column) const;
};

HeatmapLayout lay_out(const Heatmap& map);

/// How many labels the picture has room for: "1 in 9 of the 300 words of key"; empty: all.
std::string missing_labels(const Heatmap& map);

/// The picture. Several maps have labels each; the maps of a grid have labels along its edges. Labels may be
/// any bytes. Throws Error as check() does.
std::string draw_heatmap(const Heatmap& map, PictureFormat format);

/// Throws Error if there is no cell, if there are more than 4096 rows or columns, or if the numbers of values
/// and labels do not match the numbers of rows and columns.
void check(const Heatmap& map);

}  // namespace heed::draw
