// Attention over tensors from anywhere, without a model. The steps, in the order of current attention
// operators (ONNX Attention, PyTorch's flex attention):
//   query_vector, key_vector, value_vector: q, k, v as given, or projected; q and k rotated by --rotary;
//                           past k and v prepended; head h of the query uses head h / (heads / kv_heads) of
//                           key and value
//   scores = score(q, k)               nn/attention/score_function.h, times --score-scale
//   capped = c tanh(scores / c)        --softcap
//   biased = capped + bias             --bias
//   tempered = biased / temperature    --temperature
//   masked = tempered, -infinity where the query may not attend
//   probabilities = softmax(masked) over the keys; zeros for a query that may attend to no key
//   weights = probabilities            or, of --local local-p, times the window's factor; of --hard 1 at
//                                      one key: the largest (ties: the first), or one sampled by weight
//   Outside the window of --local nothing is computed: scores there are -infinity, weights 0.
//   context = sum over the keys of weights * value_vector; output = context W_o + b_o, if there is
//             output/weight
#pragma once

#include <optional>
#include <vector>

#include "attend/config.h"
#include "attend/operands.h"
#include "attend/parameters.h"
#include "tensor/tensor_map.h"

namespace heed {

struct AttendOperands {
  Operand query, key, value;
  std::optional<Operand> past_key, past_value;  ///< both or none
  std::vector<Operand> masks;                   ///< u8, i32 or i64 of 0 and 1: attend/visibility.h
  std::optional<Operand> bias;
};

enum class AttendResult { all, context };

class Attention {
 public:
  /// Reads --parameters. Missing ones are drawn from the seed when the first tensors arrive.
  explicit Attention(const AttendConfig& config, std::int64_t seed = 1);

  /// Returns the group /attention (attention_group.h) of the next tensors: scores, weights, context, output;
  /// with `steps` every intermediate result, and the parameters under attention/parameters. A tensor of rank
  /// 2 is used for every sentence of the others. If query, key or value is float64, so is everything.
  /// AttendResult::context returns only the context, for benchmarks. Throws Error on shapes that do not fit,
  /// values that are not finite, and queries whose keys are all masked.
  TensorMap run(const AttendOperands& operands, int threads, AttendResult result = AttendResult::all);

 private:
  AttendConfig config_;
  AttendParameters parameters_;
  std::int64_t seed_;
  std::int64_t sentences_ = 0;  ///< sentences before these: each has its own random numbers
  std::optional<bool> weighted_values_;
};

}  // namespace heed
