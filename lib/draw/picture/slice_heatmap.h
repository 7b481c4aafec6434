// From a slice to a heat map: which dimension is drawn where, and the words around it.
#pragma once

#include <string>
#include <vector>

#include "draw/picture/heatmap.h"
#include "draw/select/slice.h"

namespace heed::draw {

struct HeatmapOptions {
  std::string title;  ///< empty: the group's title, or the tensor's long name
  std::string range;  ///< "low:high"; empty: natural_range()
  std::string colormap =
      "auto";  ///< or a name of Colormap; auto: blue-red for values of both signs, else viridis
  bool write_values = false;
};

/// Leaves two dimensions for the picture: sentence 0, and what the group's default_slice says (else 0) for
/// every other leading dimension that `selections` does not mention.
void complete_for_picture(const TensorMap& map, const std::string& path, std::vector<Selection>& selections);

/// What a picture says about itself: the given title, else the group's or the tensor's own;
/// "attention/weights \u00b7 sentence 0 \u00b7 head 3"; what its numbers are.
std::string title_of(const TensorMap& map, const Slice& slice, const HeatmapOptions& options);
std::string subtitle_of(const Slice& slice);
std::string quantity_of(const TensorMap& map, const Slice& slice);

/// A matrix becomes a map, rows downwards; three dimensions become a map for each element of the first, four
/// a grid of maps (layer x head); a vector one row. Throws Error for text and for more dimensions.
Heatmap heatmap_of(const TensorMap& map, const Slice& slice, const HeatmapOptions& options);

}  // namespace heed::draw
