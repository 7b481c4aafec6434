// The input of a stage from a frame: the states of its sentences, packed.
#pragma once

#include <optional>
#include <vector>

#include "models/model.h"
#include "tensor/packing.h"
#include "tensor/padding.h"
#include "tensor/tensor_map.h"

namespace heed {

struct PackedStates {
  Packing rows;
  std::vector<float> values;  ///< [rows, d]
  /// The last states of the recurrent layers so far, each [sentences, FinalWidths h + c]
  std::vector<std::vector<float>> final_states;
  std::optional<Segments> segments{};  ///< in a model of documents
};

/// Throws Error if /tokens states the other side. A model with one part has one side, whatever it is called;
/// tokens of other programs state none.
void expect_tokens_of(Side side, const TensorMap& frame, const Model<float>& model);

/// For a model of documents, the sentences of each document, from /tokens (the states of `rows` do not
/// contain them); none for other models. Throws Error if /tokens is missing or has other lengths.
std::optional<Segments> segments_of(const TensorMap& frame, const Model<float>& model, const Packing& rows);

/// /embeddings/values (sentence, position, dim = d_embedding) for that side's part. Throws Error if the group
/// is missing, misshapen, not finite, or made for the other side.
PackedStates read_embeddings(const TensorMap& frame, const Model<float>& model, Side side = Side::source,
                             Values wanted = Values::finite);

/// The output of the encoder's layers 0 .. layers-1: the last layer stored in /encoder/states (sentence,
/// layer, position, dim = d_model) and, for recurrent models, /encoder/final_h and final_c (sentence,
/// recurrent_layer, dim). Throws Error if one is missing, misshapen, not finite, or states another number of
/// layers.
PackedStates read_encoder_states(const TensorMap& frame, const Model<float>& model, std::int64_t layers,
                                 Values wanted = Values::finite);
/// The output of all encoder layers.
PackedStates memory_of(const TensorMap& frame, const Model<float>& model, Values wanted = Values::finite);

/// Some sentences of a frame, in any order, possibly repeated.
PackedStates selected(const PackedStates& states, std::span<const std::int64_t> sentences);

/// The states of some sentences in the form that a pass takes.
class Selection {
 public:
  Selection(const PackedStates& states, std::span<const std::int64_t> sentences)
      : part_(selected(states, sentences)) {}
  const Packing& rows() const { return part_.rows; }
  /// As constants of the pass, which this object must outlive.
  Encoded<float> on(Pass<float>& pass) const;

 private:
  PackedStates part_;
};

}  // namespace heed
