// The logit lens (nostalgebraist: Interpreting GPT, the logit lens, 2020): the decoder's prediction if each
// of its layers were the last, that is, the layer's output through the final norm and the output matrix, as
// probabilities. The group /lens:
//   probability       f32 (sentence, layer, position)  of the token that was produced at that position
//   rank              i32 (sentence, layer, position)  rank of that token, the most likely being 1; 0 after
//                     the end
//   best_piece        str (sentence, layer, position)  the most likely token
//   best_probability  f32 (sentence, layer, position)
//   length            i32 (sentence)
//   token             str (sentence, position)  what was produced; for a language model including the prompt
//   layer_label       str (layer)  "embedded", the input of the first layer, then "0", "1", ...
// For an encoder that fills in masked words, its words head is applied to each layer; there is no row
// "embedded".
#pragma once

#include <vector>

#include "inspect/inspection.h"
#include "models/model_file.h"
#include "models/packed_states.h"
#include "stages/results.h"
#include "tensor/padding.h"

namespace heed {

/// Throws UsageError unless the model is a Transformer decoder, whose layers share one space.
void expect_lens(const Model<float>& model);

/// /lens of the best hypothesis of each sentence. `whole_text` and `inspection` as in force()
/// (stages/translate.h); `prompts`: for a language model, without the final eos; empty with whole_text.
TensorMap logit_lens(const LoadedModel& loaded, const PackedStates& input, const Results& hypotheses,
                     const std::vector<Ids>& prompts, int threads, Inspection* inspection, bool whole_text);

/// Throws UsageError unless the model is an encoder that fills in masked words.
void expect_encoder_lens(const Model<float>& model);

/// /lens of an encoder: `frame` holds the states of all its layers (encode --all-layers), `words` are the
/// tokens of each sentence with masks filled in. Throws Error if layers are missing.
TensorMap encoder_lens(const LoadedModel& loaded, const TensorMap& frame, const Packing& rows,
                       const std::vector<Ids>& words, int threads, Values wanted);

}  // namespace heed
