#include "kernel_testing.h"

#include "base/error.h"
#include "tensor/logits.h"

using namespace heed;
using namespace heed::testing;

namespace {

const double kInfinity = std::numeric_limits<double>::infinity();

/// Rows of ordinary, huge and masked logits.
template <class T>
BothMatrix<T> difficult_logits(Index cols) {
  BothMatrix<T> x(6, cols, 9, 2, 3);
  for (Index j = 0; j < cols; ++j) {
    x.set(1, j, x.exact()(1, j) * 5000);                        // about +-1e4
    x.set(2, j, x.exact()(2, j) > 0 ? 1e30 : -1e30);            // ties at the top, or all at the bottom
    if (j % 3 == 1) x.set(3, j, -kInfinity);                    // masked here and there
    x.set(4, j, j + 1 == cols ? x.exact()(4, j) : -kInfinity);  // only the last is left
    x.set(5, j, x.exact()(5, j) - 90);
  }
  return x;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(softmax_kernels)

BOOST_AUTO_TEST_CASE_TEMPLATE(softmax_and_log_sum_exp, T, Floats) {
  for (Index cols : {1, 7, 17, 33, 130, 1024, 2111}) {
    BothMatrix<T> x = difficult_logits<T>(cols);
    Both<T> sums(x.rows);
    log_sum_exp_rows<T>(x.in(), sums.out());
    naive::log_sum_exp_rows<double>(x.in_exact(), sums.out_exact());
    check_close(sums, 8);
    const BothMatrix<T> logits = x;
    softmax_rows(x.fast());
    naive::softmax_rows(x.exact());
    check_close(x, 16);
    for (Index i = 0; i < x.rows; ++i) {  // rows sum to 1
      double sum = 0;
      for (Index j = 0; j < cols; ++j) {
        const T p = x.fast()(i, j);
        BOOST_REQUIRE((p >= 0 && p <= 1));
        if (logits.values.exact[1 + i * x.stride + j] == -kInfinity) BOOST_REQUIRE_EQUAL(p, 0);
        sum += p;
      }
      BOOST_TEST(std::abs(sum - 1) <= std::max<Index>(cols, 4) * std::numeric_limits<T>::epsilon());
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(rows_without_any_logit_and_with_nan, T, Floats) {
  BothMatrix<T> x(2, 21);
  for (Index j = 0; j < 21; ++j) x.set(0, j, -kInfinity);
  x.set(1, 13, std::nan(""));
  Both<T> sums(2);
  log_sum_exp_rows<T>(x.in(), sums.out());
  BOOST_TEST(sums.fast[0] == -kInfinity);
  BOOST_TEST(std::isnan(sums.fast[1]));
  softmax_rows(x.fast());
  for (Index j = 0; j < 21; ++j) {
    BOOST_TEST(x.fast()(0, j) == 0);
    BOOST_TEST(std::isnan(x.fast()(1, j)));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(exp_is_accurate_within_softmax, T, Floats) {
  // softmax of (x, 0) is (exp(x), 1) / (1 + exp(x)).
  for (double x = -80; x < -20; x += 0.37) {
    T row[2] = {static_cast<T>(x), 0};
    softmax_rows(Matrix<T>(row, 1, 2));
    const double e = std::exp(static_cast<double>(static_cast<T>(x))), wanted = e / (1 + e);
    BOOST_TEST(std::abs(row[0] / wanted - 1) < 2 * std::numeric_limits<T>::epsilon());
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(cross_entropy_and_its_gradient, T, Floats) {
  for (Index cols : {3, 7, 17, 130, 1024, 3001}) {
    for (double smoothing : {0.0, 0.1}) {
      BothMatrix<T> x(4, cols, 3, 3, 1);
      for (Index j = 0; j < cols; ++j) x.set(1, j, x.exact()(1, j) * 3000);
      x.set(2, cols - 1, 40);  // the largest comes late, so earlier blocks are scaled anew
      const std::vector<std::int32_t> targets = {0, 2, static_cast<std::int32_t>(cols - 1), 1};
      CrossEntropySums got, wanted, loss_only;
      cross_entropy_rows<T>(x.fast(), targets, smoothing, T(0.5), false, loss_only);
      BOOST_CHECK(
          std::equal(x.values.fast.begin() + 1, x.values.fast.begin() + cols, x.values.exact.begin() + 1));
      cross_entropy_rows<T>(x.fast(), targets, smoothing, T(0.5), true, got);
      naive::cross_entropy_rows<double>(x.exact(), targets, smoothing, 0.5, true, wanted);
      check_close(x, 16);
      const double tolerance = 30 * std::numeric_limits<T>::epsilon();
      BOOST_TEST(std::abs(got.loss - wanted.loss) <= tolerance * (1 + wanted.loss));
      BOOST_TEST(std::abs(got.nll - wanted.nll) <= tolerance * (1 + wanted.nll));
      BOOST_TEST(got.correct == wanted.correct);
      BOOST_TEST(loss_only.loss == got.loss);
      BOOST_TEST(loss_only.nll == got.nll);
      BOOST_TEST(loss_only.correct == got.correct);
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_lowest_of_equal_logits_counts_as_the_guess, T, Floats) {
  BothMatrix<T> x(1, 1500, 0);
  x.set(0, 1100, 2);
  x.set(0, 1400, 2);
  for (std::int32_t target : {1100, 1400}) {
    CrossEntropySums sums;
    cross_entropy_rows<T>(x.fast(), std::vector<std::int32_t>{target}, 0, 1, false, sums);
    BOOST_TEST(sums.correct == (target == 1100));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(cross_entropy_forbids_classes_of_minus_infinity, T, Floats) {
  BothMatrix<T> x(1, 20, 3);
  x.set(0, 4, -kInfinity);
  CrossEntropySums got, wanted;
  cross_entropy_rows<T>(x.fast(), std::vector<std::int32_t>{7}, 0, 1, true, got);
  naive::cross_entropy_rows<double>(x.exact(), std::vector<std::int32_t>{7}, 0, 1, true, wanted);
  check_close(x, 16);
  BOOST_TEST(x.fast()(0, 4) == 0);
  BOOST_TEST(std::abs(got.nll - wanted.nll) < 30 * std::numeric_limits<T>::epsilon());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(divergence_of_two_predictions_and_its_gradient, T, Floats) {
  for (Index cols : {1, 3, 7, 17, 130, 1500}) {
    BothMatrix<T> x(4, cols, 2, 3, 1), y(4, cols, 3, 1, 2), d_x(4, cols, 0, 2, 1), d_y(4, cols, 0, 1, 3);
    for (Index j = 0; j < cols; ++j) {
      y.set(1, j, x.exact()(1, j) + 5);  // the same prediction
      x.set(2, j, x.exact()(2, j) * 20);
    }
    const double alone = divergence_rows<T>(x.in(), y.in(), T(0.5), {}, {}),
                 got = divergence_rows<T>(x.in(), y.in(), T(0.5), d_x.fast(), d_y.fast()),
                 wanted = naive::divergence_rows<double>(x.in_exact(), y.in_exact(), 0.5, d_x.exact(),
                                                         d_y.exact());
    BOOST_TEST(alone == got);
    BOOST_TEST(std::abs(got - wanted) <= 100 * std::numeric_limits<T>::epsilon() * (1 + wanted));
    check_close(d_x, 300);
    check_close(d_y, 300);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(the_best_classes, T, Floats) {
  for (Index cols : {7, 17, 130, 1024, 5003}) {
    for (Index k : {1, 5, 7}) {
      BothMatrix<T> x(5, cols, 4, 2, 2);
      for (Index j = 0; j < cols; ++j) {
        x.set(1, j, std::round(x.exact()(1, j)));    // many ties
        x.set(2, j, j);                              // every column is a new best
        if (j != cols / 2) x.set(3, j, -kInfinity);  // fewer finite ones than wanted
        x.set(4, j, -j);
      }
      BothMatrix<T> values(5, k, 0, 1, 1);
      std::vector<std::int32_t> got(5 * k), wanted(5 * k);
      log_softmax_top_k<T>(x.in(), k, values.fast(), Matrix<std::int32_t>(got.data(), 5, k));
      naive::log_softmax_top_k<double>(x.in_exact(), k, values.exact(),
                                       Matrix<std::int32_t>(wanted.data(), 5, k));
      BOOST_TEST(got == wanted, boost::test_tools::per_element());
      check_close(values, 64);  // the twin's own sum in double is that rough
    }
  }
}

/// To the bit what the product and then its best classes give.
BOOST_AUTO_TEST_CASE_TEMPLATE(the_best_classes_of_a_product, T, Floats) {
  for (const Index rows : {1, 5, 13, 97}) {
    for (const Index cols : {7, 130, 1024, 1025, 3000}) {
      const Index d = 19, k = 7;
      BothMatrix<T> a(rows, d, 3, 1, 2), b(d, cols, 1, 1, 3);
      std::vector<T> panels(static_cast<std::size_t>(packed_size<T>(d, cols))), logits(rows * cols),
          got(rows * k), wanted(rows * k);
      std::vector<std::int32_t> got_ids(rows * k), wanted_ids(rows * k);
      const bool biased = rows != 5;
      const std::vector<T> bias = biased ? Both<T>::normal(cols, 4).fast : std::vector<T>();
      multiply_packed<T>(a.in(), pack<T>(b.in(), panels.data()), bias, Activation::none,
                         Matrix<T>(logits.data(), rows, cols));
      if (!biased) {
        std::vector<T> product(rows * cols);
        multiply_rows<T>(a.in(), b.in(), false, Matrix<T>(product.data(), rows, cols));
        BOOST_TEST(product == logits);
      }
      log_softmax_top_k<T>(Matrix<const T>(logits.data(), rows, cols), k, Matrix<T>(wanted.data(), rows, k),
                           Matrix<std::int32_t>(wanted_ids.data(), rows, k));
      log_softmax_top_k<T>(a.in(), pack<T>(b.in(), panels.data()), bias, k, Matrix<T>(got.data(), rows, k),
                           Matrix<std::int32_t>(got_ids.data(), rows, k));
      BOOST_TEST(got == wanted);
      BOOST_TEST(got_ids == wanted_ids);
      // The same without log-probabilities: the logits of these columns.
      std::ranges::fill(got_ids, -1);
      top_logits<T>(a.in(), pack<T>(b.in(), panels.data()), bias, k, Matrix<T>(got.data(), rows, k),
                    Matrix<std::int32_t>(got_ids.data(), rows, k));
      BOOST_TEST(got_ids == wanted_ids);
      for (Index i = 0; i < rows * k; ++i) BOOST_TEST(got[i] == logits[i / k * cols + got_ids[i]]);
    }
  }
}

/// Whether log-probabilities are finite can be seen from the best logits alone.
BOOST_AUTO_TEST_CASE_TEMPLATE(the_best_logits_are_finite_where_log_probabilities_are, T, Floats) {
  const Index rows = 1, d = 2, k = 3;
  for (const Index cols : {5, 130, 1500}) {
    for (const T odd : {static_cast<T>(NAN), static_cast<T>(kInfinity), static_cast<T>(-kInfinity)}) {
      for (const Index at : {Index{0}, cols / 2, cols - 1}) {
        BothMatrix<T> a(rows, d, 3, 1, 2), b(d, cols, 1, 1, 3);
        std::vector<T> panels(static_cast<std::size_t>(packed_size<T>(d, cols))), values(k), scored(k),
            bias(static_cast<std::size_t>(cols));
        std::vector<std::int32_t> ids(k), scored_ids(k);
        bias[static_cast<std::size_t>(at)] = odd;
        const PackedMatrix<T> weight = pack<T>(b.in(), panels.data());
        top_logits<T>(a.in(), weight, bias, k, Matrix<T>(values.data(), rows, k),
                      Matrix<std::int32_t>(ids.data(), rows, k));
        log_softmax_top_k<T>(a.in(), weight, bias, k, Matrix<T>(scored.data(), rows, k),
                             Matrix<std::int32_t>(scored_ids.data(), rows, k));
        for (Index i = 0; i < k; ++i) {
          BOOST_TEST(std::isfinite(values[i]) == (odd < 0));
          BOOST_TEST(std::isfinite(scored[i]) == (odd < 0));
        }
        if (odd < 0) BOOST_TEST(ids == scored_ids);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(more_classes_than_there_are_is_an_error) {
  std::vector<float> x(3), values(4);
  std::vector<std::int32_t> indices(4);
  BOOST_CHECK_THROW(
      log_softmax_top_k<float>(Matrix<float>(x.data(), 1, 3), 4, Matrix<float>(values.data(), 1, 4),
                               Matrix<std::int32_t>(indices.data(), 1, 4)),
      Error);
}

BOOST_AUTO_TEST_SUITE_END()
