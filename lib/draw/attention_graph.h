// The operations of an attention, step by step.
#pragma once

#include <string>

#include "draw/graph.h"
#include "draw/model_shapes.h"

namespace heed::draw {

/// Multi-head attention of a model: projections, scaled dot products, softmax, sum, projection.
Graph multi_head_graph(const ModelShapes& model, const std::string& scope);

/// The operations between the stages that are stored (attend/attention_group.h), each with its shape.
/// `group` is the group of the stages, empty: attention. Throws Error when there are none.
Graph steps_graph(const TensorMap& map, const std::string& group);

}  // namespace heed::draw
