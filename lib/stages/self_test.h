// Compares a model with another program's results, stage by stage. The other program's tensors are a file of
// arrays (io/foreign/array_file.h), as written by scripts/import-goldens for models of transformers:
//   ids, mask [sentence, position], optionally types         the input; mask 1: a token, 0: padding
//   pixels [image, channel, row, column]                     the input of a model that reads images
//   target_ids, target_mask                                  for a pair: what its decoder produces
//   PART.embeddings, PART.hidden.N, PART.states,
//   PART.attention.N, decoder.cross.N                        PART is encoder or decoder
//   sentence [sentence, d]                                   sentence embeddings, of models made for them
//   pooled, logits                                           [sentence, ...], or for each token
//   generated, beam [sentence, n]                            greedy search and a beam of 4, cut at n
//                                                            tokens, padded by -1
//   scores [sentence]                                        of the best hypothesis of the beam
// Rows of padding are not compared.
#pragma once

#include <string>
#include <vector>

#include "io/foreign/array_file.h"
#include "models/model_file.h"

namespace heed {

struct StageResult {
  std::string stage;
  double difference = 0;  ///< the largest; for `generated` and `beam` the number of differing ids
  double allowed = 0;     ///< 1e-5 of the stage's largest value, or of 1
  std::string problem;    ///< why it could not be compared; empty: it was compared

  bool passed() const { return problem.empty() && difference <= allowed; }
};

/// One result for each of the file's stages, in its order. Throws Error if the file lacks the input, or if it
/// does not fit the model.
std::vector<StageResult> self_test(const LoadedModel& loaded, const io::ArrayFile& expected);

/// "passed, 9 stages, largest difference 2.1e-06 in logits", or "failed: ..." with all failures.
std::string summary_of(const std::vector<StageResult>& results);

}  // namespace heed
