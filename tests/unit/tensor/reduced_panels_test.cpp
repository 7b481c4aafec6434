// Products with weights in bfloat16 and int8 against naive twins, their error against exact products, and
// what they make of odd rows. The kernels of lesser processors must pass too (HEED_SIMD).
#include "tensor/reduced_panels.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <vector>

#include "base/error.h"
#include "tensor/packed_weights.h"
#include "tensor/philox.h"

using namespace heed;

namespace {

constexpr Precision kReduced[] = {Precision::bfloat16, Precision::int8};

/// Numbers whose rows (or columns, when `transposed`) lie 3 elements apart, each row of a size of its own.
struct Factor {
  std::vector<float> storage;
  Matrix<float> view;

  Factor(std::int64_t rows, std::int64_t cols, bool transposed, std::uint64_t stream) {
    const std::int64_t outer = transposed ? cols : rows, inner = (transposed ? rows : cols) + 3;
    storage.resize(static_cast<std::size_t>(outer * inner), 1e30f);  // what lies between must not matter
    const Matrix<float> stored(storage.data(), outer, inner - 3, inner);
    view = transposed ? stored.t() : stored;
    Random random(1, stream);
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < cols; ++j)
        view(i, j) = static_cast<float>(random.normal() * std::exp2(i % 7 - 3));
  }
};

/// A weight in a precision, with the memory that holds it.
struct Reduced {
  Arena arena;
  PackedMatrix<float> matrix;

  Reduced(Matrix<const float> weight, Precision precision)
      : matrix{nullptr, weight.rows, weight.cols, reduce(weight, precision, arena)} {}
};

/// The integers that stand for n numbers, and what one of them is worth: 127 for the largest number or, of a column, for the
/// largest sum of a pair if that is larger.
struct Integers {
  std::vector<long> value;
  float worth = 0;

  template <class At>
  Integers(std::int64_t n, bool is_column, const At& at) {
    float most = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      most = std::max(most, std::fabs(at(i)));
      if (is_column && i % 2) most = std::max(most, std::fabs(at(i - 1) + at(i)));
    }
    worth = most / 127;
    const float steps = most > 0 ? 127 / most : 0;
    for (std::int64_t i = 0; i < n; ++i) value.push_back(std::lrint(at(i) * steps));
  }
};

/// The nearest number of 8 bits of mantissa; of two the even one.
double rounded(float x) {
  if (x == 0) return 0;
  const double step = std::exp2(std::ilogb(x) - 7);
  return std::nearbyint(x / step) * step;
}

std::vector<float> product(Matrix<const float> a, const PackedMatrix<float>& b,
                           std::span<const float> bias = {}, Activation f = Activation::none) {
  std::vector<float> c(static_cast<std::size_t>(a.rows * b.cols), 1e30f);
  multiply_packed<float>(a, b, bias, f, Matrix<float>(c.data(), a.rows, b.cols));
  return c;
}

/// What a weight [k, n] is in int8: the product of the identity and it.
std::vector<float> as_int8(const std::vector<float>& weight, std::int64_t k, std::int64_t n) {
  std::vector<float> identity(static_cast<std::size_t>(k * k));
  for (std::int64_t l = 0; l < k; ++l) identity[static_cast<std::size_t>(l * k + l)] = 1;
  const Reduced reduced(Matrix<const float>(weight.data(), k, n), Precision::int8);
  return product(Matrix<const float>(identity.data(), k, k), reduced.matrix);
}

