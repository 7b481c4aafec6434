#include "tensor/kernels.h"

#include "kernel_testing.h"

using namespace heed;
using namespace heed::testing;

namespace {

/// Queries or keys beside their twin in double.
template <class T>
struct Side {
  BothMatrix<T> x, factors;

  Side(Index rows, Index a, std::uint64_t stream, double deviation)
      : x(rows, a, stream, deviation, 3), factors(rows, a, 0, 1, 2) {}
  ScoreSide<T> side() {
    additive_factors<T>(x.in(), factors.fast());
    return {x.in(), factors.in()};
  }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(score_kernels)

// Sizes of 1, around the vectors' and the blocks' edges; inputs that use the factors, inputs that must not
// (beyond 20), and both kinds of rows together.
BOOST_AUTO_TEST_CASE_TEMPLATE(additive_scores_equal_the_loops, T, Floats) {
  struct Case {
    Index n, m, a;
    double deviation;
  };
  for (const Case& c : {Case{1, 1, 1, 1}, Case{3, 5, 7, 0.01}, Case{5, 9, 33, 1}, Case{2, 300, 130, 3},
                        Case{4, 6, 17, 8}, Case{6, 11, 16, 40}, Case{1, 4, 40'000, 1}}) {
    BOOST_TEST_CONTEXT("n " << c.n << " m " << c.m << " a " << c.a << " deviation " << c.deviation) {
      Side<T> q(c.n, c.a, 1, c.deviation), k(c.m, c.a, 2, c.deviation);
      Both<T> v = Both<T>::normal(c.a, 3);
      BothMatrix<T> e(c.n, c.m, 0, 1, 2);
      additive_scores<T>(q.side(), k.side(), v.in(), e.fast());
      double size = 0;
      for (const double x : v.exact) size += std::abs(x);
      for (Index i = 0; i < c.n; ++i) {
        for (Index j = 0; j < c.m; ++j) {
          double sum = 0;
          for (Index l = 0; l < c.a; ++l)
            sum += v.exact[l] * std::tanh(q.x.in_exact()(i, l) + k.x.in_exact()(j, l));
          const double eps = std::numeric_limits<T>::epsilon();
          BOOST_CHECK_SMALL(e.fast()(i, j) - sum, 4 * eps * size);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_score_depends_on_its_own_rows_alone, T, Floats) {
  Side<T> q(3, 19, 1, 1), k(9, 19, 2, 1);
  k.x.set(4, 7, 1e6);  // this key takes tanh itself
  Both<T> v = Both<T>::normal(19, 3);
  std::vector<T> together(27), alone(1);
  const ScoreSide<T> queries = q.side(), keys = k.side();
  additive_scores<T>(queries, keys, v.in(), {together.data(), 3, 9});
  for (Index i = 0; i < 3; ++i) {
    for (Index j = 0; j < 9; ++j) {
      const ScoreSide<T> one{queries.x.row_range(i, 1), queries.prepared.row_range(i, 1)};
      const ScoreSide<T> other{keys.x.row_range(j, 1), keys.prepared.row_range(j, 1)};
      additive_scores<T>(one, other, v.in(), {alone.data(), 1, 1});
      BOOST_CHECK_EQUAL(alone[0], together[static_cast<std::size_t>(i * 9 + j)]);
    }
  }
}

// The same sizes; derivatives are added to what is there.
BOOST_AUTO_TEST_CASE_TEMPLATE(derivatives_of_additive_scores_equal_the_loops, T, Floats) {
  struct Case {
    Index n, m, a;
    double deviation;
  };
  for (const Case& c :
       {Case{1, 1, 1, 1}, Case{3, 5, 7, 0.01}, Case{5, 9, 33, 1}, Case{4, 6, 17, 8}, Case{6, 11, 16, 40}}) {
    BOOST_TEST_CONTEXT("n " << c.n << " m " << c.m << " a " << c.a << " deviation " << c.deviation) {
      Side<T> q(c.n, c.a, 1, c.deviation), k(c.m, c.a, 2, c.deviation);
      Both<T> v = Both<T>::normal(c.a, 3), d_v = Both<T>::normal(c.a, 4);
      BothMatrix<T> d_e(c.n, c.m, 5, 1, 2), d_q(c.n, c.a, 6, 1, 3), d_k(c.m, c.a, 7, 1, 1);
      additive_scores_backward<T>(q.side(), k.side(), v.in(), d_e.in(), d_q.fast(), d_k.fast(), d_v.out());
      for (Index i = 0; i < c.n; ++i) {
        for (Index j = 0; j < c.m; ++j) {
          for (Index l = 0; l < c.a; ++l) {
            const double t = std::tanh(q.x.in_exact()(i, l) + k.x.in_exact()(j, l)), d = d_e.exact()(i, j),
                         d_sum = d * v.exact[l] * (1 - t * t);
            d_v.exact[l] += d * t;
            d_q.exact()(i, l) += d_sum;
            d_k.exact()(j, l) += d_sum;
          }
        }
      }
      const double size = 4 * static_cast<double>(c.n + c.m);
      check_close(d_v, 4, size);
      check_close(d_q, 4, size);
      check_close(d_k, 4, size);
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(derivatives_of_weighted_sums_equal_the_loops, T, Floats) {
  for (const Index m : {1, 3, 4, 9}) {
    for (const Index d : {1, 7, 33, 130}) {
      BOOST_TEST_CONTEXT("m " << m << " d " << d) {
        const Both<T> alpha = Both<T>::normal(m, 1), d_c = Both<T>::normal(d, 2);
        Both<T> d_alpha = Both<T>::normal(m, 3);
        BothMatrix<T> rows(m, d, 4, 1, 3), d_rows(m, d, 5, 1, 2);
        weighted_sum_backward<T>(alpha.in(), rows.in(), d_c.in(), d_alpha.out(), d_rows.fast());
        for (Index j = 0; j < m; ++j) {
          for (Index l = 0; l < d; ++l) {
            d_alpha.exact[j] += d_c.exact[l] * rows.exact()(j, l);
            d_rows.exact()(j, l) += alpha.exact[j] * d_c.exact[l];
          }
        }
        check_close(d_alpha, 8, static_cast<double>(d));
        check_close(d_rows, 4);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(nan_and_infinity_pass_through, T, Floats) {
  Side<T> q(2, 5, 1, 1), k(2, 5, 2, 1);
  q.x.set(0, 4, std::nan(""));
  k.x.set(1, 0, std::numeric_limits<double>::infinity());
  Both<T> v(5, 1);
  std::vector<T> e(4);
  additive_scores<T>(q.side(), k.side(), v.in(), {e.data(), 2, 2});
  BOOST_CHECK(std::isnan(e[0]) && std::isnan(e[1]) && std::isfinite(e[2]) && std::isfinite(e[3]));
}

BOOST_AUTO_TEST_SUITE_END()
