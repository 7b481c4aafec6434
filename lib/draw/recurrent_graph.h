// Graphs of the recurrent models.
#pragma once

#include "draw/graph.h"
#include "draw/model_shapes.h"

namespace heed::draw {

/// Bidirectional encoder, alignment, decoder (Bahdanau et al. 2015), at one step i of the decoder.
Graph bahdanau_graph(const ModelShapes& model);

/// The same encoder under an attention that may pick one word, and an output that adds (Xu et al. 2015).
Graph xu_graph(const ModelShapes& model);

/// A stack of layers each side, attention from the decoder's current state, input feeding (Luong et al.
/// 2015).
Graph luong_graph(const ModelShapes& model);

/// A summary of the source that every step of the decoder reads (Cho et al. 2014).
Graph cho_graph(const ModelShapes& model);

/// The last states of a deep encoder begin a deep decoder (Sutskever et al. 2014).
Graph sutskever_graph(const ModelShapes& model);

}  // namespace heed::draw
