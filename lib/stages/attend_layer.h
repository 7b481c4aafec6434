// Attention of one layer of a model on given sentences.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "inspect/inspection.h"
#include "models/model_file.h"
#include "stages/frame_flow.h"
#include "tensor/padding.h"
#include "tensor/tensor_map.h"

namespace heed {

/// "encoder/layer_<i>/self_attention", "decoder/layer_<i>/self_attention" or
/// "decoder/layer_<i>/cross_attention".
struct AttentionLayer {
  std::string path;
  std::int64_t index = 0;
  bool decoder = false, cross = false;
};

/// Throws UsageError listing the model's layers if `path` is not one of them.
AttentionLayer attention_layer(const Model<float>& model, std::string path);

/// Ids with eos, one list per sentence.
using TargetIds = std::vector<std::vector<std::int32_t>>;

/// Puts the layer's /attention (attention_group.h) into the frame: scores, weights, context and, with
/// `steps`, query_vector, key_vector, value_vector, head_context and values that only some layers have:
/// products and output of scaled dot-product attention, position of local-p, probabilities if the weights
/// differ from them. An encoder layer reads /embeddings. A decoder layer reads /encoder, or runs the encoder
/// over /embeddings, and `targets`, which the decoder reads shifted right; query i is the step that produces token i.
void attend_layer(const Model<float>& model, const AttentionLayer& layer, bool steps,
                  const TargetIds& targets, int threads, TensorMap& frame);
/// The same with labels (label_layer). `inspection`, if given, belongs to the layer's stack; model and layer must
/// outlive the work.
std::unique_ptr<FrameWork> attention_work(const LoadedModel& loaded, const AttentionLayer& layer, bool steps,
                                          TargetIds targets, TensorMap& frame, Inspection* inspection,
                                          Values wanted);
/// The part of the model that an inspection covers: the layer's stack, for an encoder up to the layer.
Stages stages_of(const AttentionLayer& layer);

/// Adds query_token and key_token to the frame's /attention: for the source from /tokens, if present, for the
/// target from `targets`.
void label_layer(const AttentionLayer& layer, const LoadedModel& loaded, const TargetIds& targets,
                 TensorMap& frame);

}  // namespace heed
