// Given words after what a decoder continues from, read in one pass (teacher forcing): of a hypothesis that was found, or
// of a translation whose words are scored.
#pragma once

#include <vector>

#include "autograd/ops_recurrent.h"
#include "inspect/inspection.h"
#include "models/model.h"

namespace heed {

/// What a decoder read to produce given targets: its states, and which of them.
struct Given {
  Packing rows;             ///< all that was read
  std::vector<RowOf> last;  ///< the rows that give the targets' tokens, one after the other
  Var<float> states;        ///< of rows
};

/// `targets`: ids with final eos, which follow their prompts; with `whole_text` the prompts are all that is read. `sampled`: the
/// draws by which each target was sampled; empty: none was.
Given read_given(InferencePass& pass, const Model<float>& model, const Encoded<float>& input,
                 const PackedTokens& targets, const std::vector<SampleStream>& sampled, bool whole_text);

/// What a decoder alone reads, embeddings of a file and of what it goes on with, under the name that they have elsewhere.
Var<float> named_embeddings(Pass<float>& pass, Var<float> embedded, const Packing& rows);

}  // namespace heed
