// A model against what another program computed with it, stage by stage. The other program's tensors are a file of arrays
// (io/foreign/array_file.h), as scripts/import-goldens writes them for models of transformers:
//   ids, mask [sentence, position], by choice types         what goes in; mask 1: a token, 0: padding
//   pixels [image, channel, row, column]                     or this, of a model that reads images
//   target_ids, target_mask                                  of a pair: what its decoder produces
//   PART.embeddings, PART.hidden.N, PART.states, PART.attention.N, decoder.cross.N     PART is encoder or decoder
//   sentence [sentence, d]                                   the vector of a sentence, of models that were made for it
//   pooled, logits                                           [sentence, ...], or for each token
//   generated, beam [sentence, n]                            greedy search and a beam of 4, cut at n tokens; -1 after its end
//   scores [sentence]                                        of the beam's best
// Rows of padding are not compared.
#pragma once

#include <string>
#include <vector>

#include "io/foreign/array_file.h"
#include "models/model_file.h"

namespace heed {

struct StageResult {
  std::string stage;
  double difference = 0;  ///< the largest; of `generated` and `beam` the number of ids that differ
  double allowed = 0;     ///< 1e-5 of the stage's largest value, or of 1
  std::string problem;    ///< why it could not be compared; empty: it was

  bool passed() const { return problem.empty() && difference <= allowed; }
};

/// One result for each of the file's stages, in its order. Throws Error when the file lacks what goes in, or that does not fit
/// the model.
std::vector<StageResult> self_test(const LoadedModel& loaded, const io::ArrayFile& expected);

/// "passed, 9 stages, largest difference 2.1e-06 in logits", or "failed: ..." with all that do not pass.
std::string summary_of(const std::vector<StageResult>& results);

}  // namespace heed
