// Graphs of the recurrent models.
#pragma once

#include "draw/graph.h"
#include "draw/model_shapes.h"

namespace heed::draw {

/// Bidirectional encoder, alignment, decoder (Bahdanau et al. 2015), at one step i of the decoder.
Graph bahdanau_graph(const ModelShapes& model);

/// The last states of a deep encoder begin a deep decoder (Sutskever et al. 2014).
Graph sutskever_graph(const ModelShapes& model);

}  // namespace heed::draw
