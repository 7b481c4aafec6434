#include "attend/attention_group.h"

#include <algorithm>

#include "base/error.h"
#include "tensor/padding.h"
#include "text/token_map.h"

namespace heed {

namespace {

struct Layout {
  const char* name;
  const char* long_name;
  std::vector<std::string> dims;  ///< after sentence and layer
};

const std::vector<Layout>& layouts() {
  static const std::vector<Layout> list = {
      {"query_vector", "query vector", {"head", "query", "query_dim"}},
      {"key_vector", "key vector", {"kv_head", "key", "key_dim"}},
      {"value_vector", "value vector", {"kv_head", "key", "value_dim"}},
      {"products", "product of query and key, before scaling", {"head", "query", "key"}},
      {"position_bias", "bias by position, part of the score", {"head", "query", "key"}},
      {"scores", "score", {"head", "query", "key"}},
      {"capped", "capped score", {"head", "query", "key"}},
      {"biased", "score with the bias", {"head", "query", "key"}},
      {"tempered", "score divided by the temperature", {"head", "query", "key"}},
      {"masked", "score that the softmax reads, -infinity where masked", {"head", "query", "key"}},
      {"probabilities", "softmax of the scores", {"head", "query", "key"}},
      {"position", "position around which the query attends", {"query"}},
      {"weights", "attention weight", {"head", "query", "key"}},
      {"weighted_values", "attention weight times value", {"head", "query", "key", "value_dim"}},
      {"head_context", "context vector of one head", {"head", "query", "value_dim"}},
      {"context", "context vector, heads side by side", {"query", "dim"}},
      {"output", "context projected by the output matrix", {"query", "output_dim"}},
  };
  return list;
}

struct Dim {
  std::string name;
  std::int64_t size;
};

/// A dimension with its own name if its size differs from the common one's, otherwise the common one.
Dim either(const char* own, std::int64_t size, const Dim& common) {
  return size == 0 || size == common.size ? common : Dim{own, size};
}

/// The size of each of the dimensions above.
std::map<std::string, Dim> dims_of(const AttentionSizes& sizes) {
  const Dim head{"head", sizes.heads}, key_dim{"key_dim", sizes.key_dim},
      context{"dim", sizes.heads * sizes.value_dim};
  return {{"head", head},
          {"kv_head", either("kv_head", sizes.kv_heads, head)},
          {"query", {"query", sizes.queries.longest()}},
          {"key", {"key", sizes.keys.longest()}},
          {"key_dim", key_dim},
          {"query_dim", either("query_dim", sizes.query_dim, key_dim)},
          {"value_dim", {"value_dim", sizes.value_dim}},
          {"dim", context},
          {"output_dim", either("output_dim", sizes.output_dim, context)}};
}

}  // namespace

template <class T>
AttentionGroup<T>::AttentionGroup(const AttentionSizes& sizes, const std::vector<std::string>& names)
    : sizes_(sizes) {
  const std::map<std::string, Dim> all = dims_of(sizes);
  for (const Layout& layout : layouts()) {
    if (std::find(names.begin(), names.end(), layout.name) == names.end()) continue;
    std::vector<std::string> dims{"sentence", "layer"};
    Shape shape{sizes.queries.sentences(), 1};
    for (const std::string& dim : layout.dims) {
      const Dim& resolved = all.at(dim);
      dims.push_back(resolved.name);
      shape.push_back(resolved.size);
    }
    Tensor tensor = Tensor::zeros<T>(shape, dims);
    tensor.attributes["long_name"] = std::string(layout.long_name);
    names_.push_back(layout.name);
    tensors_.emplace(layout.name, std::move(tensor));
  }
}

template <class T>
void AttentionGroup<T>::set(const std::string& name, const Shape& prefix, Matrix<const T> block,
                            std::int64_t first_column, std::int64_t first_row) {
  const Matrix<T> to = rows(name, prefix, first_row, block.rows);
  if (!to.data) return;
  if (first_column + block.cols > to.cols)
    fail("/attention/", name, ": rows of ", first_column + block.cols, " numbers, wanted ", to.cols);
  copy_rows(block, to.columns(first_column, block.cols));
}

template <class T>
Matrix<T> AttentionGroup<T>::rows(const std::string& name, const Shape& prefix, std::int64_t first,
                                  std::int64_t count) {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return {};
  return matrix_at<T>(found->second, prefix).row_range(first, count);
}

template <class T>
TensorMap AttentionGroup<T>::take(const std::string& title, Attributes settings) {
  TensorMap map;
  for (const std::string& name : names_) map.add("attention/" + name, std::move(tensors_.at(name)));
  map.add("attention/query_length", lengths_of(sizes_.queries));
  map.add("attention/key_length", lengths_of(sizes_.keys));
  if (has("weights")) map.at("attention/weights").attributes["interpretation"] = std::string("image");
  map.groups["attention"] = {"weights", title, {"0", "0", "0", ".", "."}, std::move(settings)};
  return map;
}

template class AttentionGroup<float>;
template class AttentionGroup<double>;

void replace_attention(TensorMap& frame, TensorMap group) {
  std::erase_if(frame.tensors(), [](const auto& entry) { return entry.first.starts_with("attention/"); });
  frame.merge(std::move(group));
}

void label_attention(TensorMap& frame, const std::string& name,
                     const std::vector<std::vector<std::string>>& labels) {
  const Tensor& weights = frame.at("attention/weights");
  const bool of_query = name == "query_token";
  const std::int64_t width = weights.shape()[of_query ? 3 : 4];
  frame.add("attention/" + name, token_labels(labels, of_query ? "query" : "key", width));
}

}  // namespace heed
