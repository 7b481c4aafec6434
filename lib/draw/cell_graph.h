// Graphs of recurrent layers.
#pragma once

#include <string>

#include "draw/graph.h"
#include "draw/model_shapes.h"

namespace heed::draw {

/// The scope of the recurrent layer that `scope` is, or has: of the encoder's two directions the forward one.
/// "": none.
std::string recurrent_scope(const ModelShapes& model, const std::string& scope);

/// One step of the recurrent layer of that scope, operation by operation (the equations of nn/recurrent.h).
Graph cell_graph(const ModelShapes& model, const std::string& scope);

}  // namespace heed::draw
