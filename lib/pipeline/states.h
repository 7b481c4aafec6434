// What a stage reads of a frame: the states of its sentences, packed.
#pragma once

#include <vector>

#include "tensor/matrix.h"
#include "tensor/packing.h"
#include "tensor/tensor_map.h"

namespace heed {

struct PackedStates {
  Packing rows;
  std::vector<float> values;  ///< [rows, d]

  Matrix<const float> matrix() const;
};

/// /embeddings/values (sentence, position, dim = d_embedding). Throws Error when the group is missing,
/// misshapen, not finite, or made for the target side.
PackedStates read_embeddings(const TensorMap& frame, std::int64_t d_embedding);

/// The last layer kept in /encoder/states (sentence, layer, position, dim = d_model). Throws Error when the
/// group is missing, misshapen, not finite, or says that it holds the output of another number of layers than
/// `layers`.
PackedStates read_encoder_states(const TensorMap& frame, std::int64_t layers, std::int64_t d_model);

}  // namespace heed