float relu(float x) {
  return x > 0 ? x : 0;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(reduced_panels)

/// What a product is added to is added as a bias is, row by row.
BOOST_AUTO_TEST_CASE(a_product_is_added_to_the_bit) {
  for (const Precision precision : kReduced) {
    for (const std::int64_t m : {1, 5, 13, 97}) {
      for (const std::int64_t n : {15, 33, 130}) {
        const std::int64_t k = n == 33 ? 37 : 128;
        const Factor a(m, k, n == 33, 1), b(k, n, m == 5, 2);
        Factor c(m, n, false, 3);
        const Reduced weight(b.view, precision);
        std::vector<float> wanted = c.storage;
        for (std::int64_t i = 0; i < m; ++i) {
          const std::vector<float> row =
              product(a.view.row_range(i, 1), weight.matrix, row_span<const float>(c.view, i));
          std::copy(row.begin(), row.end(), wanted.begin() + i * c.view.row_stride);
        }
        multiply_packed_add<float>(a.view, weight.matrix, c.view);
        BOOST_TEST((c.storage == wanted), "m " << m << " n " << n);
      }
    }
  }
}

/// Sizes on both sides of every tile, panel and group; sums that tiles of AMX take in one step, in several, and not at all.
BOOST_AUTO_TEST_CASE(int8_is_the_naive_twin_to_the_bit_and_bfloat16_nearly) {
  int turn = 0;
  for (const std::int64_t m : {1, 2, 3, 4, 5, 11, 12, 13, 30, 97}) {
    for (const std::int64_t n : {1, 15, 16, 17, 32, 33, 128, 130}) {
      for (const std::int64_t k : {1, 3, 16, 37, 128, 200}) {
        ++turn;
        const Factor a(m, k, turn % 2, 1), b(k, n, turn % 3 == 0, 2), shift(1, n, false, 3);
        const std::span<const float> bias(shift.view.data, turn % 5 ? static_cast<std::size_t>(n) : 0);
        const bool cut = turn % 4 == 0;
        const Activation f = cut ? Activation::relu : Activation::none;
        const Reduced int8(b.view, Precision::int8), bfloat16(b.view, Precision::bfloat16);
        const std::vector<float> got = product(a.view, int8.matrix, bias, f),
                                 near = product(a.view, bfloat16.matrix, bias, f);
        std::vector<Integers> rows;
        for (std::int64_t i = 0; i < m; ++i)
          rows.emplace_back(k, false, [&](std::int64_t l) { return a.view(i, l); });
        std::int64_t other_bits = 0, too_far = 0;
        for (std::int64_t j = 0; j < n; ++j) {
          const Integers column(k, true, [&](std::int64_t l) { return b.view(l, j); });
          const float add = bias.empty() ? 0 : bias[static_cast<std::size_t>(j)];
          for (std::int64_t i = 0; i < m; ++i) {
            const Integers& row = rows[static_cast<std::size_t>(i)];
            long sum = 0;
            double exact = 0, size = 0, error = 0, nearly = 0;
            for (std::int64_t l = 0; l < k; ++l) {
              const auto at = static_cast<std::size_t>(l);
              const double x = a.view(i, l), y = b.view(l, j);
              sum += row.value[at] * column.value[at];
              exact += x * y;
              size += std::abs(x * y);
              // Each factor is off by half a step at most.
              error += std::abs(x) * column.worth / 2 + std::abs(y) * row.worth / 2 +
                       double{row.worth} * column.worth / 4;
              nearly += rounded(a.view(i, l)) * rounded(b.view(l, j));
            }
            const float twin = std::fma(static_cast<float>(sum), row.worth * column.worth, add);
            const auto at = static_cast<std::size_t>(i * n + j);
            other_bits += got[at] != (cut ? relu(twin) : twin);
            if (cut) continue;
            const double slack = 1e-6 * (size + std::abs(add));
            too_far +=
                !(std::abs(got[at] - exact - add) <= error * (1 + 1e-5) + slack) ||
                !(std::abs(near[at] - nearly - add) <= static_cast<double>(k) * slack) ||
                !(std::abs(near[at] - exact - add) <= size * std::exp2(-7) + static_cast<double>(k) * slack);
          }
        }
        BOOST_TEST_CONTEXT("m " << m << " n " << n << " k " << k << " turn " << turn) {
          BOOST_TEST(other_bits == 0);
          BOOST_TEST(too_far == 0);
        }
      }
    }
  }
}

/// Where all numbers but the last are the largest of their row or column, products come as near to 16 bits as they may: where
/// pairs of a column have the same sign, 64 steps stand for each.
BOOST_AUTO_TEST_CASE(the_largest_products_of_int8_are_added_exactly) {
  for (const std::int64_t m : {1, 5, 6}) {
    for (const std::int64_t k : {4, 37, 512}) {
      const std::int64_t n = 70;
      std::vector<float> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(k * n));
      const auto sign_a = [](std::int64_t i, std::int64_t l) { return i % 3 == 2 && l % 3 == 0 ? -1 : 1; };
      const auto sign_b = [](std::int64_t l, std::int64_t j) {
        return j % 2 || (j % 5 == 4 && l % 2) ? -1 : 1;
      };
      for (std::int64_t l = 0; l < k; ++l) {
        for (std::int64_t i = 0; i < m; ++i) a[static_cast<std::size_t>(i * k + l)] = 127.0f * sign_a(i, l);
        for (std::int64_t j = 0; j < n; ++j)
          b[static_cast<std::size_t>(l * n + j)] = (l < k - 1 ? 127.0f : 9.2f) * sign_b(l, j);
      }
      const Reduced weight(Matrix<const float>(b.data(), k, n), Precision::int8);
      const std::vector<float> c = product(Matrix<const float>(a.data(), m, k), weight.matrix);
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          const bool same_sign = sign_b(0, j) == sign_b(1, j);
          const long steps = same_sign ? 64 : 127, worth = same_sign ? 2 : 1;
          long sum = 0;
          for (std::int64_t l = 0; l < k; ++l)
            sum += 127 * (l < k - 1 ? steps : same_sign ? 5 : 9) * sign_a(i, l) * sign_b(l, j);
          wrong += c[static_cast<std::size_t>(i * n + j)] != static_cast<float>(worth * sum);
        }
      }
      BOOST_TEST(wrong == 0, "m " << m << " k " << k << ": " << wrong << " wrong");
    }
  }
}

