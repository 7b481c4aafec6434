#include <numeric>

#include "kernel_testing.h"

using namespace heed;
using namespace heed::testing;

namespace {

struct Case {
  Index n, m, d_k, d_v;
  bool causal = false;
  bool masked = false;
  double dropout = 0;
  double logit_size = 1;
  Index window = 0;
};

const std::vector<Case> kCases = {
    {1, 1, 4, 3},
    {5, 7, 32, 64},
    {16, 17, 32, 32, true},
    {7, 5, 33, 17, true},
    {33, 40, 64, 32},
    {13, 13, 32, 32, true, true, 0.1},
    {6, 31, 8, 9, false, true, 0.3},
    {23, 48, 30, 34, false, false, 0.5},
    {12, 12, 16, 20, true, false, 0, 1e4},
    {130, 140, 32, 24, true, true, 0.2},
    {2, 512, 16, 8},
    {150, 129, 40, 33, false, false, 0.1},
    {230, 260, 24, 40, true, true, 0.2},  // several blocks of queries
    {70, 1100, 16, 65},
    {600, 600, 8, 8, true},  // sums over keys are cut
    {90, 1100, 16, 33, true, false, 0.1},
    {260, 200, 8, 8, true},  // the first queries see nothing
    {400, 200, 8, 8, true},  // nor does any of a block
    {40, 40, 24, 20, false, false, 0.1, 1, 7},
    {300, 300, 16, 33, false, true, 0.2, 1, 3},
    {230, 900, 24, 40, true, false, 0.1, 1, 70},  // blocks see keys of their own
    {1300, 1300, 8, 8, false, false, 0, 1, 33},   // whose sums are cut
    {500, 300, 8, 9, false, false, 0.1, 1, 40},   // the first queries see nothing
    {1, 20, 32, 32, true}};

/// One head whose inputs are column slices of wider matrices, with every gradient and result, in T and in
/// double.
template <class T>
struct Head {
  BothMatrix<T> q, k, v, context, d_context, d_q, d_k, d_v;
  Both<T> scores, weights;
  std::vector<std::uint8_t> mask;
  AttentionHead<T> fast;
  AttentionHead<double> exact;

  explicit Head(const Case& c)
      : q(c.n, c.d_k, 1, c.logit_size, 11),
        k(c.m, c.d_k, 2, 1, 5),
        v(c.m, c.d_v, 3, 1, 7),
        context(c.n, c.d_v, 0, 1, 3),
        d_context(c.n, c.d_v, 4, 1, 2),
        d_q(c.n, c.d_k, 5, 1, 4),
        d_k(c.m, c.d_k, 6, 1, 1),
        d_v(c.m, c.d_v, 7),
        scores(c.n * c.m),
        weights(c.n * c.m) {
    for (Index i = 0; i < c.n; ++i)
      std::fill_n(context.fast().row(i), c.d_v, std::numeric_limits<T>::quiet_NaN());
    Random random(8, c.n);
    for (Index i = 0; i < c.n * c.m; ++i) mask.push_back(random.uniform() < 0.6);
    if (c.n > 3) std::fill_n(mask.begin() + 3 * c.m, c.m, 0);  // query 3 sees nothing
    fill_in(c, fast, q.in(), k.in(), v.in());
    fill_in(c, exact, q.in_exact(), k.in_exact(), v.in_exact());
  }

