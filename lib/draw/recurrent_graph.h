// Graphs of the recurrent models.
#pragma once

#include "draw/graph.h"
#include "draw/model_shapes.h"

namespace heed::draw {

/// Bidirectional encoder, alignment, decoder (Bahdanau et al. 2015), at one step i of the decoder.
Graph bahdanau_graph(const ModelShapes& model);

/// The attention looks with the state of this step, and its context enters behind it (Luong et al. 2015).
Graph luong_graph(const ModelShapes& model);

/// One vector of the source enters every step (Cho et al. 2014).
Graph cho_graph(const ModelShapes& model);

/// The last states of a deep encoder begin a deep decoder (Sutskever et al. 2014).
Graph sutskever_graph(const ModelShapes& model);

}  // namespace heed::draw
