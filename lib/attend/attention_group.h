// The group /attention as files hold it, filled sentence by sentence and head by head.
//   query_vector      (sentence, layer, head, query, key_dim)   the queries, head by head
//   key_vector        (sentence, layer, head, key, key_dim)     the keys, head by head
//   value_vector      (sentence, layer, head, key, value_dim)   the values, head by head
//   scores            (sentence, layer, head, query, key)   of the score function (nn/attention/); scores and
//                     the following steps up to `masked` are -infinity outside a window
//   products          dimensions as scores, as are all up to weights: q . k of scaled-dot, whose scores are
//                     divided by sqrt(key_dim)
//   capped            scores after the soft cap, in (-c, c)
//   biased            the bias added
//   tempered          divided by the temperature
//   masked            the input of the softmax, -infinity where a query may not attend
//   probabilities     after the softmax, if the weights differ from it
//   weights           every row sums to 1 (local-p: to at most 1)
//   position          (sentence, layer, query)              p_t of local-p
//   weighted_values   (sentence, layer, head, query, key, value_dim)   the terms of the weighted sum
//   head_context      (sentence, layer, head, query, value_dim)        their sum, head by head
//   context           (sentence, layer, query, dim)                    the heads side by side
//   output            (sentence, layer, query, dim)                    context W_o + b_o
// The names of dimensions are also the names of their scales. layer has size 1; beyond query_length and
// key_length, i32 (sentence), everything is zero. Dimensions of a different size get a different name:
// query_dim, kv_head, output_dim.
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
  /// Allocates the tensors of the list above that `names` contains.
  AttentionGroup(const AttentionSizes& sizes, const std::vector<std::string>& names);

  bool has(const std::string& name) const { return tensors_.count(name) != 0; }
  /// Copies `block` into the last two dimensions at the index `prefix`, starting at `first_row` and
  /// `first_column`; does nothing if the group does not have that tensor.
  void set(const std::string& name, const Shape& prefix, Matrix<const T> block, std::int64_t first_column = 0,
           std::int64_t first_row = 0);
  /// Rows of the last two dimensions at `prefix`, all columns; data is null if the group does not have that
  /// tensor.
  Matrix<T> rows(const std::string& name, const Shape& prefix, std::int64_t first, std::int64_t count);
  /// Returns the finished group with this title and its settings as attributes: `score` names the score
  /// function.
  TensorMap take(const std::string& title, Attributes settings);

 private:
  AttentionSizes sizes_;
  std::vector<std::string> names_;
  std::map<std::string, Tensor> tensors_;
};

extern template class AttentionGroup<float>;
extern template class AttentionGroup<double>;

/// Replaces /attention in `frame` by `group` (made by take).
void replace_attention(TensorMap& frame, TensorMap group);

/// Labels an axis of /attention: the tensor `name` (query_token or key_token), str (sentence, query | key).
void label_attention(TensorMap& frame, const std::string& name,
                     const std::vector<std::vector<std::string>>& labels);

}  // namespace heed
