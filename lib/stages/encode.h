// The first two stages on tensor maps: /tokens -> /embeddings -> /encoder (schema in lib/io/README.md).
// Groups that a stage does not touch pass through.
#pragma once

#include "inspect/inspection.h"
#include "models/model.h"
#include "tensor/tensor_map.h"
#include "text/tokenizer.h"

namespace heed {

/// Adds /embeddings: values f32 (sentence, position, dim), length. `inspection` records and edits its
/// values, if given.
void embed_frame(const Model<float>& model, Side side, TensorMap& frame, Inspection* inspection = nullptr);

/// Labels /embeddings of a decoder alone with the pieces that it reads: token str (sentence, position).
void label_read(TensorMap& frame, const text::Tokenizer& tokenizer);

/// /positions/values f32 (position, dim): the sinusoids alone.
TensorMap position_map(std::int64_t count, std::int64_t d_model);

struct EncodeOptions {
  std::int64_t first = 0;   ///< first layer to run
  std::int64_t last = -1;   ///< end of the range: the last one + 1; -1: all
  bool all_layers = false;  ///< keep the output of every layer that ran, not only of the last
};

/// Adds /encoder: states f32 (sentence, layer, position, dim), mask, length. Reads /embeddings or, when
/// options.first > 0, the last layer of the /encoder group that an earlier run left.
void encode_frame(const Model<float>& model, const EncodeOptions& options, int threads, TensorMap& frame,
                  Inspection* inspection = nullptr);
/// The layers that run. Throws UsageError when the encoder has no such range.
Stages encoder_stages(const Model<float>& model, const EncodeOptions& options);

}  // namespace heed