/// Columns of int8 times a factor of their own, some with a largest number far below 127, are read as these numbers again, but
/// for those with a pair above 127.
BOOST_AUTO_TEST_CASE(a_column_that_was_int8_keeps_its_integers) {
  const std::int64_t k = 101, n = 70;
  std::vector<long> integers(static_cast<std::size_t>(k * n));
  std::vector<float> factors, b(integers.size());
  Random random(1, 4);
  for (std::int64_t j = 0; j < n; ++j) factors.push_back(static_cast<float>(std::exp(random.normal())));
  const auto at = [&](std::int64_t l, std::int64_t j) { return static_cast<std::size_t>(l * n + j); };
  for (std::int64_t l = 0; l < k; ++l)
    for (std::int64_t j = 0; j < n; ++j) {
      const long most = j == 0 ? 0 : j % 3 ? 63 : 1 + j % 20;
      integers[at(l, j)] = std::clamp(std::lrint(20 * random.normal()), -most, most);
    }
  integers[at(40, 7)] = 127, integers[at(41, 7)] = 0;
  integers[at(40, 8)] = 120, integers[at(41, 8)] = 33;
  for (std::int64_t l = 0; l < k; ++l)
    for (std::int64_t j = 0; j < n; ++j)
      b[at(l, j)] = static_cast<float>(integers[at(l, j)]) * factors[static_cast<std::size_t>(j)];
  const std::vector<float> got = as_int8(b, k, n);
  for (std::int64_t j = 0; j < n; ++j) {
    double worst = 0;
    for (std::int64_t l = 0; l < k; ++l)
      worst = std::max(worst, std::abs(double{got[at(l, j)]} / factors[static_cast<std::size_t>(j)] -
                                       static_cast<double>(integers[at(l, j)])));
    if (j == 8)
      BOOST_TEST((worst > 0.1 && worst < 0.7), "column 8 is off by " << worst);
    else
      BOOST_TEST(worst < 1e-4, "column " << j << " is off by " << worst);
  }
}

