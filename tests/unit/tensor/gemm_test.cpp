#include "tensor/gemm.h"

#include <unistd.h>

#include <algorithm>
#include <boost/mpl/list.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "base/error.h"
#include "tensor/kernels.h"
#include "tensor/packed_weights.h"
#include "tensor/philox.h"
#include "tensor/step_product.h"

using namespace heed;

namespace {

using Floats = boost::mpl::list<float, double>;

/// The nearest number of 8 bits of mantissa; of two the even one.
float to_bfloat16(float x) {
  if (x == 0) return 0;
  const double step = std::exp2(std::ilogb(x) - 7);
  return static_cast<float>(std::nearbyint(x / step) * step);
}

/// A matrix of normal numbers whose rows (or columns, when `transposed`) lie `gap` elements apart.
template <class T>
struct Factor {
  std::vector<T> storage;
  Matrix<T> view;

  Factor(std::int64_t rows, std::int64_t cols, bool transposed, int gap, std::uint64_t stream) {
    const std::int64_t outer = transposed ? cols : rows, inner = transposed ? rows : cols;
    storage.resize(outer * (inner + gap));
    Random random(1, stream);
    for (T& x : storage) x = static_cast<T>(random.normal());
    const Matrix<T> stored(storage.data(), outer, inner, inner + gap);
    view = transposed ? stored.t() : stored;
  }
};

/// Row by row, for loops that are not optimized.
template <class T>
std::vector<double> dense(Matrix<const T> m) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < m.rows; ++i)
    for (std::int64_t j = 0; j < m.cols; ++j) numbers.push_back(double{m(i, j)});
  return numbers;
}

/// `multiply`: gemm, or what computes the same. `bfloat16`: of factors that are such numbers.
template <class T, class Multiply>
void check_product(std::int64_t m, std::int64_t n, std::int64_t k, bool a_transposed, bool b_transposed,
                   bool c_transposed, double beta, int gap, Multiply&& multiply, T alpha = T{0.75},
                   bool bfloat16 = false) {
  Factor<T> a(m, k, a_transposed, gap, 1), b(k, n, b_transposed, 2 * gap, 2);
  if (bfloat16)
    for (Factor<T>* factor : {&a, &b})
      for (T& x : factor->storage) x = to_bfloat16(static_cast<float>(x));
  Factor<T> c(m, n, c_transposed, gap, 3);
  if (beta == 0) c.view(0, 0) = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> before = c.storage;
  const Matrix<const T> old(before.data(), m, n, c.view.row_stride, c.view.col_stride);
  multiply(alpha, Matrix<const T>(a.view), Matrix<const T>(b.view), static_cast<T>(beta), c.view);
  const std::vector<double> rows = dense<T>(a.view), columns = dense<T>(b.view.t());
  double worst = 0;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0, size = 1;
      const double *x = rows.data() + i * k, *y = columns.data() + j * k;
      for (const double* const end = x + k; x < end; ++x, ++y) {
        const double product = *x * *y;
        sum += product;
        size += product < 0 ? -product : product;
      }
      const double wanted = alpha * sum + (beta == 0 ? 0 : beta * old(i, j));
      const double error = std::abs(c.view(i, j) - wanted) / size;
      worst = std::max(worst, std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
    }
  }
  BOOST_TEST_CONTEXT("m " << m << " n " << n << " k " << k << " transposed " << a_transposed << b_transposed
                          << c_transposed << " beta " << beta)
  BOOST_TEST(worst < 8 * std::numeric_limits<T>::epsilon());
  std::vector<bool> written(before.size());
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      written[static_cast<std::size_t>(&c.view(i, j) - c.storage.data())] = true;
  std::int64_t beside = 0;
  for (std::size_t i = 0; i < before.size(); ++i) beside += !written[i] && c.storage[i] != before[i];
  BOOST_TEST(beside == 0, "what lies between the rows was changed");
}

