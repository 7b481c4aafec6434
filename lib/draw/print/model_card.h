// What a model file says of itself, on one screen: architecture, sizes, vocabularies, recipe, data, scores, origin.
#pragma once

#include <string>

#include "tensor/tensor_map.h"

namespace heed::draw {

/// Whether the map is that of a model file or a checkpoint.
bool is_model(const TensorMap& map);

/// Lines are broken between parts so as not to exceed `width` columns. Of a file without provenance (from before there was one, or imported) what there is.
/// `name` is the file's. Throws Error, naming it, when what should be JSON is not.
std::string model_card(const TensorMap& map, const std::string& name, int width);

}  // namespace heed::draw
