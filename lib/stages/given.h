// Teacher forcing: given words after a decoder's input, read in one pass, for the words of a found hypothesis
// or of a translation to be scored.
#pragma once

#include <vector>

#include "autograd/ops_recurrent.h"
#include "inspect/inspection.h"
#include "models/model.h"

namespace heed {

/// The decoder's input for producing given targets: its states, and which of them produce tokens.
struct Given {
  Packing rows;             ///< all rows read
  std::vector<RowOf> last;  ///< the rows that produce the targets' tokens, one after the other
  Var<float> states;        ///< of `rows`
};

/// `targets`: ids with final eos, which follow their prompts; with `whole_text` only the prompts are read.
/// `sampled`: the random numbers that each target was sampled with; empty: none was sampled.
Given read_given(InferencePass& pass, const Model<float>& model, const Encoded<float>& input,
                 const PackedTokens& targets, const std::vector<SampleStream>& sampled, bool whole_text);

/// The input of a decoder alone, embeddings from a file and of the continuation, under their usual name.
Var<float> named_embeddings(Pass<float>& pass, Var<float> embedded, const Packing& rows);

}  // namespace heed
