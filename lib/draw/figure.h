// From a slice to a heat map: which dimension is drawn where, and the words around it.
#pragma once

#include <string>
#include <vector>

#include "draw/heatmap.h"
#include "draw/slice.h"

namespace heed::draw {

struct FigureOptions {
  std::string title;  ///< empty: the group's title, or the tensor's long name
  std::string range;  ///< "low:high"; empty: natural_range()
  std::string colormap =
      "auto";  ///< or a name of Colormap; auto: blue-red for values of both signs, else viridis
  bool write_values = false;
};

/// Leaves two dimensions for the picture: sentence 0, and what the group's default_slice says (else 0) for
/// every other leading dimension that `choices` does not mention.
void complete_for_picture(const TensorMap& map, const std::string& path, std::vector<Choice>& choices);

/// A matrix becomes a map, rows downwards; three dimensions become a map for each element of the first; a
/// vector one row. Throws Error for text and for more dimensions.
Heatmap heatmap_of(const TensorMap& map, const Slice& slice, const FigureOptions& options);

}  // namespace heed::draw
