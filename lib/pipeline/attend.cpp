#include "pipeline/attend.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "io/finite.h"
#include "pipeline/attention_group.h"
#include "pipeline/shards.h"
#include "tensor/gemm.h"
#include "tensor/kernels.h"
#include "tensor/padding.h"

namespace heed {

void AttendConfig::check() const {
  if (heads < 1) fail<UsageError>("--heads: got ", heads, ", wanted at least 1");
  if (!(temperature > 0) || !std::isfinite(temperature)) {
    fail<UsageError>("--temperature: got ", temperature, ", wanted a number above 0");
  }
  const bool word = mask == "auto" || mask == "none" || mask == "causal" || mask == "lengths";
  if (!word && !mask_is_tensor()) {
    fail<UsageError>("--mask: got '", escaped(mask), "', wanted none, causal, lengths, auto or FILE:PATH");
  }
}

namespace {

/// The sizes of a query, key or value.
struct OperandSizes {
  std::int64_t batch = 1, heads = 1, rows = 0, cols = 0;
  bool shared = false;   ///< rank 2: one for all sentences
  bool by_head = false;  ///< the heads are a dimension of their own; otherwise they lie side by side
};

OperandSizes sizes_of(const Operand& operand) {
  const Tensor& tensor = *operand.tensor;
  if (tensor.dtype() != DType::f32 && tensor.dtype() != DType::f64) {
    fail(operand.name, ": holds ", name_of(tensor.dtype()), " values, wanted float32 or float64");
  }
  Shape shape = tensor.shape();
  const bool has_layer = shape.size() > 3 && tensor.dims().size() > 1 && tensor.dims()[1] == "layer";
  if (has_layer && shape[1] == 1) shape.erase(shape.begin() + 1);
  if (shape.size() < 2 || shape.size() > 4 || (has_layer && shape.size() == tensor.shape().size())) {
    fail(operand.name, ": shape ", to_string(tensor.shape()),
         ", wanted [n, d], [batch, n, d] or [batch, heads, n, d], of one layer");
  }
  if (tensor.size() == 0) fail(operand.name, ": shape ", to_string(tensor.shape()), " has no elements");
  OperandSizes sizes;
  sizes.cols = shape.back();
  sizes.rows = shape[shape.size() - 2];
  sizes.shared = shape.size() == 2;
  sizes.by_head = shape.size() == 4;
  if (!sizes.shared) sizes.batch = shape[0];
  if (sizes.by_head) sizes.heads = shape[1];
  return sizes;
}

/// An operand as rows of T for every sentence and head.
template <class T>
struct Rows : OperandSizes {
  explicit Rows(const Operand& from) : OperandSizes(sizes_of(from)), operand(&from) {
    if (from.tensor->dtype() == dtype_of<T>::value) {
      data = from.tensor->values<T>().data();
    } else if constexpr (std::is_same_v<T, double>) {
      const auto values = from.tensor->values<float>();
      converted.assign(values.begin(), values.end());
      data = converted.data();
    }
  }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  /// Takes the heads apart; they must divide the width.
  void split(std::int64_t n_heads) {
    if (by_head && heads != n_heads) {
      fail<UsageError>("--heads: got ", n_heads, ", but ", operand->name, " ",
                       to_string(operand->tensor->shape()), " has ", heads);
    }
    if (!by_head && cols % n_heads != 0) {
      fail<UsageError>("--heads: ", n_heads, " heads do not divide the width ", cols, " of ", operand->name);
    }
    heads = n_heads;
  }
  std::int64_t head_dim() const { return by_head ? cols : cols / heads; }
  std::int64_t width() const { return head_dim() * heads; }
  Matrix<const T> head(std::int64_t s, std::int64_t h, std::int64_t count) const {
    const std::int64_t sentence = shared ? 0 : s;
    if (by_head) return {data + (sentence * heads + h) * rows * cols, count, cols};
    return Matrix<const T>(data + sentence * rows * cols, count, cols).columns(h * head_dim(), head_dim());
  }

  const Operand* operand;
  std::vector<T> converted;  ///< when the file holds another type
  const T* data = nullptr;
};

/// Throws Error unless `got` of one operand equals `wanted` of another.
void expect_size(const Operand& operand, const char* what, std::int64_t got, std::int64_t wanted,
                 const Operand& origin) {
  if (got == wanted) return;
  fail(operand.name, ": shape ", to_string(operand.tensor->shape()), ", wanted ", what, " = ", wanted,
       " as in ", origin.name, " ", to_string(origin.tensor->shape()));
}

/// Which keys the queries of a sentence may look at, from --mask.
class Visibility {
 public:
  Visibility(const AttendConfig& config, const AttendOperands& operands, std::int64_t sentences,
             std::int64_t queries, std::int64_t keys)
      : config_(config), query_name_(operands.query.name), keys_(keys) {
    if (operands.mask) read(*operands.mask, sentences, queries, keys);
  }

