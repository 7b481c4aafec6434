// The information in a model file on one screen: architecture, sizes, vocabularies, recipe, data, scores,
// origin.
#pragma once

#include <string>

#include "tensor/tensor_map.h"

namespace heed::draw {

/// Whether the map is that of a model file or a checkpoint.
bool is_model(const TensorMap& map);

/// Lines are wrapped at `width` columns. If the file has no provenance (an early version, or an imported
/// model), shows what there is. `name` is the file's name. Throws Error, naming it, if a JSON text is
/// invalid.
std::string model_card(const TensorMap& map, const std::string& name, int width);

}  // namespace heed::draw