template <class T>
void check_gemm(std::int64_t m, std::int64_t n, std::int64_t k, bool a_transposed, bool b_transposed,
                bool c_transposed, double beta, int gap = 3) {
  check_product<T>(m, n, k, a_transposed, b_transposed, c_transposed, beta, gap,
                   [](auto... arguments) { gemm<T>(arguments...); });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(products)

BOOST_AUTO_TEST_CASE_TEMPLATE(equals_three_loops, T, Floats) {
  const std::int64_t sizes[] = {1, 3, 16, 67, 200};
  int turn = 0;
  for (std::int64_t m : sizes)
    for (std::int64_t n : sizes)
      for (std::int64_t k : sizes)
        for (int transposed = 0; transposed < 4; ++transposed, ++turn)
          check_gemm<T>(m, n, k, transposed & 1, transposed & 2, turn % 5 == 0, turn % 3 * 0.5, turn % 2 * 3);
}

// Shapes on the far side of every boundary of the kernel table.
BOOST_AUTO_TEST_CASE_TEMPLATE(equals_three_loops_for_large_shapes, T, Floats) {
  for (int transposed = 0; transposed < 8; ++transposed)
    check_gemm<T>(261, 133, 70, transposed & 1, transposed & 2, transposed & 4, 1);
}

/// Sizes on both sides of every tile, panel and block.
BOOST_AUTO_TEST_CASE_TEMPLATE(products_in_blocks_equal_three_loops, T, Floats) {
  for (const std::int64_t m : {1, 5, 12, 13, 31}) {
    for (const std::int64_t n : {1, 16, 31, 33, 64, 70}) {
      for (const std::int64_t k : {1, 18, 511, 513, 1030}) {
        for (const int transposed : {0, 1, 2, 3}) {
          const bool accumulate = (m + n + k) % 2 == 0;
          check_product<T>(
              m, n, k, transposed & 1, transposed & 2, false, accumulate, 3,
              [&](T alpha, auto a, auto b, T, auto c) { multiply_blocks<T>(alpha, a, b, accumulate, c); });
        }
      }
    }
  }
}

/// More rows than meet a panel at once.
BOOST_AUTO_TEST_CASE_TEMPLATE(tall_products_in_blocks_equal_three_loops, T, Floats) {
  for (const int transposed : {0, 1, 2, 3})
    check_product<T>(1030, 33, 20, transposed & 1, transposed & 2, false, 1, 3,
                     [](T alpha, auto a, auto b, T, auto c) { multiply_blocks<T>(alpha, a, b, true, c); });
}

/// Sizes on both sides of every tile, panel and block; in both layouts of each factor and of the result.
BOOST_AUTO_TEST_CASE(products_of_bfloat16_are_those_of_the_numbers_rounded) {
  for (const std::int64_t m : {16, 47, 49, 120, 600}) {
    for (const std::int64_t n : {16, 31, 33, 70}) {
      for (const std::int64_t k : {16, 37, 63, 511, 514, 1027}) {
        for (const int layout : {0, 1, 2, 3}) {
          check_product<float>(
              m, n, k, layout & 1, layout & 2, (m + k) % 3 == 0, n % 2, 3,
              [](float, auto a, auto b, float beta, auto c) {
                gemm<float>(Precision::bfloat16, a, b, beta, c);
              },
              1, true);
        }
      }
    }
  }
  // Several blocks of rows, and more columns than are kept for the second.
  check_product<float>(
      600, 8200, 16, false, false, false, 1, 0,
      [](float, auto a, auto b, float beta, auto c) { gemm<float>(Precision::bfloat16, a, b, beta, c); }, 1,
      true);
  // By the identity each number is rounded as it should be, halves to even, from either side.
  constexpr std::int64_t rows = 64, n = 48;
  Factor<float> x(rows, n, false, 0, 7), one(n, n, false, 0, 8), c(rows, n, false, 0, 9),
      c_t(n, rows, false, 0, 9);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < n; ++j) one.view(i, j) = i == j;
  for (std::int64_t j = 0; j < n; ++j) x.view(0, j) = 1 + static_cast<float>(j) / 256;  // every second a half
  gemm<float>(Precision::bfloat16, x.view, one.view, 0, c.view);
  gemm<float>(Precision::bfloat16, one.view, x.view.t(), 0, c_t.view);
  std::int64_t others = 0;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < n; ++j)
      others += c.view(i, j) != to_bfloat16(x.view(i, j)) || c_t.view(j, i) != to_bfloat16(x.view(i, j));
  BOOST_TEST(others == 0);
  x.view(3, 5) = std::numeric_limits<float>::quiet_NaN();
  x.view(4, 5) = std::numeric_limits<float>::infinity();
  gemm<float>(Precision::bfloat16, x.view, one.view, 0, c.view);
  BOOST_TEST(std::isnan(c.view(3, 5)));
  BOOST_TEST(!std::isfinite(c.view(4, 5)));
  const Matrix<float> narrow(c.storage.data(), rows, n - 1);
  BOOST_CHECK_THROW(gemm<float>(Precision::bfloat16, x.view, one.view, 0, narrow), Error);
}

