#include "models/image_patches.h"

#include <utility>

#include "autograd/ops.h"
#include "autograd/ops_recurrent.h"
#include "base/instantiate.h"

namespace heed {

template <class T>
void ImagePatches::declare(ParameterSet<T>& parameters, std::int64_t d) const {
  parameters.add("encoder/class_token", {d}, Init::normal(0.02));
  parameters.add("encoder/patches/weight", {patch_values(), d}, Init::xavier(patch_values(), d));
  parameters.add("encoder/patches/bias", {d}, Init::zeros());
}

template <class T>
Var<T> ImagePatches::embed(Pass<T>& pass, std::span<const T> pixels, const Packing& rows) const {
  const std::int64_t images = rows.sentences(), across = image_size / patch_size;
  std::vector<T> cut;
  cut.reserve(pixels.size());
  std::vector<RowOf> order;  // the class token is part 0
  std::vector<std::int32_t> at;
  for (std::int64_t image = 0; image < images; ++image) {
    order.push_back({0, 0});
    at.push_back(0);
    for (std::int64_t patch = 0; patch < patches(); ++patch) {
      order.push_back({1, image * patches() + patch});
      at.push_back(static_cast<std::int32_t>(patch + 1));
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        for (std::int64_t row = 0; row < patch_size; ++row) {
          const std::int64_t y = patch / across * patch_size + row, x = patch % across * patch_size;
          const auto from =
              static_cast<std::size_t>(((image * channels + channel) * image_size + y) * image_size + x);
          const auto line = pixels.subspan(from, static_cast<std::size_t>(patch_size));
          cut.insert(cut.end(), line.begin(), line.end());
        }
      }
    }
  }
  const Scope<T> encoder = Scope<T>(pass) / "encoder";
  const std::vector<T>& kept = pass.tape->own(std::move(cut));
  const Var<T> values = pass.tape->constant({kept.data(), images * patches(), patch_values()});
  const Var<T> projected =
      linear(values, encoder.parameter("patches/weight"), encoder.parameter("patches/bias"));
  const Var<T> tokens = select_rows<T>({encoder.parameter("class_token"), projected}, order);
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
