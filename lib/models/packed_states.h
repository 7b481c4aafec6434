// What a stage reads of a frame: the states of its sentences, packed.
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
  std::optional<Segments> segments{};  ///< of a model of documents
};

/// Throws Error when /tokens says that it is of the other side. What has one part has one side, whatever it is called;
/// tokens of other programs do not say theirs.
void expect_tokens_of(Side side, const TensorMap& frame, const Model<float>& model);

/// Of a model of documents the sentences of each, as /tokens tells them: states of `rows` do not. None of other models. Throws Error
/// when /tokens is missing or of other lengths.
std::optional<Segments> segments_of(const TensorMap& frame, const Model<float>& model, const Packing& rows);

/// /embeddings/values (sentence, position, dim = d_embedding) of that side's part. Throws Error when the
/// group is missing, misshapen, not finite, or made for the other side.
PackedStates read_embeddings(const TensorMap& frame, const Model<float>& model, Side side = Side::source,
                             Values wanted = Values::finite);

/// What the encoder's layers 0 .. layers-1 passed on: the last layer kept in /encoder/states (sentence,
/// layer, position, dim = d_model) and, of recurrent models, /encoder/final_h and final_c (sentence,
/// recurrent_layer, dim). Throws Error when one is missing, misshapen, not finite, or says that it holds the
/// output of another number of layers.
PackedStates read_encoder_states(const TensorMap& frame, const Model<float>& model, std::int64_t layers,
                                 Values wanted = Values::finite);
/// Likewise after all layers.
PackedStates memory_of(const TensorMap& frame, const Model<float>& model, Values wanted = Values::finite);

/// Some sentences of a frame, in any order and as often as named.
PackedStates selected(const PackedStates& states, std::span<const std::int64_t> sentences);

/// The same as a pass takes them.
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
