// Graphs of recurrent layers.
#pragma once

#include <string>

#include "draw/graph/graph.h"
#include "draw/graph/model_shapes.h"

namespace heed::draw {

/// The recurrent layer at `scope` or directly below it; of a bidirectional layer the forward one. "" when
/// there is none.
std::string recurrent_scope(const ModelShapes& model, const std::string& scope);

/// One step of the recurrent layer at `scope`, operation by operation (the equations of nn/recurrent.h).
/// Throws Error for an unknown cell.
Graph cell_graph(const ModelShapes& model, const std::string& scope);

}  // namespace heed::draw
