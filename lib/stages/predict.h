// What `decode` does with an encoder alone: the classes of sentences, or the words that masks hide.
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
  std::int64_t position = 0;           ///< of a masked word; of a class 0
  std::vector<std::int32_t> ids;       ///< classes or pieces, likeliest first
  std::vector<float> log_probability;  ///< of each
};

/// For each sentence of /encoder: the `n_best` likeliest classes, or for each of its masks (`tokens`: the sentences'
/// ids) the likeliest words. `n_best` 0: all classes, one piece. `attention`, unless null, receives what a model of
/// documents attends to: the groups /word_attention and /sentence_attention (lib/io/README.md), without labels.
std::vector<std::vector<Prediction>> predict(const LoadedModel& loaded, const PackedStates& memory,
                                             const std::vector<std::vector<std::int32_t>>& tokens,
                                             std::int64_t n_best, int threads, Inspection* inspection,
                                             TensorMap* attention = nullptr);

/// A line for each sentence: "label<TAB>probability<TAB>label<TAB>probability ...", or the sentence with its masks
/// filled in; with n_best > 1 a line for each mask and piece, "sentence ||| position ||| piece ||| log-probability".
std::string prediction_text(const LoadedModel& loaded,
                            const std::vector<std::vector<Prediction>>& predictions,
                            const std::vector<std::vector<std::int32_t>>& tokens, std::int64_t n_best,
                            std::int64_t first_sentence);

/// The group /predictions: ids i32, log_probability f32, piece or class str (sentence, [mask,] rank), position and
/// masks i32 where words were masked. Missing ones are -1, 0 and "".
TensorMap prediction_map(const LoadedModel& loaded, const std::vector<std::vector<Prediction>>& predictions);

}  // namespace heed
