// The attention operation on plain vectors, for tests.
#pragma once

#include <cstdint>
#include <vector>

#include "autograd/ops.h"
#include "support/gradient_check.h"

namespace heed::test {

template <class T>
std::vector<T> random_rows(std::int64_t rows, std::int64_t cols, std::uint64_t stream) {
  const std::vector<double> values = random_values(rows * cols, stream);
  return std::vector<T>(values.begin(), values.end());
}

/// One sentence: n queries, m keys; widths of all heads together.
struct Sizes {
  std::int64_t n, m, d_k, d_v, heads = 1;
};

template <class T>
struct Attended {
  std::vector<T> weights;  ///< [heads, n, m]
  std::vector<T> context;  ///< [n, d_v]
};

template <class T>
Attended<T> attend_op(const Sizes& sizes, const std::vector<T>& q, const std::vector<T>& k,
                      const std::vector<T>& v, double scale, bool causal = false) {
  Tape<T> tape;
  Packing queries, keys;
  queries.append(sizes.n);
  keys.append(sizes.m);
  AttentionOptions options;
  options.n_heads = sizes.heads;
  options.scale = scale;
  options.causal = causal;
  options.keep_weights = true;
  const AttentionResult<T> result = attention<T>(
      tape.constant({q.data(), sizes.n, sizes.d_k}), tape.constant({k.data(), sizes.m, sizes.d_k}),
      tape.constant({v.data(), sizes.m, sizes.d_v}), queries, keys, options);
  const Matrix<const T> context = result.context.value();
  return {{result.weights.begin(), result.weights.end()}, {context.data, context.data + context.size()}};
}

template <class T>
double largest_difference(const std::vector<T>& a, const std::vector<T>& b) {
  BOOST_REQUIRE_EQUAL(a.size(), b.size());
  BOOST_REQUIRE(!a.empty());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::abs(static_cast<double>(a[i] - b[i])));
  return most;
}

/// The rows of a matrix [order.size(), cols] in another order.
template <class T>
std::vector<T> rows_in_order(const std::vector<T>& x, std::int64_t cols,
                             const std::vector<std::int64_t>& order) {
  std::vector<T> y;
  for (const std::int64_t row : order)
    y.insert(y.end(), x.begin() + row * cols, x.begin() + (row + 1) * cols);
  return y;
}

}  // namespace heed::test