/// Columns that begin like multiples, or nearly are: none loses more than by rounding it to 127 steps, and those that
/// were int8 lose nothing.
BOOST_AUTO_TEST_CASE(no_column_loses_more_than_by_rounding) {
  const std::int64_t k = 40;
  struct Column {
    std::vector<float> first;
    std::vector<float> later;  ///< over and over
    bool was_int8;
    float factor = 1;
  };
  const std::vector<Column> columns{{{127, -1}, {1, 0, -1, 0, 0, 2}, true, 0.37f},
                                    {{126, 0, 127}, {0, -36, 21, 0}, true, 1e-3f},
                                    {{3, 0, 0, 126, 0}, {-1, 127, -64}, true},
                                    {{0, 0}, {0, -7}, true, 5e-5f},
                                    {{1e-40f}, {0.05f, -0.02f}, false},
                                    {{0, 1e-45f, 1e-42f}, {3, 0.7f}, false},
                                    {{1e38f}, {0}, false},
                                    {{}, {2.9e36f, -1e35f}, false},
                                    {{1}, {0.003f, -0.0025f, 0.0031f}, false},
                                    {{127, 1.004f}, {5.003f, -30.001f, 2}, false},
                                    {{-1}, {0.5f, 0.2501f, 0.125f}, false},
                                    {{}, {0}, false}};
  const auto n = static_cast<std::int64_t>(columns.size());
  std::vector<float> b;
  for (std::int64_t l = 0; l < k; ++l) {
    for (const Column& column : columns) {
      const auto at = static_cast<std::size_t>(l), first = column.first.size();
      b.push_back(column.factor *
                  (at < first ? column.first[at] : column.later[(at - first) % column.later.size()]));
    }
  }
  const std::vector<float> got = as_int8(b, k, n);
  for (std::int64_t j = 0; j < n; ++j) {
    const auto at = [&](std::int64_t l) { return static_cast<std::size_t>(l * n + j); };
    const Integers rounded(k, true, [&](std::int64_t l) { return b[at(l)]; });
    double worst = 0;
    for (std::int64_t l = 0; l < k; ++l) {
      BOOST_TEST(std::isfinite(got[at(l)]), "column " << j);
      worst = std::max(worst, std::abs(double{got[at(l)]} - b[at(l)]) / std::max(rounded.worth, 1e-45f));
    }
    BOOST_TEST(worst <= (columns[static_cast<std::size_t>(j)].was_int8 ? 1e-4 : 0.501),
               "column " << j << " is off by " << worst);
  }
}

BOOST_AUTO_TEST_CASE(other_activations_are_applied_to_the_sums) {
  const Factor a(5, 20, false, 1), b(20, 40, false, 2);
  for (const Precision precision : kReduced) {
    const Reduced weight(b.view, precision);
    std::vector<float> wanted = product(a.view, weight.matrix);
    apply<float>(Activation::tanh, wanted, wanted);
    BOOST_TEST(product(a.view, weight.matrix, {}, Activation::tanh) == wanted);
  }
}

BOOST_AUTO_TEST_CASE(a_row_does_not_depend_on_the_others) {
  for (const std::int64_t k : {40, 61, 64})
    for (const Precision precision : kReduced) {
      const Factor a(110, k, false, 1), b(k, 75, true, 2);
      const Reduced weight(b.view, precision);
      const std::vector<float> all = product(a.view, weight.matrix);
      for (const std::int64_t rows : {1, 2, 7, 50}) {
        std::vector<float> parts;
        for (std::int64_t i = 0; i < 110; i += rows)
          for (const float y :
               product(a.view.row_range(i, std::min<std::int64_t>(rows, 110 - i)), weight.matrix))
            parts.push_back(y);
        BOOST_TEST(parts == all);
      }
    }
}

BOOST_AUTO_TEST_CASE(the_best_words_are_those_of_the_whole_product) {
  const Factor a(5, 24, false, 1), b(2500, 24, false, 2),
      shift(1, 2500, false, 3);  // several blocks of logits
  const std::span<const float> bias(shift.view.data, 2500);
  for (const Precision precision : kReduced) {
    const Reduced weight(b.view.t(), precision);
    const std::vector<float> logits = product(a.view, weight.matrix, bias);
    std::vector<float> wanted(5 * 4), values(5 * 4);
    std::vector<std::int32_t> wanted_ids(5 * 4), ids(5 * 4);
    log_softmax_top_k<float>(Matrix<const float>(logits.data(), 5, 2500), 4, {wanted.data(), 5, 4},
                             {wanted_ids.data(), 5, 4});
    log_softmax_top_k<float>(a.view, weight.matrix, bias, 4, {values.data(), 5, 4}, {ids.data(), 5, 4});
    BOOST_TEST(ids == wanted_ids);
    BOOST_TEST(values == wanted);
  }
}

