// The group /attention as files hold it, filled sentence by sentence and head by head.
//   query_vector      (sentence, layer, head, query, key_dim)   what went in, head by head
//   key_vector        (sentence, layer, head, key, key_dim)     likewise
//   value_vector      (sentence, layer, head, key, value_dim)   likewise
//   scores            (sentence, layer, head, query, key)   of the score function (nn/attention/); these and
//                     all that follows from them up to masked are -infinity outside a window
//   products          the same dimensions, as all up to weights: q . k of scaled-dot, whose scores are these
//                     divided by sqrt(key_dim)
//   capped            scores bent into (-c, c)
//   biased            the bias added
//   tempered          divided by the temperature
//   masked            what the softmax reads, -infinity where a query may not attend
//   probabilities     after the softmax, where weights are something more
//   weights           every row sums to 1 (but for local-p, to at most 1)
//   position          (sentence, layer, query)              p_t of local-p
//   weighted_values   (sentence, layer, head, query, key, value_dim)   the terms of the weighted sum
//   head_context      (sentence, layer, head, query, value_dim)        their sum, head by head
//   context           (sentence, layer, query, dim)                    the heads side by side
//   output            (sentence, layer, query, dim)                    context W_o + b_o
// `query` and `key` alone are dimensions, and so the names of their scales. layer has size 1; beyond
// query_length and key_length, i32 (sentence), everything is zero. Sizes that may differ have names of their
// own where they do: query_dim, kv_head, output_dim.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tensor/matrix.h"
#include "tensor/packing.h"
#include "tensor/tensor_map.h"

namespace heed {

struct AttentionSizes {
  Packing queries, keys;
  std::int64_t heads = 1;
  std::int64_t key_dim = 0, value_dim = 0;  ///< widths of one head
  std::int64_t query_dim = 0;               ///< 0: key_dim
  std::int64_t kv_heads = 0;                ///< heads of keys and values; 0: heads
  std::int64_t output_dim = 0;              ///< 0: heads * value_dim
};

/// T is float or double. Different sentences may be set from different threads.
template <class T>
class AttentionGroup {
 public:
  /// Makes room for the tensors `names` of the list above.
  AttentionGroup(const AttentionSizes& sizes, const std::vector<std::string>& names);

  bool has(const std::string& name) const { return tensors_.count(name) != 0; }
  /// Copies `block` into the last two dimensions after the index `prefix`, from `first_column` and
  /// `first_row` on; does nothing when the group does not have that tensor.
  void set(const std::string& name, const Shape& prefix, Matrix<const T> block, std::int64_t first_column = 0,
           std::int64_t first_row = 0);
  /// The rows of the last two dimensions after `prefix`, all columns; data is null when the group does not
  /// have that tensor.
  Matrix<T> rows(const std::string& name, const Shape& prefix, std::int64_t first, std::int64_t count);
  /// The finished group, under the title, with its settings as attributes: `score` names the score function.
  TensorMap take(const std::string& title, Attributes settings);

 private:
  AttentionSizes sizes_;
  std::vector<std::string> names_;
  std::map<std::string, Tensor> tensors_;
};

extern template class AttentionGroup<float>;
extern template class AttentionGroup<double>;

/// Puts `group` (made by take) in the place of what stood under /attention in `frame`.
void replace_attention(TensorMap& frame, TensorMap group);

/// Labels an axis of /attention: the tensor `name` (query_token or key_token), str (sentence, query | key).
void label_attention(TensorMap& frame, const std::string& name,
                     const std::vector<std::vector<std::string>>& labels);

}  // namespace heed