/// A row is added to each row of the product, in every precision, of few rows and of many, and in several steps along k.
BOOST_AUTO_TEST_CASE_TEMPLATE(a_row_is_added_to_every_row_of_a_product, T, Floats) {
  for (const Precision precision : {Precision::float32, Precision::bfloat16}) {
    for (const std::int64_t m : {1, 16, 61}) {
      for (const std::int64_t k : {16, 1030}) {
        constexpr std::int64_t n = 37;
        const Factor<T> a(m, k, false, 3, 1), b(k, n, true, 0, 2), row(1, n, false, 0, 4);
        Factor<T> with(m, n, false, 3, 3), without(m, n, false, 3, 3);
        with.view(0, 0) = without.view(0, 0) = std::numeric_limits<T>::quiet_NaN();
        gemm<T>(precision, a.view, b.view, row_span(Matrix<const T>(row.view), 0), with.view);
        gemm<T>(precision, a.view, b.view, std::span<const T>(), without.view);
        for (std::int64_t i = 0; i < m; ++i)
          for (std::int64_t j = 0; j < n; ++j)
            BOOST_REQUIRE_SMALL(static_cast<double>(with.view(i, j) - (without.view(i, j) + row.view(0, j))),
                                1e-4);
      }
    }
  }
  Factor<T> a(16, 16, false, 0, 1), c(16, 16, false, 0, 3);
  const std::vector<T> narrow(15);
  BOOST_CHECK_THROW(gemm<T>(Precision::bfloat16, a.view, a.view, std::span<const T>(narrow), c.view), Error);
}

