// Graphs of models, with the shapes in their files.
#pragma once

#include <string>

#include "draw/graph/graph.h"
#include "tensor/tensor_map.h"

namespace heed::draw {

/// The graph of a model file, or of `scope` in it: a layer ("encoder/layer_0") or an attention
/// ("encoder/layer_0/self_attention"). What is drawn follows from the configuration and from the parameters
/// that are present. A map with the recorded steps of an attention (`attend --steps`) gives the graph of
/// their operations. Throws Error when the map is neither, or has no such scope.
Graph model_graph(const TensorMap& map, const std::string& scope);

}  // namespace heed::draw
