// The work of `decode` with an encoder alone: classes of sentences or tokens, or masked words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "inspect/inspection.h"
#include "models/model_file.h"
#include "models/packed_states.h"
#include "tensor/tensor_map.h"

namespace heed {

struct Prediction {
  std::int64_t position = 0;      ///< of a masked word or of a token; 0 for a sentence's class
  std::vector<std::int32_t> ids;  ///< classes or pieces, most likely first; for a regression in their order
  std::vector<float> score;       ///< log-probability of each; for a regression the number itself
};

/// For each sentence of /encoder: the `n_best` most likely classes of the sentence or of each token, or the
/// most likely words for each mask (`tokens`: the sentences' ids). `n_best` 0: all classes, or one word.
/// `attention`, unless null, receives the attention of a model of documents: the groups /word_attention and
/// /sentence_attention (lib/io/README.md), without labels.
std::vector<std::vector<Prediction>> predict(const LoadedModel& loaded, const PackedStates& memory,
                                             const std::vector<std::vector<std::int32_t>>& tokens,
                                             std::int64_t n_best, int threads, Inspection* inspection,
                                             TensorMap* attention = nullptr);

/// A line for each sentence: "label<TAB>probability<TAB>label<TAB>probability ..." (a regression: numbers in
/// place of probabilities); the labels of its words, each that of the word's first piece, "label<TAB>label
/// ..."; or the sentence with its masks filled in. With n_best > 1 a line for each piece, "sentence |||
/// position ||| piece ||| log-probability", for token classifiers "sentence ||| position ||| piece ||| label
/// ||| log-probability".
std::string prediction_text(const LoadedModel& loaded,
                            const std::vector<std::vector<Prediction>>& predictions,
                            const std::vector<std::vector<std::int32_t>>& tokens, std::int64_t n_best,
                            std::int64_t first_sentence);

/// The group /predictions: ids i32, log_probability (for a regression, value) f32, piece or class str
/// (sentence, [mask or position,] rank); for masked words their position and number, masks; for token
/// classifiers the number of tokens, length, i32. Missing elements are -1, 0 and "".
TensorMap prediction_map(const LoadedModel& loaded, const std::vector<std::vector<Prediction>>& predictions);

}  // namespace heed
