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

/// A size that may differ from a common one goes by the common name unless it does.
Dim either(const char* own, std::int64_t size, const Dim& common) {
  return size == 0 || size == common.size ? common : Dim{own, size};
}

Dim dim_of(const std::string& dim, const AttentionSizes& sizes) {
  const Dim key_dim{"key_dim", sizes.key_dim}, head{"head", sizes.heads},
      context{"dim", sizes.heads * sizes.value_dim};
  if (dim == "head") return head;
  if (dim == "kv_head") return either("kv_head", sizes.kv_heads, head);
  if (dim == "query") return {dim, sizes.queries.longest()};
  if (dim == "key") return {dim, sizes.keys.longest()};
  if (dim == "key_dim") return key_dim;
  if (dim == "query_dim") return either("query_dim", sizes.query_dim, key_dim);
  if (dim == "value_dim") return {dim, sizes.value_dim};
  if (dim == "output_dim") return either("output_dim", sizes.output_dim, context);
  return context;
}

}  // namespace

template <class T>
AttentionGroup<T>::AttentionGroup(const AttentionSizes& sizes, const std::vector<std::string>& names)
    : sizes_(sizes) {
  for (const Layout& layout : layouts()) {
    if (std::find(names.begin(), names.end(), layout.name) == names.end()) continue;
    std::vector<std::string> dims{"sentence", "layer"};
    Shape shape{sizes.queries.sentences(), 1};
    for (const std::string& dim : layout.dims) {
      const Dim resolved = dim_of(dim, sizes);
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
  for (std::int64_t i = 0; i < block.rows; ++i)
    std::copy_n(block.row(i), block.cols, to.row(i) + first_column);
}

template <class T>
Matrix<T> AttentionGroup<T>::rows(const std::string& name, const Shape& prefix, std::int64_t first,
                                  std::int64_t count) {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return {};
  const Shape& shape = found->second.shape();
  std::int64_t at = 0;
  for (std::size_t i = 0; i < prefix.size(); ++i) at = at * shape[i] + prefix[i];
  const std::int64_t rows = shape[shape.size() - 2], cols = shape.back();
  T* data = found->second.template values<T>().data();
  return {data + (at * rows + first) * cols, count, cols};
}

template <class T>
TensorMap AttentionGroup<T>::take(const std::string& title) {
  TensorMap map;
  for (const std::string& name : names_) map.add("attention/" + name, std::move(tensors_.at(name)));
  map.add("attention/query_length", lengths_of(sizes_.queries));
  map.add("attention/key_length", lengths_of(sizes_.keys));
  if (has("weights")) map.at("attention/weights").attributes["interpretation"] = std::string("image");
  map.groups["attention"] = {"weights", title, {"0", "0", "0", ".", "."}, {}};
  return map;
}

template class AttentionGroup<float>;
template class AttentionGroup<double>;

void replace_attention(TensorMap& frame, TensorMap group) {
  std::vector<std::string> old;
  for (const auto& [path, tensor] : frame.tensors()) {
    if (path.starts_with("attention/")) old.push_back(path);
  }
  for (const std::string& path : old) frame.erase(path);
  frame.merge(std::move(group));
}

void label_attention(TensorMap& frame, const std::string& name,
                     const std::vector<std::vector<std::string>>& labels) {
  const std::string dim = name == "query_token" ? "query" : "key";
  const Shape weights = frame.at("attention/weights").shape();
  const std::int64_t width = dim == "query" ? weights[3] : weights[4];
  frame.add("attention/" + name, token_labels(labels, dim, width));
}

}  // namespace heed