  template <class U>
  void fill_in(const Case& c, AttentionHead<U>& head, Matrix<const U> query, Matrix<const U> key,
               Matrix<const U> value) {
    head.q = query;
    head.k = key;
    head.v = value;
    head.scale = static_cast<U>(0.25);
    head.causal = c.causal;
    head.window = c.window;
    head.mask = c.masked ? mask.data() : nullptr;
    head.drop = make_dropout(c.dropout, 77, 5);
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(attention_kernels)

BOOST_AUTO_TEST_CASE_TEMPLATE(forward_and_backward_equal_the_loops, T, Floats) {
  for (const Case& c : kCases) {
    BOOST_TEST_CONTEXT("n " << c.n << " m " << c.m << " d_k " << c.d_k << " causal " << c.causal) {
      Head<T> head(c);
      attend_forward(head.fast, head.scores.fast.data(), head.weights.fast.data(), head.context.fast());
      naive::attend_forward(head.exact, head.scores.exact.data(), head.weights.exact.data(),
                            head.context.exact());
      const double size = c.logit_size * c.d_k;  // errors of the logits are relative to their terms
      check_close(head.scores, 8, size);
      check_close(head.weights, 8 * size);
      check_close(head.context, 16 * size);

      attend_backward<T>(head.fast, head.weights.fast.data(), head.d_context.in(), head.d_q.fast(),
                         head.d_k.fast(), head.d_v.fast());
      head.weights.exact.assign(head.weights.fast.begin(), head.weights.fast.end());
      naive::attend_backward<double>(head.exact, head.weights.exact.data(), head.d_context.in_exact(),
                                     head.d_q.exact(), head.d_k.exact(), head.d_v.exact());
      check_close(head.d_v, 16, 8);
      check_close(head.d_q, 32, 8);
      check_close(head.d_k, 32, 8 * c.logit_size);
    }
  }
}

// Of a long head the weights exist a block of queries at a time, and again in the backward pass.
BOOST_AUTO_TEST_CASE_TEMPLATE(weights_that_nobody_wants_change_no_bit, T, Floats) {
  for (const Case& c : kCases) {
    BOOST_TEST_CONTEXT("n " << c.n << " m " << c.m << " causal " << c.causal) {
      Head<T> kept(c), head(c);
      attend_forward(kept.fast, kept.scores.fast.data(), kept.weights.fast.data(), kept.context.fast());
      attend_forward<T>(head.fast, nullptr, nullptr, head.context.fast());
      const bool keeps = attention_keeps_weights(c.n, c.m);
      BOOST_TEST(keeps == (c.n * c.m <= 128 * 128));
      for (Head<T>* each : {&kept, &head})
        attend_backward<T>(each->fast, keeps ? kept.weights.fast.data() : nullptr, each->d_context.in(),
                           each->d_q.fast(), each->d_k.fast(), each->d_v.fast());
      for (const auto& [a, b] : {std::pair(&kept.context, &head.context),
                                 {&kept.d_q, &head.d_q},
                                 {&kept.d_k, &head.d_k},
                                 {&kept.d_v, &head.d_v}}) {
        for (Index i = 0; i < a->rows; ++i)
          for (Index j = 0; j < a->cols; ++j) BOOST_REQUIRE(a->fast()(i, j) == b->fast()(i, j));
      }
    }
  }
}

// Weights that are edited are normalised before, and returned and applied as the edit leaves them, however long the head.
BOOST_AUTO_TEST_CASE_TEMPLATE(edited_weights_are_applied, T, Floats) {
  for (const Case& c : {Case{7, 9, 8, 5}, Case{150, 129, 40, 33, true}, Case{60, 700, 8, 5, true}}) {
    Head<T> head(c);
    auto edit_row = [](std::int64_t query, auto row) {
      for (std::size_t j = 0; j < row.size(); ++j) row[j] *= j % 2 ? 0 : query % 3;
    };
    RowEdit<T> edit;
    edit.weights = edit_row;
    attend_forward<T>(head.fast, nullptr, head.weights.fast.data(), head.context.fast(), &edit);
    Head<T> unkept(c);
    attend_forward<T>(head.fast, nullptr, nullptr, unkept.context.fast(), &edit);
    for (Index i = 0; i < c.n; ++i)
      for (Index d = 0; d < c.d_v; ++d)
        BOOST_REQUIRE(head.context.fast()(i, d) == unkept.context.fast()(i, d));
    naive::attend_forward<double>(head.exact, nullptr, head.weights.exact.data(), head.context.exact());
    for (Index i = 0; i < c.n; ++i) {
      const std::span<double> row = std::span(head.weights.exact).subspan(i * c.m, c.m);
      edit_row(i, row);
      for (Index d = 0; d < c.d_v; ++d) {
        double sum = 0;
        for (Index j = 0; j < c.m; ++j) sum += row[j] * head.v.exact()(j, d);
        head.context.exact()(i, d) = sum;
      }
    }
    check_close(head.weights, 8 * c.d_k);
    check_close(head.context, 16 * c.d_k);
  }
}

// All heads of one query: each as if it were alone, or one of several.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_query_attends_with_all_heads_at_once, T, Floats) {
  const Index n_heads = 6;
  for (const Index d_k : {8, 16, 20, 32, 64}) {
    for (const Index d_v : {16, 17, 32, 64}) {
      for (const Index m : {1, 5, 16, 17, 40}) {
        for (const Index n_kv_heads : {6, 2}) {
          const Index n = m == 40 ? 3 : 1;
          BothMatrix<T> q(n, n_heads * d_k, 1), k(m, n_kv_heads * d_k, 2, 1, 5),
              v(m, n_kv_heads * d_v, 3, 1, 1);
          const Index width = transposed_width(m), shared = n_heads / n_kv_heads;
          std::vector<T> transposed(n_kv_heads * d_k * width), context(n * n_heads * d_v),
              wanted(context.size());
          transposed_keys<T>(k.in(), transposed.data());
          for (Index i = 0; i < n; ++i)
            attend_query<T>(q.in().row(i), {n_heads, n_kv_heads, d_k, d_v}, transposed.data(), v.in(),
                            T{0.25}, &context[i * n_heads * d_v]);
          for (Index h = 0; h < n_heads; ++h) {
            AttentionHead<T> head;
            head.q = q.in().columns(h * d_k, d_k);
            head.k = k.in().columns(h / shared * d_k, d_k);
            head.v = v.in().columns(h / shared * d_v, d_v);
            head.scale = T{0.25};
            attend_forward<T>(head, nullptr, nullptr,
                              Matrix<T>(wanted.data() + h * d_v, n, d_v, n_heads * d_v));
          }
          BOOST_REQUIRE(context == wanted);
        }
      }
    }
  }
}

// Where they can be held so, bfloat16 keys and values in half the memory change no bit.
BOOST_AUTO_TEST_CASE(keys_and_values_in_pairs_change_no_bit) {
  for (const Index d_k : {2, 8, 32, 64}) {
    for (const Index d_v : {1, 16, 17, 32, 64}) {
      for (const Index m : {1, 2, 5, 15, 16, 17, 40}) {
        for (const Index n_kv_heads : {6, 2}) {
          const QueryHeads heads{6, n_kv_heads, d_k, d_v};
          BothMatrix<float> q(1, 6 * d_k, 1), k(m, n_kv_heads * d_k, 2, 1, 5),
              v(m, n_kv_heads * d_v, 3, 1, 1);
          for (BothMatrix<float>* matrix : {&k, &v})
            for (Index i = 0; i < m; ++i)
              round_to_bfloat16(row_span(matrix->in(), i), row_span(matrix->fast(), i));
          std::vector<float> transposed(n_kv_heads * d_k * transposed_width(m)),
              pairs(paired_size(m, n_kv_heads * d_k, n_kv_heads * d_v), 7), context(6 * d_v), wanted(6 * d_v);
          transposed_keys<float>(k.in(), transposed.data());
          pair_keys_and_values(k.in(), v.in(), pairs.data());
          attend_query<float>(q.in().row(0), heads, transposed.data(), v.in(), 0.25f, wanted.data());
          attend_pairs(q.in().row(0), heads, m, pairs.data(), 0.25f, context.data());
          BOOST_REQUIRE(context == wanted);
        }
      }
    }
  }
}

// Both layouts of a bias: a function of the distance, and a number of its own for each query and key.
BOOST_AUTO_TEST_CASE_TEMPLATE(bias_and_window_equal_the_loops, T, Floats) {
  for (const Case& c : {Case{5, 7, 32, 64}, Case{7, 7, 33, 17, true}, Case{1, 20, 8, 9, true},
                        Case{13, 13, 32, 32, true, true, 0.1}, Case{130, 140, 32, 24, true},
                        Case{300, 310, 16, 16, true, false, 0.1}, Case{40, 600, 8, 9, true, false, 0.1},
                        Case{7, 7, 33, 17}, Case{310, 300, 16, 16, false, true, 0.1}, Case{40, 600, 8, 9}}) {
    for (const Index window : {Index{0}, Index{1}, Index{4}, Index{150}}) {
      for (const bool by_distance : {true, false}) {
        BOOST_TEST_CONTEXT("n " << c.n << " m " << c.m << " window " << window << " by_distance "
                                << by_distance) {
          Head<T> head(c);
          const Index count = by_distance ? c.n + c.m - 1 : c.n * c.m, first = by_distance ? c.n - 1 : 0;
          const auto bias = Both<T>::normal(count, 21, 2.0);
          auto d_bias = Both<T>::normal(count, 22);
          head.fast.window = head.exact.window = window;
          head.fast.bias = bias.fast.data() + first;
          head.exact.bias = bias.exact.data() + first;
          head.fast.bias_step = head.exact.bias_step = by_distance ? -1 : c.m;
          attend_forward(head.fast, head.scores.fast.data(), head.weights.fast.data(), head.context.fast());
          naive::attend_forward(head.exact, head.scores.exact.data(), head.weights.exact.data(),
                                head.context.exact());
          check_close(head.scores, 8, c.d_k);
          check_close(head.weights, 8 * c.d_k);
          check_close(head.context, 16 * c.d_k);
          for (Index i = 0; window > 0 && i < c.n; ++i)
            for (Index j = 0; j < c.m; ++j)
              if (std::abs(j - (i + c.m - c.n)) >= window) BOOST_REQUIRE(head.weights.fast[i * c.m + j] == 0);
          attend_backward<T>(head.fast, head.weights.fast.data(), head.d_context.in(), head.d_q.fast(),
                             head.d_k.fast(), head.d_v.fast(), d_bias.fast.data() + first);
          head.weights.exact.assign(head.weights.fast.begin(), head.weights.fast.end());
          naive::attend_backward<double>(head.exact, head.weights.exact.data(), head.d_context.in_exact(),
                                         head.d_q.exact(), head.d_k.exact(), head.d_v.exact(),
                                         d_bias.exact.data() + first);
          check_close(head.d_q, 32, 8);
          check_close(head.d_k, 32, 8);
          check_close(d_bias, 32, 8);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_cached_query_has_bias_and_window, T, Floats) {
  for (const Index hidden : {0, 3, 17}) {
    Head<T> head(Case{1, 20, 40, 23, true});
    const auto bias = Both<T>::normal(20, 21);
    std::vector<std::int32_t> rows(20);
    std::iota(rows.begin(), rows.end(), 0);
    attend_cached<T>(head.q.in().data, head.k.in(), head.v.in(), rows, 1, 1, head.fast.scale,
                     head.weights.fast.data(), head.context.fast().data, nullptr, bias.fast.data(), 0,
                     hidden);
    head.exact.bias = bias.exact.data();
    head.exact.window = 20 - hidden;
    naive::attend_forward<double>(head.exact, nullptr, head.weights.exact.data(), head.context.exact());
    check_close(head.weights, 64);
    check_close(head.context, 128);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(weights_are_a_distribution_and_contexts_averages, T, Floats) {
  for (Index n : {1, 2, 7, 150}) {
    for (bool causal : {false, true}) {
      const Case c{n, n + 1, 32, 19, causal, false, 0, 3000};
      Head<T> head(c);
      attend_forward<T>(head.fast, nullptr, head.weights.fast.data(), head.context.fast());
      for (Index i = 0; i < n; ++i) {
        double sum = 0;
        for (Index j = 0; j < c.m; ++j) {
          const T w = head.weights.fast[i * c.m + j];
          BOOST_REQUIRE((w >= 0 && w <= 1));
          if (causal && j > i + 1) BOOST_REQUIRE_EQUAL(w, 0);
          sum += w;
        }
        BOOST_TEST(std::abs(sum - 1) <= c.m * std::numeric_limits<T>::epsilon());
        for (Index d = 0; d < c.d_v; ++d) {
          T low = head.v.fast()(0, d), high = low;
          for (Index j = 0; j < c.m; ++j) {
            low = std::min(low, head.v.fast()(j, d));
            high = std::max(high, head.v.fast()(j, d));
          }
          const T slack = 8 * std::numeric_limits<T>::epsilon() * (high - low + 1);
          BOOST_REQUIRE(
              (head.context.fast()(i, d) >= low - slack && head.context.fast()(i, d) <= high + slack));
        }
      }
    }
  }
}

// The decoder's cache must give what the whole-sentence kernel gives for its last query.
BOOST_AUTO_TEST_CASE_TEMPLATE(cached_keys_and_values_give_the_same_context, T, Floats) {
  for (const Case& c : {Case{1, 1, 5, 6}, Case{1, 9, 32, 64}, Case{1, 37, 40, 23}, Case{1, 130, 64, 17},
                        Case{1, 3, 32, 32}, Case{1, 7, 64, 16}, Case{1, 50, 16, 32}}) {
    Head<T> head(c);
    std::vector<std::int32_t> rows(static_cast<std::size_t>(c.m));
    std::iota(rows.begin(), rows.end(), 0);
    attend_cached<T>(head.q.in().data, head.k.in(), head.v.in(), rows, 1, 1, head.fast.scale,
                     head.weights.fast.data(), head.context.fast().data);
    naive::attend_forward<double>(head.exact, nullptr, head.weights.exact.data(), head.context.exact());
    check_close(head.weights, 64);
    check_close(head.context, 128);
    const std::vector<T> with_weights = head.context.values.fast;
    attend_cached<T>(head.q.in().data, head.k.in(), head.v.in(), rows, 1, 1, head.fast.scale, nullptr,
                     head.context.fast().data);
    BOOST_CHECK(std::equal(with_weights.begin() + 1, with_weights.begin() + 1 + c.d_v,
                           head.context.values.fast.begin() + 1));
  }
}

/// All heads at once: each as if it were alone, over rows of the cache in any order, with keys and values of
/// its own or shared ones.
BOOST_AUTO_TEST_CASE_TEMPLATE(cached_heads_are_attended_to_at_once, T, Floats) {
  for (const Index n_kv_heads : {6, 2, 1}) {
    const Index n_heads = 6, shared = n_heads / n_kv_heads, d_k = 20, d_v = 17, kept = 30;
    BothMatrix<T> q(1, n_heads * d_k, 1), k(kept, n_kv_heads * d_k, 2, 1, 5),
        v(kept, n_kv_heads * d_v, 3, 1, 1);
    const std::vector<std::int32_t> rows{4, 29, 0, 7, 7, 12, 3, 18, 25, 1, 2, 9, 11, 6, 5, 8, 10, 13};
    const Index m = std::ssize(rows);
    std::vector<T> weights(n_heads * m), context(n_heads * d_v);
    attend_cached<T>(q.in().row(0), k.in(), v.in(), rows, n_heads, n_kv_heads, T{0.25}, weights.data(),
                     context.data());
    BothMatrix<T> keys(m, d_k), values(m, d_v);  // of a head
    for (Index h = 0; h < n_heads; ++h) {
      for (Index j = 0; j < m; ++j) {
        for (Index c = 0; c < d_k; ++c) keys.set(j, c, k.exact()(rows[j], h / shared * d_k + c));
        for (Index c = 0; c < d_v; ++c) values.set(j, c, v.exact()(rows[j], h / shared * d_v + c));
      }
      AttentionHead<double> head;
      head.q = q.in_exact().columns(h * d_k, d_k);
      head.k = keys.in_exact();
      head.v = values.in_exact();
      head.scale = 0.25;
      BothMatrix<T> wanted_weights(1, m), wanted_context(1, d_v);
      naive::attend_forward<double>(head, nullptr, wanted_weights.exact().data, wanted_context.exact());
      std::copy_n(weights.data() + h * m, m, wanted_weights.fast().data);
      std::copy_n(context.data() + h * d_v, d_v, wanted_context.fast().data);
      check_close(wanted_weights, 64);
      check_close(wanted_context, 128);
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(keys_transposed_ahead_change_no_bit, T, Floats) {
  for (const Case& c : kCases) {
    Head<T> head(c), ahead(c);
    std::vector<T> transposed(static_cast<std::size_t>(c.d_k * transposed_width(c.m)), T{7});
    transposed_keys<T>(head.k.in(), transposed.data());
    for (Index i = 0; i < c.d_k; ++i)
      for (Index j = 0; j < transposed_width(c.m); ++j)
        BOOST_REQUIRE(transposed[i * transposed_width(c.m) + j] == (j < c.m ? head.k.fast()(j, i) : 0));
    attend_forward(head.fast, head.scores.fast.data(), head.weights.fast.data(), head.context.fast());
    ahead.fast.k_transposed = transposed.data();
    attend_forward(ahead.fast, ahead.scores.fast.data(), ahead.weights.fast.data(), ahead.context.fast());
    BOOST_TEST(head.scores.fast == ahead.scores.fast);
    BOOST_TEST(head.weights.fast == ahead.weights.fast);
    for (Index i = 0; i < c.n; ++i)
      for (Index j = 0; j < c.d_v; ++j)
        BOOST_REQUIRE(head.context.fast()(i, j) == ahead.context.fast()(i, j));
  }
}

BOOST_AUTO_TEST_CASE(no_keys_give_a_context_of_zeros) {
  std::vector<float> q(8, 1), context(6, 5);
  AttentionHead<float> head;
  head.q = {q.data(), 2, 4};
  head.k = {nullptr, 0, 4};
  head.v = {nullptr, 0, 3};
  attend_forward<float>(head, nullptr, nullptr, {context.data(), 2, 3});
  BOOST_TEST(context == std::vector<float>(6, 0), boost::test_tools::per_element());
}

// Column slices start anywhere: the address must not change the result.
BOOST_AUTO_TEST_CASE(alignment_does_not_change_a_bit) {
  const Case c{11, 14, 32, 32};
  Head<float> head(c);
  attend_forward<float>(head.fast, nullptr, head.weights.fast.data(), head.context.fast());
  for (Index offset : {0, 1, 3, 8}) {
    std::vector<float> q(1000), weights(c.n * c.m), context(1000);
    AttentionHead<float> moved = head.fast;
    for (Index i = 0; i < c.n; ++i) std::copy_n(head.q.in().row(i), c.d_k, &q[offset + i * c.d_k]);
    moved.q = {&q[offset], c.n, c.d_k};
    attend_forward<float>(moved, nullptr, weights.data(), {&context[offset], c.n, c.d_v});
    BOOST_CHECK(weights == head.weights.fast);
  }
}

BOOST_AUTO_TEST_SUITE_END()
