// The scores of attention, e_ij of query q_i [d_q] and key k_j [d_k], and the names of their parameters, the
// same in models, in files and in `attend --weights`. q and k are what the projections query/{weight, bias}
// and key/{weight, bias} leave, where there are any.
//
//   dot         q . k                                Luong et al. 2015, section 3.1
//   scaled-dot  q . k / sqrt(d_k)                    Vaswani et al. 2017, eq. 1
//   general     q^T W k                              Luong, 3.1; score/weight W [d_q, d_k]
//   additive    v^T tanh(q + k)                      Bahdanau et al. 2015, A.1.2; score/weight v [a], where q
//               and k are W_q q' [a] and W_k k' [a]: query/weight [d_q', a], key/weight [d_k', a]; its bias,
//               where there is one, is query/bias [a]
//   concat      v^T tanh(W [q; k] + b)               Luong, 3.1; concat/weight W [d_q + d_k, a], the query's
//               rows first, concat/bias b [a] if any, score/weight v [a]
//   location    (q^T W)_j                            Luong, eq. 8; score/weight W [d_q, positions]; j counts
//               keys from 0 and the keys themselves are not looked at
//
// Of several heads, each parameter may have the head as a first dimension; without it the heads share it.
//
// Local attention (Luong, section 3.2): positions count from 0, S is the number of keys, and of query t only
// keys s with p_t - D <= s <= p_t + D count; the softmax runs over these.
//   local-m     p_t = t
//   local-p     p_t = S sigmoid(v_p^T tanh(W_p q_t)), eq. 9: position/query/weight W_p [d_q, p],
//               position/score/weight v_p [p]; after the softmax the weights are multiplied by
//               exp(-(s - p_t)^2 / (2 (D / 2)^2)), eq. 10, and not normalised again
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/shape.h"
#include "tensor/key_window.h"

namespace heed {

enum class ScoreFunction : std::uint8_t { dot, scaled_dot, general, additive, concat, location };

/// "dot", "scaled-dot", ... in the order of the enumeration.
const std::vector<std::string>& score_function_names();
/// Throws UsageError on any other name.
ScoreFunction score_function(const std::string& name);

/// Sizes of one head.
struct ScoreSizes {
  std::int64_t d_q = 0, d_k = 0;
  std::int64_t hidden = 0;     ///< a, of additive and concat
  std::int64_t positions = 0;  ///< of location
};
struct NamedShape {
  std::string name;
  Shape shape;
};
/// The score's own parameters that there must be, for one head.
std::vector<NamedShape> score_parameters(ScoreFunction score, const ScoreSizes& sizes);

}  // namespace heed
