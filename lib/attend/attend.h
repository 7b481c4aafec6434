// Attention over tensors from anywhere, without a model, one stage after the other. Definitions, in the
// order of today's attention operators (ONNX Attention, PyTorch's flex attention):
//   query_vector, key_vector, value_vector: q, k, v as given, or projected; q and k turned by --rotary, k and v after the past
//                           ones; head h of the query reads head h / (heads / kv_heads) of key and value
//   scores = score(q, k)    nn/attention/score_function.h, times --score-scale
//   capped = c tanh(scores / c)        --softcap
//   biased = capped + bias             --bias
//   tempered = biased / temperature    --temperature
//   masked = tempered, -infinity where the query may not attend
//   probabilities = softmax(masked) over the keys; zeros for a query that may attend to no key
//   weights = probabilities            or, of --local local-p, times the window's factor; of --hard 1 at
//                                      one key: the largest (ties: the first), or one drawn by weight
//   Outside the window of --local nothing is computed: all of these are -infinity there, weights 0.
//   context = sum over the keys of weights * value_vector; output = context W_o + b_o, when there is
//   output/weight
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
  /// Reads --parameters. What must be drawn is drawn from the seed when the first tensors come.
  explicit Attention(const AttendConfig& config, std::int64_t seed = 1);

  /// The group /attention (attention_group.h) of the next tensors: scores, weights, context, output; with
  /// `steps` everything, and the parameters under attention/parameters. A tensor of rank 2 serves every
  /// sentence of the others. Float64 in query, key or value gives float64 throughout. With
  /// AttendResult::context only that is kept, for benchmarks. Throws Error on shapes that do not fit,
  /// values that are not finite, and queries that may attend to no key.
  TensorMap run(const AttendOperands& operands, int threads, AttendResult result = AttendResult::all);

 private:
  AttendConfig config_;
  AttendParameters parameters_;
  std::int64_t seed_;
  std::int64_t sentences_ = 0;  ///< sentences that came before: each has its own random numbers
  std::optional<bool> weighted_values_;
};

}  // namespace heed