BOOST_AUTO_TEST_CASE(rows_of_zeros_and_of_very_small_and_large_numbers) {
  std::vector<float> a{0, 0, 0, 1e-38f, -1e-38f, 5e-39f, 1e37f, -3e37f, 1e37f, 1, 2, 3}, b{1, -2, 3};
  for (const Precision precision : kReduced) {
    const Reduced weight(Matrix<const float>(b.data(), 3, 1), precision);
    const std::vector<float> bias{0.5f};
    const std::vector<float> y = product(Matrix<const float>(a.data(), 4, 3), weight.matrix, bias);
    BOOST_TEST(y[0] == 0.5f);
    BOOST_TEST(y[1] == 0.5f);
    BOOST_TEST(y[2] == 1e38f, boost::test_tools::tolerance(0.02f));
    BOOST_TEST(y[3] == 6.5f, boost::test_tools::tolerance(0.02f));
  }
}

constexpr float kOdd[] = {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                          std::numeric_limits<float>::quiet_NaN()};

BOOST_AUTO_TEST_CASE(a_row_that_is_not_finite_gives_nothing_finite_and_spoils_no_other) {
  const Factor b(40, 50, false, 2);
  for (const Precision precision : kReduced) {
    const Reduced weight(b.view, precision);
    for (const float value : kOdd) {
      Factor a(40, 40, false, 1);
      const std::vector<float> before = product(a.view, weight.matrix);
      a.view(5, 17) = value;
      const std::vector<float> after = product(a.view, weight.matrix);
      for (std::size_t i = 0; i < after.size(); ++i) {
        if (i / 50 == 5)
          BOOST_TEST(!std::isfinite(after[i]));
        else
          BOOST_TEST(after[i] == before[i]);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_column_that_is_not_finite_gives_nothing_finite_and_spoils_no_other) {
  const Factor a(7, 40, false, 1);
  for (const Precision precision : kReduced) {
    for (const float value : kOdd) {
      for (const bool in_pair : {false, true}) {
        Factor b(40, 50, false, 2);
        const std::vector<float> before = product(a.view, Reduced(b.view, precision).matrix);
        b.view(17, 5) = value;
        if (in_pair) b.view(16, 5) = -value;
        const std::vector<float> after = product(a.view, Reduced(b.view, precision).matrix);
        for (std::size_t i = 0; i < after.size(); ++i) {
          if (i % 50 == 5)
            BOOST_TEST(!std::isfinite(after[i]));
          else
            BOOST_TEST(after[i] == before[i]);
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(weights_are_reduced_once) {
  const std::vector<float> parameters(600, 1);
  for (const Precision precision : kReduced) {
    const PackedWeights<float> weights(parameters, precision);
    const Matrix<const float> w(parameters.data() + 16, 10, 40);
    const PackedMatrix<float>* packed = weights.find(w);
    BOOST_REQUIRE(packed);
    BOOST_TEST(packed->panels == nullptr);
    BOOST_TEST((packed->reduced.precision == precision));
    BOOST_TEST(weights.find(w) == packed);
  }
}

BOOST_AUTO_TEST_CASE(reduced_weights_stand_in_place_of_their_values_but_for_tables) {
  for (const Precision precision : kReduced) {
    std::vector<float> values(2 * 64 * 300, 1);
    const PackedWeights<float> weights(std::span<float>{values}, precision, Unpacked::released);
    const Matrix<float> weight(values.data(), 64, 300), table(weight.row(64), 300, 64);
    BOOST_TEST((weights.find(weight) && weights.find(table.t())));
    BOOST_TEST(std::count(values.begin(), values.begin() + 64 * 300, 0.0f) > 10'000);
    BOOST_TEST(std::count(table.data, table.row(300), 1.0f) == 300 * 64);
    BOOST_TEST(!weights.in_place_of(table.t()));
    BOOST_CHECK_THROW(weights.in_place_of(weight), Error);
  }
}

BOOST_AUTO_TEST_CASE(a_weight_whose_sums_would_not_fit_is_refused) {
  const std::vector<float> column(65'537);
  Arena arena;
  BOOST_CHECK_EXCEPTION(reduce(Matrix<const float>(column.data(), 65'537, 1), Precision::int8, arena), Error,
                        [](const Error& e) {
                          return std::string(e.what()) ==
                                 "weights in int8: got 65537 rows, wanted at most 65536";
                        });
}

BOOST_AUTO_TEST_SUITE_END()
