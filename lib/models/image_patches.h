// What an encoder of images reads (Dosovitskiy et al.: An image is worth 16x16 words, ICLR 2021, eq. 1): the image cut into
// patches, row after row, each projected; before them a class token; positions added to all.
//   x_0 = [c; p_1 W + b; ...; p_P W + b] + E_pos,   p_i the patch's values, channel by channel, row by row.
// Parameters: encoder/class_token [d], encoder/patches/{weight [channels * patch_size^2, d], bias}; of the stack
// encoder/positions/weight [P + 1, d].
#pragma once

#include <cstdint>
#include <span>

#include "nn/scope.h"

namespace heed {

struct ImagePatches {
  std::int64_t image_size = 0;  ///< height and width, a multiple of patch_size
  std::int64_t patch_size = 0, channels = 0;
  double dropout = 0;

  std::int64_t patches() const { return (image_size / patch_size) * (image_size / patch_size); }
  std::int64_t patch_values() const { return channels * patch_size * patch_size; }
  /// Of an image.
  std::int64_t values() const { return channels * image_size * image_size; }

  template <class T>
  void declare(ParameterSet<T>& parameters, std::int64_t d) const;
  /// pixels [images, channels, image_size, image_size] -> [images * (patches + 1), d]; `rows`: patches + 1 of each
  /// image. Named value: encoder/embedded.
  template <class T>
  Var<T> embed(Pass<T>& pass, std::span<const T> pixels, const Packing& rows) const;
};

}  // namespace heed
