// What `decode` does with an encoder alone: the classes of sentences or of their tokens, or the words that masks hide.
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
  std::int64_t position = 0;  ///< of a masked word or of a token; of a sentence's class 0
  std::vector<std::int32_t>
      ids;                   ///< classes or pieces, likeliest first; those of a regression in their order
  std::vector<float> score;  ///< of each the log-probability; of a regression the number itself
};

/// For each sentence of /encoder: the `n_best` likeliest classes, of it or of each of its tokens, or for each of its masks (`tokens`:
/// the sentences' ids) the likeliest words. `n_best` 0: all classes, one piece. `attention`, unless null, receives what a model of
/// documents attends to: the groups /word_attention and /sentence_attention (lib/io/README.md), without labels.
std::vector<std::vector<Prediction>> predict(const LoadedModel& loaded, const PackedStates& memory,
                                             const std::vector<std::vector<std::int32_t>>& tokens,
                                             std::int64_t n_best, int threads, Inspection* inspection,
                                             TensorMap* attention = nullptr);

/// A line for each sentence: "label<TAB>probability<TAB>label<TAB>probability ...", numbers in place of probabilities from a
/// regression; the labels of its words, each that of the word's first piece, "label<TAB>label ..."; or the sentence with its masks
/// filled in. With n_best > 1 a line for each piece, "sentence ||| position ||| piece ||| log-probability", where tokens are
/// classified "sentence ||| position ||| piece ||| label ||| log-probability".
std::string prediction_text(const LoadedModel& loaded,
                            const std::vector<std::vector<Prediction>>& predictions,
                            const std::vector<std::vector<std::int32_t>>& tokens, std::int64_t n_best,
                            std::int64_t first_sentence);

/// The group /predictions: ids i32, log_probability (value of a regression) f32, piece or class str (sentence, [mask or
/// position,] rank); where words were masked their position and number, masks, and where tokens are classified their number, length,
/// i32. Missing ones are -1, 0 and "".
TensorMap prediction_map(const LoadedModel& loaded, const std::vector<std::vector<Prediction>>& predictions);

}  // namespace heed