  /// [n, m], 1 = attend. Throws Error on a row of zeros unless they are allowed.
  std::vector<std::uint8_t> of(std::int64_t sentence, std::int64_t n, std::int64_t m) const {
    std::vector<std::uint8_t> visible(static_cast<std::size_t>(n * m), 1);
    for (std::int64_t i = 0; i < n; ++i) {
      std::uint8_t* row = visible.data() + i * m;
      if (config_.mask == "causal")
        std::fill(row + std::clamp<std::int64_t>(i + m - n + 1, 0, m), row + m, 0);
      if (!mask_.empty()) {
        const std::uint8_t* given = mask_.data() + sentence * per_sentence_ + i * per_query_;
        std::copy_n(given, m, row);
      }
      if (!config_.allow_masked_rows && std::find(row, row + m, 1) == row + m) {
        fail(query_name_, ": query ", i, " of sentence ", sentence, " may look at no key (mask ",
             escaped(config_.mask), "): --allow-masked-rows gives it zeros");
      }
    }
    return visible;
  }

 private:
  void read(const Operand& mask, std::int64_t sentences, std::int64_t queries, std::int64_t keys) {
    const Tensor& tensor = *mask.tensor;
    const Shape& shape = tensor.shape();
    const bool by_sentence =
        shape.size() == 3 || (shape.size() == 2 && !tensor.dims().empty() && tensor.dims()[0] == "sentence");
    const bool by_query = shape.size() == 3 || (shape.size() == 2 && !by_sentence);
    Shape wanted{keys};
    if (by_query) wanted.insert(wanted.begin(), queries);
    if (by_sentence) wanted.insert(wanted.begin(), sentences);
    if (shape.empty() || shape.size() > 3) {
      fail(mask.name, ": shape ", to_string(shape), ", wanted [n, m] or [batch, n, m]");
    }
    expect_shape(mask.name, shape, wanted);
    per_query_ = by_query ? keys_ : 0;
    per_sentence_ = !by_sentence ? 0 : by_query ? queries * keys_ : keys_;
    if (tensor.dtype() == DType::u8) return copy<std::uint8_t>(mask);
    if (tensor.dtype() == DType::i32) return copy<std::int32_t>(mask);
    if (tensor.dtype() == DType::i64) return copy<std::int64_t>(mask);
    fail(mask.name, ": holds ", name_of(tensor.dtype()), " values, wanted booleans or integers, 1 = attend");
  }
  template <class I>
  void copy(const Operand& mask) {
    for (const I value : mask.tensor->values<I>()) {
      if (value != 0 && value != 1) {
        fail(mask.name, ": holds ", static_cast<std::int64_t>(value), ", wanted only 0 and 1 (1 = attend)");
      }
      mask_.push_back(static_cast<std::uint8_t>(value));
    }
  }

  const AttendConfig& config_;
  std::string query_name_;
  std::int64_t keys_;
  std::vector<std::uint8_t> mask_;
  std::int64_t per_sentence_ = 0, per_query_ = 0;
};

/// The real lengths of an operand's sentences.
template <class T>
Packing lengths(const AttendConfig& config, const Rows<T>& rows, std::int64_t sentences) {
  const Operand& operand = *rows.operand;
  if (operand.length && config.mask != "none" && !rows.shared) {
    Packing packing = packing_of(operand.length_name, *operand.length, rows.rows);
    if (packing.sentences() != sentences) {
      fail("/", operand.length_name, ": ", packing.sentences(), " lengths for ", sentences, " sentences");
    }
    return packing;
  }
  Packing packing;
  for (std::int64_t s = 0; s < sentences; ++s) packing.append(rows.rows);
  return packing;
}

/// 1 at the largest element of each row (ties: the first), 0 elsewhere; zeros when all are -infinity.
template <class T>
void argmax_rows(Matrix<T> x) {
  for (std::int64_t i = 0; i < x.rows; ++i) {
    T* row = x.row(i);
    T* best = std::max_element(row, row + x.cols);
    const bool any = *best > -std::numeric_limits<T>::infinity();
    std::fill(row, row + x.cols, T{0});
    if (any) *best = 1;
  }
}

template <class T>
class Attend {
 public:
  Attend(const AttendConfig& config, const AttendOperands& operands)
      : config_(config), query_(operands.query), key_(operands.key), value_(operands.value) {
    check_sizes();
    visibility_.emplace(config, operands, sentences_, query_.rows, key_.rows);
  }

  TensorMap run(int threads) {
    AttentionSizes sizes{lengths(config_, query_, sentences_), lengths(config_, key_, sentences_), heads_,
                         query_.head_dim(), value_.head_dim()};
    std::vector<std::string> names{"scores", "weights", "context"};
    if (config_.steps) {
      names.insert(names.end(),
                   {"queries", "keys", "values", "scaled", "masked", "weighted_values", "head_context"});
    }
    AttentionGroup<T> group(sizes, names);
    for_each_shard(sentences_, threads, [&](SentenceRange range) {
      for (std::int64_t s = range.first; s < range.first + range.count; ++s) sentence(sizes, s, group);
    });
    return group.take("Attention (" + config_.score + ")");
  }