/// Of a step of a recurrence and back: c = a w, c += a w, and the same by w^T, laid out once or not. In bfloat16, which `double`
/// ignores, what is laid out meets rounded rows.
template <class T>
void check_steps(Precision precision) {
  for (const std::int64_t rows : {8, 13, 24}) {
    for (const std::int64_t steps : {1, 20}) {
      const std::int64_t d = 33, n = 70;
      Factor<T> w(d, n, false, 3, 1), a(rows, d, false, 3, 2), d_c(rows, n, false, 3, 3);
      StepProduct<T> product(precision, w.view, rows * steps);
      const auto rounded = [&](Factor<T> x) {
        if (std::is_same_v<T, float> && precision == Precision::bfloat16 &&
            (steps > 1 || rows >= kFewestForBfloat16))
          for (T& element : x.storage) element = to_bfloat16(static_cast<float>(element));
        x.view.data = x.storage.data();
        return x;
      };
      const Factor<T> w_seen = rounded(w), a_seen = rounded(a), d_c_seen = rounded(d_c);
      for (const bool accumulate : {false, true, false}) {
        Factor<T> c(rows, n, false, 3, 4), d_a(rows, d, false, 3, 5), c_wanted = c, d_a_wanted = d_a;
        c_wanted.view.data = c_wanted.storage.data();
        d_a_wanted.view.data = d_a_wanted.storage.data();
        product.forward(a.view, accumulate, c.view);
        product.backward(d_c.view, accumulate, d_a.view);
        gemm<T>(1, a_seen.view, w_seen.view, accumulate, c_wanted.view);
        gemm<T>(1, d_c_seen.view, w_seen.view.t(), accumulate, d_a_wanted.view);
        double worst = 0;
        for (std::size_t i = 0; i < c.storage.size(); ++i)
          worst = std::max<double>(worst, std::abs(c.storage[i] - c_wanted.storage[i]));
        for (std::size_t i = 0; i < d_a.storage.size(); ++i)
          worst = std::max<double>(worst, std::abs(d_a.storage[i] - d_a_wanted.storage[i]));
        BOOST_TEST(worst < 200 * std::numeric_limits<T>::epsilon());
        if (accumulate)
          product.end_forward(), product.end_backward();  // laid out again when it is wanted again
      }
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(products_of_steps, T, Floats) {
  for (const Precision precision : {Precision::float32, Precision::bfloat16}) check_steps<T>(precision);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(empty_products_are_defined, T, Floats) {
  std::vector<T> c = {1, std::numeric_limits<T>::quiet_NaN(), 3, 4, 5, 6};
  const Matrix<const T> a(nullptr, 2, 0), b(nullptr, 0, 3);
  gemm(T{1}, a, b, T{0}, Matrix<T>(c.data(), 2, 3));
  BOOST_TEST(c == std::vector<T>(6, 0), boost::test_tools::per_element());
  c.assign(6, 2);
  gemm(T{1}, a, b, T{3}, Matrix<T>(c.data(), 2, 3));
  BOOST_TEST(c == std::vector<T>(6, 6), boost::test_tools::per_element());
  gemm(T{1}, Matrix<const T>(c.data(), 0, 2), Matrix<const T>(c.data(), 2, 3), T{0},
       Matrix<T>(nullptr, 0, 3));
  gemm(T{1}, Matrix<const T>(c.data(), 3, 2), Matrix<const T>(nullptr, 2, 0), T{0}, Matrix<T>(nullptr, 3, 0));
  BOOST_TEST(c == std::vector<T>(6, 6), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(shapes_that_do_not_fit_are_named) {
  std::vector<float> x(64);
  BOOST_CHECK_EXCEPTION(gemm(1.f, Matrix<float>(x.data(), 2, 3), Matrix<float>(x.data(), 4, 5), 0.f,
                             Matrix<float>(x.data(), 2, 5)),
                        Error, [](const Error& e) {
                          return std::string(e.what()) ==
                                 "gemm: [2, 3] times [4, 5] into [2, 5]: the shapes do not fit";
                        });
}

BOOST_AUTO_TEST_CASE(threads_and_repetitions_give_equal_bits) {
  const Factor<float> a(150, 70, false, 0, 4), b(70, 90, true, 0, 5);
  auto compute = [&] {
    std::vector<float> c(150 * 90);
    gemm(1.f, a.view, b.view, 0.f, Matrix<float>(c.data(), 150, 90));
    return c;
  };
  const std::vector<float> wanted = compute();
  std::vector<std::vector<float>> got(4);
  std::vector<std::thread> threads;
  for (auto& c : got) threads.emplace_back([&] { c = compute(); });
  for (auto& thread : threads) thread.join();
  for (const auto& c : got) BOOST_CHECK(c == wanted);
}

/// c = f(a b + bias) by packed weights has the bits of multiply_rows and the operations after it, whatever
/// the rows beside each; sizes on both sides of every tile and panel.
BOOST_AUTO_TEST_CASE_TEMPLATE(packed_weights_give_the_same_products, T, Floats) {
  for (const std::int64_t m : {1, 2, 3, 4, 6, 7, 12, 13, 30}) {
    for (const std::int64_t n : {1, 15, 16, 31, 32, 33, 128, 130, 300}) {
      for (const bool transposed : {false, true}) {
        const std::int64_t k = 37;
        const Factor<T> a(m, k, transposed, 3, 1), b(k, n, transposed, 5, 2), bias(1, n, false, 0, 3);
        std::vector<T> straight(static_cast<std::size_t>(k * n)),
            panels(static_cast<std::size_t>(packed_size<T>(k, n)));
        const Matrix<T> plain(straight.data(), k, n);
        for (std::int64_t i = 0; i < k; ++i)
          for (std::int64_t j = 0; j < n; ++j) plain(i, j) = b.view(i, j);
        const PackedMatrix<T> packed = pack<T>(b.view, panels.data());
        for (const Activation f : {Activation::none, Activation::relu, Activation::tanh}) {
          for (const bool biased : {false, true}) {
            const std::span<const T> shift(bias.view.data, biased ? static_cast<std::size_t>(n) : 0);
            Factor<T> c(m, n, false, 3, 4), wanted = c;
            wanted.view.data = wanted.storage.data();
            multiply_packed<T>(a.view, packed, shift, f, c.view);
            multiply_rows<T>(a.view, plain, false, wanted.view);
            bias_activation_dropout<T>(shift, f, Dropout{}, wanted.view);
            BOOST_TEST_CONTEXT("m " << m << " n " << n << " f " << static_cast<int>(f) << " bias " << biased)
            BOOST_TEST(c.storage == wanted.storage);  // also what lies between the rows
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(weights_are_packed_once_and_only_those_of_the_model) {
  std::vector<float> parameters(600, 1), other(600, 2);
  const PackedWeights<float> weights(parameters);
  const Matrix<const float> w(parameters.data() + 16, 10, 40);
  const PackedMatrix<float>* packed = weights.find(w);
  BOOST_REQUIRE(packed);
  BOOST_TEST(packed->rows == 10);
  BOOST_TEST(packed->cols == 40);
  BOOST_TEST(weights.find(w) == packed);
  BOOST_TEST(weights.find(w.t()) != packed);
  BOOST_TEST(!weights.find(Matrix<const float>(other.data(), 10, 40)));
  BOOST_TEST(!weights.find(Matrix<const float>(parameters.data() + 600, 0, 40)));
}

BOOST_AUTO_TEST_CASE(packed_weights_stand_in_place_of_their_values) {
  const std::int64_t spread = spread_stride(256);  // leaves room for the panels of two
  const std::int64_t size = 64 * 300 + 3000 * 48 + 200 * 512 + 70 * spread + 4200 * spread;
  std::vector<float> values(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(1 + i % 977);
  const std::vector<float> before = values;
  const PackedWeights<float> kept(before),
      weights(std::span<float>{values}, Precision::float32, Unpacked::released);
  const Matrix<float> weight(values.data(), 64, 300), table(weight.row(64), 3000, 48),
      part(table.row(3000), 200, 128, 512),  // beside others
      spacious(part.row(200), 70, 256, spread), spacious_table(spacious.row(70), 4200, 256, spread);
  auto zeros = [&](const Matrix<float>& m, std::int64_t rows) {
    return std::count(m.data, m.data + rows * m.row_stride, 0.0f);
  };
  for (const Matrix<const float> m : {weight, table.t(), part, spacious, spacious_table.t()}) {
    const Matrix<const float> same(before.data() + (m.data - values.data()), m.rows, m.cols, m.row_stride,
                                   m.col_stride);
    BOOST_TEST(!weights.in_place_of(m));
    const PackedMatrix<float>* packed = weights.find(m);
    BOOST_TEST(weights.in_place_of(m) == packed);
    BOOST_TEST((kept.find(same) && !kept.in_place_of(same)));
    bool equal = true;
    for (std::int64_t i = 0; i < m.rows; ++i)
      for (std::int64_t j = 0; j < m.cols; ++j) equal = equal && (*packed)(i, j) == same(i, j);
    BOOST_TEST(equal);
    const bool is_within = packed->panels >= values.data() && packed->panels < values.data() + size;
    BOOST_TEST(is_within == (m.data >= spacious.data));
  }
  const std::int64_t two_pages = 2 * sysconf(_SC_PAGESIZE) / static_cast<std::int64_t>(sizeof(float));
  BOOST_TEST(zeros(weight, 64) > 64 * 300 - two_pages);
  BOOST_TEST(zeros(table, 3000) > 3000 * 48 - 2 * two_pages * (1 + 3000 / 2048));
  BOOST_TEST(zeros(part, 200) == 0);
  const std::vector<Matrix<const float>> others{weight.t(), weight.columns(0, 32), table, spacious.t(),
                                                spacious_table};
  for (const Matrix<const float>& m : others)
    BOOST_CHECK_EXCEPTION(weights.find(m), Error, [](const Error& e) {
      return std::string(e.what()).find("were to be held in one") != std::string::npos;
    });
}

/// Columns or rows of a larger matrix: their neighbours stay, and can still be packed.
BOOST_AUTO_TEST_CASE(parts_of_a_matrix_are_packed_beside_their_neighbours) {
  const std::int64_t rows = 400, spread = spread_stride(256);
  for (const std::int64_t stride : {3 * std::int64_t{128}, 3 * spread}) {
    const std::int64_t width = stride / 3;
    std::vector<float> values(static_cast<std::size_t>(rows * stride));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(1 + i % 977);
    const std::vector<float> before = values;
    const auto count_changed = [&](std::int64_t first, std::int64_t last) {
      std::int64_t changed = 0;
      for (std::int64_t i = first * stride; i < last * stride; ++i)
        changed += values[static_cast<std::size_t>(i)] != before[static_cast<std::size_t>(i)];
      return changed;
    };
    const auto expect_packed = [&](const PackedWeights<float>& weights, const Matrix<const float>& m) {
      const PackedMatrix<float>* packed = weights.find(m);
      bool equal = true;
      for (std::int64_t i = 0; i < m.rows; ++i)
        for (std::int64_t j = 0; j < m.cols; ++j)
          equal = equal && (*packed)(i, j) == before[static_cast<std::size_t>(&m(i, j) - values.data())];
      BOOST_TEST(equal);
    };
    const Matrix<const float> all(values.data(), rows, stride);
    {
      const PackedWeights<float> weights(std::span<float>{values}, Precision::float32, Unpacked::released);
      expect_packed(weights, all.columns(0, width));
      expect_packed(weights, all.columns(2 * width, width).t());
      BOOST_TEST(count_changed(0, rows) == 0);
      expect_packed(weights, all.columns(width, width));
      BOOST_TEST(count_changed(0, rows) == 0);
    }
    const PackedWeights<float> weights(std::span<float>{values}, Precision::float32, Unpacked::released);
    expect_packed(weights, all.row_range(100, 200));
    BOOST_TEST(count_changed(100, 300) > 0);
    BOOST_TEST((count_changed(0, 100) == 0 && count_changed(300, rows) == 0));
    expect_packed(weights, all.row_range(0, 100));
    expect_packed(weights, all.row_range(300, 100).t());
  }
}

BOOST_AUTO_TEST_CASE(packed_shapes_that_do_not_fit) {
  std::vector<float> x(100);
  BOOST_CHECK_EXCEPTION(multiply_packed<float>(Matrix<const float>(x.data(), 2, 3), {x.data(), 4, 5}, {},
                                               Activation::none, Matrix<float>(x.data(), 2, 5)),
                        Error, [](const Error& e) {
                          return std::string(e.what()) ==
                                 "multiply_packed: [2, 3] times [4, 5] into [2, 5]: the shapes do not fit";
                        });
}

/// c = a b, and the bits of each row are those of its product alone; sizes on both sides of every panel.
BOOST_AUTO_TEST_CASE_TEMPLATE(rows_are_multiplied_each_by_itself, T, Floats) {
  for (const std::int64_t m : {1, 2, 3, 5, 6, 11, 12, 30}) {
    for (const std::int64_t n : {1, 7, 16, 33, 130, 300}) {
      for (const bool transposed : {false, true}) {
        for (const bool accumulate : {false, true}) {
          const std::int64_t k = 37;
          const Factor<T> a(m, k, transposed, 3, 1), b(k, n, false, 5, 2);
          Factor<T> c(m, n, false, 3, 3), alone = c;
          alone.view.data = alone.storage.data();
          const Factor<T> old(m, n, false, 3, 3);
          multiply_rows<T>(a.view, b.view, accumulate, c.view);
          double worst = 0;
          bool same = true;
          for (std::int64_t i = 0; i < m; ++i) {
            multiply_rows<T>(a.view.row_range(i, 1), b.view, accumulate, alone.view.row_range(i, 1));
            for (std::int64_t j = 0; j < n; ++j) {
              double sum = accumulate ? old.view(i, j) : 0, size = 1;
              for (std::int64_t l = 0; l < k; ++l) {
                sum += double{a.view(i, l)} * b.view(l, j);
                size += std::abs(double{a.view(i, l)} * b.view(l, j));
              }
              worst = std::max(worst, std::abs(c.view(i, j) - sum) / size);
              same = same && c.view(i, j) == alone.view(i, j);
            }
          }
          BOOST_TEST_CONTEXT("m " << m << " n " << n << " transposed " << transposed << " added "
                                  << accumulate) {
            BOOST_TEST(worst < 8 * std::numeric_limits<T>::epsilon());
            BOOST_TEST(same);
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
