// Attention to the places of an image, drawn over it as in Xu et al. 2015, figure 3: the image by itself,
// then one copy for each query, such as a word of a caption, in which places with less attention are paler.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "draw/picture/heatmap.h"
#include "tensor/tensor_map.h"

namespace heed::draw {

struct OverPicture {
  std::int64_t height = 0, width = 0;  ///< of the image, scaled down to at most 384 a side
  std::vector<Rgb> pixels;             ///< row after row
  std::int64_t side = 0;               ///< side * side places, row after row
  std::vector<Panel> queries;          ///< weights of the places
  std::string title, subtitle;
  Range range;

  /// The image shaded by a query's attention.
  std::vector<Rgb> seen_by(std::size_t query) const;
};

/// Draws each row of the only panel of `map` over image `index` of `image`: uint8 (channel, row, column) with
/// 1 or 3 channels, optionally with a first dimension of images. If there is one more column than a square
/// number of places, the first is a class token and is dropped. Throws Error if the columns are not places of
/// an image, or `image` is not one.
OverPicture over_picture(const Heatmap& map, const Tensor& image, std::int64_t index);

std::string draw_over_picture(const OverPicture& drawn, PictureFormat format);

}  // namespace heed::draw