 private:
  void check_sizes() {
    heads_ = config_.heads;
    for (Rows<T>* rows : {&query_, &key_, &value_}) {
      if (heads_ == 1 && rows->by_head) heads_ = rows->heads;
    }
    for (Rows<T>* rows : {&query_, &key_, &value_}) {
      if (!rows->shared) sentences_ = rows->batch;
      if (!config_.allow_nonfinite) io::expect_finite(rows->operand->name, *rows->operand->tensor);
      rows->split(heads_);
    }
    for (const Rows<T>* rows : {&key_, &value_}) {
      if (!rows->shared && !query_.shared)
        expect_size(*rows->operand, "batch", rows->batch, query_.batch, *query_.operand);
    }
    if (!key_.shared && !value_.shared)
      expect_size(*value_.operand, "batch", value_.batch, key_.batch, *key_.operand);
    expect_size(*key_.operand, "d", key_.width(), query_.width(), *query_.operand);
    expect_size(*value_.operand, "m", value_.rows, key_.rows, *key_.operand);
    if (config_.mask == "lengths" && !key_.operand->length) {
      fail(key_.operand->name, ": has no lengths beside it (a tensor `length` in its group): --mask none?");
    }
  }

  void sentence(const AttentionSizes& sizes, std::int64_t s, AttentionGroup<T>& group) const {
    const std::int64_t n = sizes.queries.length(s), m = sizes.keys.length(s);
    const std::vector<std::uint8_t> visible = visibility_->of(s, n, m);
    for (std::int64_t h = 0; h < heads_; ++h) {
      const Matrix<const T> q = query_.head(s, h, n), k = key_.head(s, h, m), v = value_.head(s, h, m);
      group.set("queries", {s, 0, h}, q);
      group.set("keys", {s, 0, h}, k);
      group.set("values", {s, 0, h}, v);
      std::vector<T> values(static_cast<std::size_t>(n * m));
      Matrix<T> x(values.data(), n, m);
      stages(q, k, visible, x, {s, 0, h}, group);
      weighted_sum(x, v, {s, 0, h}, group);
    }
  }

  /// Leaves the weights in x [n, m].
  void stages(Matrix<const T> q, Matrix<const T> k, const std::vector<std::uint8_t>& visible, Matrix<T> x,
              const Shape& at, AttentionGroup<T>& group) const {
    gemm<T>(1, q, k.t(), 0, x);
    group.set("scores", at, x);
    const double scale = config_.score == "scaled-dot" ? 1 / std::sqrt(static_cast<double>(k.cols)) : 1;
    const std::span<T> all(x.data, static_cast<std::size_t>(x.size()));
    scale_by(static_cast<T>(scale / config_.temperature), all);
    expect_no_overflow(all, at);
    group.set("scaled", at, x);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!visible[i]) all[i] = -std::numeric_limits<T>::infinity();
    }
    group.set("masked", at, x);
    config_.hard == "argmax" ? argmax_rows(x) : softmax_rows(x);
    group.set("weights", at, x);
  }

  void expect_no_overflow(std::span<const T> scores, const Shape& at) const {
    if (config_.allow_nonfinite || all_finite(scores)) return;
    fail(query_.operand->name, ": a score of sentence ", at[0], " does not fit into ",
         name_of(dtype_of<T>::value), ": the vectors are too long; scale them, or store them as float64");
  }

  void weighted_sum(Matrix<const T> weights, Matrix<const T> v, const Shape& at,
                    AttentionGroup<T>& group) const {
    std::vector<T> sum(static_cast<std::size_t>(weights.rows * v.cols));
    Matrix<T> context(sum.data(), weights.rows, v.cols);
    gemm<T>(1, weights, v, 0, context);
    group.set("head_context", at, context);
    group.set("context", {at[0], at[1]}, context, at[2] * v.cols);
    if (!group.has("weighted_values")) return;
    std::vector<T> terms(static_cast<std::size_t>(v.size()));
    for (std::int64_t i = 0; i < weights.rows; ++i) {
      for (std::int64_t j = 0; j < v.rows; ++j) {
        for (std::int64_t c = 0; c < v.cols; ++c)
          terms[static_cast<std::size_t>(j * v.cols + c)] = weights(i, j) * v(j, c);
      }
      group.set("weighted_values", {at[0], at[1], at[2], i}, {terms.data(), v.rows, v.cols});
    }
  }

  const AttendConfig& config_;
  Rows<T> query_, key_, value_;
  std::int64_t sentences_ = 1, heads_ = 1;
  std::optional<Visibility> visibility_;
};

}  // namespace

TensorMap attend(const AttendConfig& config, const AttendOperands& operands, int threads) {
  config.check();
  const Operand* list[] = {&operands.query, &operands.key, &operands.value};
  const bool wide =
      std::any_of(std::begin(list), std::end(list), [](auto* o) { return o->tensor->dtype() == DType::f64; });
  return wide ? Attend<double>(config, operands).run(threads) : Attend<float>(config, operands).run(threads);
}

}  // namespace heed
