// Small tensor maps for the tests of lib/draw.
#pragma once

#include <string>
#include <vector>

#include "tensor/tensor_map.h"

namespace heed::draw {

/// Attention of 2 sentences, 3 layers, 2 heads, 4 queries, 5 keys: weights[s, l, h, q, k] = 10000 s + 1000 l
/// + 100 h + 10 q + k. Sentence 1 has 3 queries and 4 keys.
inline TensorMap attention_map() {
  std::vector<float> weights;
  for (int i = 0; i < 2 * 3 * 2 * 4 * 5; ++i) {
    weights.push_back(static_cast<float>(10000 * (i / 120) + 1000 * (i / 40 % 3) + 100 * (i / 20 % 2) +
                                         10 * (i / 5 % 4) + i % 5));
  }
  TensorMap map;
  map.add("attention/weights",
          Tensor::of(weights, {2, 3, 2, 4, 5}, {"sentence", "layer", "head", "query", "key"}));
  map.add("attention/query_length", Tensor::of<std::int32_t>({4, 3}, {2}, {"sentence"}));
  map.add("attention/key_length", Tensor::of<std::int32_t>({5, 4}, {2}, {"sentence"}));
  map.add("attention/query_token",
          Tensor::of<std::string>({"le", "chat", "dort", "</s>", "il", "dort", "</s>", ""}, {2, 4},
                                  {"sentence", "query"}));
  map.add("attention/key_token",
          Tensor::of<std::string>({"the", "cat", "is", "asleep", "</s>", "it", "is", "asleep", "</s>", ""},
                                  {2, 5}, {"sentence", "key"}));
  map.groups["attention"].signal = "weights";
  map.attributes["default"] = std::string("attention");
  return map;
}

}  // namespace heed::draw
