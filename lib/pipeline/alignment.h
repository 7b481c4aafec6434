// Word alignments from attention, in the format of Pharaoh: "0-0 1-2 2-1", source word - target word, both
// from 0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/tensor_map.h"

namespace heed {

/// Of one sentence: for each piece the number of its word; the final </s> left out (Tokenizer::word_of).
struct WordNumbers {
  std::vector<std::int32_t> source, target;
};

/// The links of each sentence, one line each: every target piece is linked to the source piece that decoder
/// layer `layer` looks at most, heads averaged, or to none when it looks at no word, and pieces stand for
/// their words. `weights` f32 (sentence,
/// layer, head, query, key) as in /attention_cross. Throws UsageError when there is no such layer.
std::vector<std::string> pharaoh_links(const Tensor& weights, std::int64_t layer,
                                       const std::vector<WordNumbers>& words);

}  // namespace heed
