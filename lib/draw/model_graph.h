// What a model computes, as a graph with shapes: read from its file.
#pragma once

#include <string>

#include "draw/graph.h"
#include "tensor/tensor_map.h"

namespace heed::draw {

/// The graph of a model file (its configuration and parameters), or of `scope` in it: a layer
/// ("encoder/layer_0") or an attention ("encoder/layer_0/self_attention"). A map with the stages of an
/// attention (`attend --steps`) gives the graph of their operations. Throws Error when the map is neither, or
/// has no such scope.
Graph model_graph(const TensorMap& map, const std::string& scope);

}  // namespace heed::draw
