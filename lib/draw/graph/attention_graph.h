// Graphs of an attention, operation by operation.
#pragma once

#include <string>

#include "draw/graph/graph.h"
#include "draw/graph/model_shapes.h"

namespace heed::draw {

/// The multi-head attention at `scope` of a model: projections, scaled dot products, softmax, weighted sum,
/// projection. Throws Error when there is none.
Graph multi_head_graph(const ModelShapes& model, const std::string& scope);

/// The operations between the recorded steps of an attention (pipeline/attention_group.h), with their
/// shapes. `group` is where they are stored; empty: attention. Throws Error when there are none.
Graph steps_graph(const TensorMap& map, const std::string& group);

}  // namespace heed::draw
