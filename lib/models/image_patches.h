// The input of an encoder of images (Dosovitskiy et al.: An image is worth 16x16 words, ICLR 2021, eq. 1):
// the image is cut into patches, row by row, each projected; preceded by a class token, if the encoder has
// one; positions are added to all.
//   x_0 = [c; p_1 W + b; ...; p_P W + b] + E_pos,   p_i the patch's values, channel by channel, row by row.
// Instead of patches, p_i may be features of P places computed by another program, such as the 14 * 14 places
// of a convolutional network's last map (Xu et al. 2015, section 3.1.1).
// Parameters: encoder/class_token [d], encoder/patches/{weight [values of a patch, d], bias};
// encoder/positions/weight [rows, d].
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/range.h"
#include "nn/scope.h"

namespace heed {

/// The config fields of models that read images, or features of them; all optional, because by default a
/// model reads words.
struct ImageOptions {
  std::int64_t image_size = 0;
  std::int64_t feature_places = 0;
  std::int64_t feature_width = 512;
  std::int64_t patch_size = 16;
  std::int64_t n_channels = 3;
  std::string image_mean = "0.5";
  std::string image_deviation = "0.5";

  template <class Self, class Visit>
  static void image_fields(Self& self, Visit&& field) {
    const auto optional = optional_fields(field);
    optional("image_size", self.image_size, "height and width of images; 0: the model reads words",
             between(0, 65'536));
    optional("feature_places", self.feature_places,
             "number of places of an image with features from another program; 0: none",
             between(0, 1'000'000));
    optional("feature_width", self.feature_width, "width of such a feature vector", up_to(1'000'000));
    optional("patch_size", self.patch_size, "height and width of image patches", up_to(65'536));
    optional("n_channels", self.n_channels, "number of channels", up_to(1'000));
    optional("image_mean", self.image_mean,
             "subtracted from pixel values, which range from 0 to 1: a number, or one per channel");
    optional("image_deviation", self.image_deviation, "divides the result: a number, or one per channel");
  }
  bool reads_images() const { return image_size > 0 || feature_places > 0; }
};

struct ImagePatches {
  std::int64_t image_size = 0;  ///< height and width, a multiple of patch_size; 0: it reads features
  std::int64_t patch_size = 0, channels = 0;
  double dropout = 0;
  bool class_token = true;
  std::vector<double> mean, deviation;  ///< of each channel, for pictures with values from 0 to 1
  std::int64_t feature_places = 0, feature_width = 0;

  /// Parses options of a model that reads images. Throws UsageError naming the field if they give no patches,
  /// or too large an image.
  static ImagePatches of(const ImageOptions& options);

  bool reads_features() const { return image_size == 0; }
  std::int64_t patches() const {
    return reads_features() ? feature_places : (image_size / patch_size) * (image_size / patch_size);
  }
  std::int64_t patch_values() const {
    return reads_features() ? feature_width : channels * patch_size * patch_size;
  }
  /// Number of values of an image.
  std::int64_t values() const { return patches() * patch_values(); }
  /// Number of rows that the encoder makes of an image.
  std::int64_t rows() const { return patches() + class_token; }

  /// Declares all parameters except the positions.
  template <class T>
  void declare(ParameterSet<T>& parameters, std::int64_t d) const;
  /// pixels [images, channels, image_size, image_size], or features [images, places, width] -> [images *
  /// rows(), d]; `rows`: rows() of each image. Named value: encoder/embedded.
  template <class T>
  Var<T> embed(Pass<T>& pass, std::span<const T> pixels, const Packing& rows) const;

 private:
  template <class T>
  std::vector<T> cut(std::span<const T> pixels, std::int64_t images) const;
};

}  // namespace heed
