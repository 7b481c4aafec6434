// Graphs of the recurrent models, at one step i of the decoder. Shapes come from the model's parameters.
#pragma once

#include "draw/graph/graph.h"
#include "draw/graph/model_shapes.h"

namespace heed::draw {

/// Bidirectional encoder; the decoder attends with its previous state (Bahdanau et al. 2015).
Graph bahdanau_graph(const ModelShapes& model);

/// The same encoder, soft or hard attention, additive readout (Xu et al. 2015).
Graph xu_graph(const ModelShapes& model);

/// Stacked layers; the decoder attends with its current state, input feeding (Luong et al. 2015).
Graph luong_graph(const ModelShapes& model);

/// Every step of the decoder reads one summary of the source (Cho et al. 2014).
Graph cho_graph(const ModelShapes& model);

/// The last states of a deep encoder are the first of a deep decoder (Sutskever et al. 2014).
Graph sutskever_graph(const ModelShapes& model);

}  // namespace heed::draw
