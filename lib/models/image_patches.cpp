#include "models/image_patches.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "autograd/ops.h"
#include "autograd/ops_recurrent.h"
#include "base/error.h"
#include "base/instantiate.h"
#include "base/number.h"

namespace heed {

namespace {

/// "0.5", or a number for each channel: "0.485, 0.456, 0.406".
std::vector<double> of_channels(const char* field, const std::string& text, std::int64_t channels) {
  std::vector<double> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    std::string_view number(text.data() + at, comma - at);
    number.remove_prefix(std::min(number.find_first_not_of(' '), number.size()));
    double value = 0;
    if (!parse(number, value) || !std::isfinite(value))
      fail<UsageError>(field, " is ", escaped(text),
                       ", wanted a number, or one for each channel with commas between");
    numbers.push_back(value);
    at = comma + 1;
  }
  if (numbers.size() == 1) numbers.resize(static_cast<std::size_t>(channels), numbers.front());
  if (std::cmp_not_equal(numbers.size(), channels))
    fail<UsageError>(field, " has ", numbers.size(), " numbers, wanted one, or n_channels = ", channels);
  return numbers;
}

constexpr std::int64_t kMostValues = 1'000'000'000;

}  // namespace

ImagePatches ImagePatches::of(const ImageOptions& options) {
  ImagePatches images;
  images.image_size = options.image_size;
  images.patch_size = options.patch_size;
  images.channels = options.n_channels;
  images.feature_places = options.feature_places;
  images.feature_width = options.feature_width;
  if (options.image_size > 0 && options.feature_places > 0)
    fail<UsageError>(
        "image_size and feature_places exclude each other: it reads images, or features of them");
  if (options.image_size % options.patch_size)
    fail<UsageError>("image_size = ", options.image_size,
                     " is not a multiple of patch_size = ", options.patch_size);
  if (options.n_channels * options.image_size * options.image_size > kMostValues ||
      options.feature_places * options.feature_width > kMostValues)
    fail<UsageError>("image_size = ", options.image_size, " and n_channels = ", options.n_channels,
                     ", or feature_places and feature_width, make too large an image");
  images.mean = of_channels("image_mean", options.image_mean, options.n_channels);
  images.deviation = of_channels("image_deviation", options.image_deviation, options.n_channels);
  if (std::ranges::any_of(images.deviation, [](double x) { return x <= 0; }))
    fail<UsageError>("image_deviation is ", escaped(options.image_deviation), ", wanted numbers above 0");
  return images;
}

template <class T>
void ImagePatches::declare(ParameterSet<T>& parameters, std::int64_t d) const {
  if (class_token) parameters.add("encoder/class_token", {d}, Init::normal(0.02));
  parameters.add("encoder/patches/weight", {patch_values(), d}, Init::xavier(patch_values(), d));
  parameters.add("encoder/patches/bias", {d}, Init::zeros());
}

template <class T>
std::vector<T> ImagePatches::cut(std::span<const T> pixels, std::int64_t images) const {
  if (reads_features()) return {pixels.begin(), pixels.end()};
  const std::int64_t across = image_size / patch_size;
  std::vector<T> values;
  values.reserve(pixels.size());
  for (std::int64_t image = 0; image < images; ++image) {
    for (std::int64_t patch = 0; patch < patches(); ++patch) {
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        for (std::int64_t row = 0; row < patch_size; ++row) {
          const std::int64_t y = patch / across * patch_size + row, x = patch % across * patch_size;
          const auto from =
              static_cast<std::size_t>(((image * channels + channel) * image_size + y) * image_size + x);
          const auto line = pixels.subspan(from, static_cast<std::size_t>(patch_size));
          values.insert(values.end(), line.begin(), line.end());
        }
      }
    }
  }
  return values;
}

template <class T>
Var<T> ImagePatches::embed(Pass<T>& pass, std::span<const T> pixels, const Packing& rows) const {
  const std::int64_t images = rows.sentences(), first = class_token;
  std::vector<RowOf> order;  // the class token is part 0
  std::vector<std::int32_t> at;
  for (std::int64_t image = 0; image < images; ++image) {
    for (std::int64_t row = 0; row < this->rows(); ++row) {
      order.push_back(row < first ? RowOf{0, 0} : RowOf{1, image * patches() + row - first});
      at.push_back(static_cast<std::int32_t>(row));
    }
  }
  const Scope<T> encoder = Scope<T>(pass) / "encoder";
  const std::vector<T>& kept = pass.tape->own(cut(pixels, images));
  const Var<T> values = pass.tape->constant({kept.data(), images * patches(), patch_values()});
  const Var<T> projected =
      linear(values, encoder.parameter("patches/weight"), encoder.parameter("patches/bias"));
  const Var<T> tokens =
      class_token ? select_rows<T>({encoder.parameter("class_token"), projected}, order) : projected;
  const Var<T> positions = embedding(encoder.parameter("positions/weight"),
                                     pass.tape->arena().template keep<std::int32_t>(at), T{1}, Var<T>(), {});
  return encoder.name("embedded",
                      drop_out(add_dropped(tokens, positions, Dropout{}), encoder.dropout(dropout)), rows);
}

#define HEED_INSTANTIATE_IMAGE_PATCHES(T)                                    \
  template void ImagePatches::declare(ParameterSet<T>&, std::int64_t) const; \
  template Var<T> ImagePatches::embed(Pass<T>&, std::span<const T>, const Packing&) const;
HEED_INSTANTIATE_IMAGE_PATCHES(float)
HEED_INSTANTIATE_IMAGE_PATCHES(double)
#undef HEED_INSTANTIATE_IMAGE_PATCHES

}  // namespace heed
