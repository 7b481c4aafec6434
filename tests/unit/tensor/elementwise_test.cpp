#include <bit>
#include <cmath>
#include <limits>

#include "base/bfloat16.h"
#include "kernel_testing.h"

using namespace heed;
using namespace heed::testing;

BOOST_AUTO_TEST_SUITE(elementwise_kernels)

BOOST_AUTO_TEST_CASE_TEMPLATE(sums_and_multiples, T, Floats) {
  for (Index n : kSizes) {
    auto x = Both<T>::normal(n, 1), y = Both<T>::normal(n, 2);
    add_to(x.in(), y.out());
    naive::add_to(x.in_exact(), y.out_exact());
    scale_by(T(0.75), y.out());
    naive::scale_by(0.75, y.out_exact());
    check_close(y, 2);
    fill(y.out(), T(3));
    BOOST_TEST(y.fast == std::vector<T>(n, 3), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(bfloat16_is_the_nearest) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x{0.0f,
                       -0.0f,
                       1.0f,
                       infinity,
                       -infinity,
                       std::numeric_limits<float>::max(),
                       std::numeric_limits<float>::denorm_min(),
                       std::nanf("")};
  for (const std::uint32_t bits :
       {0x7f800001u, 0xffffffffu, 0x3f808000u, 0x3f818000u, 0x3f808001u, 0x3f807fffu})
    x.push_back(std::bit_cast<float>(bits));  // NaN that rounding might change, ties, and beside ties
  const auto normal = Both<float>::normal(1000, 1);
  x.insert(x.end(), normal.fast.begin(), normal.fast.end());
  for (std::size_t n = x.size() - 20; n <= x.size(); ++n) {
    std::vector<float> y(n);
    round_to_bfloat16(std::span(x).first(n), y);
    for (std::size_t i = 0; i < n; ++i)
      BOOST_REQUIRE(std::bit_cast<std::uint32_t>(y[i]) == std::uint32_t{to_bfloat16(x[i])} << 16);
  }
}

/// Largest error of f over a sweep of x, in units of eps |f(x)|.
template <class T>
double worst_error(Activation f, double from, double to) {
  std::vector<T> x, y;
  for (int i = 0; i <= 20000; ++i) x.push_back(static_cast<T>(from + (to - from) * i / 20000));
  y.resize(x.size());
  apply<T>(f, x, y);
  double worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double wanted = naive::activate<double>(f, x[i]);
    if (wanted == 0)
      BOOST_TEST(y[i] == 0);
    else
      worst = std::max(worst, std::abs((y[i] - wanted) / wanted));
  }
  return worst / std::numeric_limits<T>::epsilon();
}

BOOST_AUTO_TEST_CASE_TEMPLATE(activations_are_accurate, T, Floats) {
  for (double range : {1e-20, 1e-3, 0.7, 5.0, 50.0}) {
    BOOST_TEST(worst_error<T>(Activation::tanh, -range, range) < 3);
    BOOST_TEST(worst_error<T>(Activation::sigmoid, -range, range) < 3);
    BOOST_TEST(worst_error<T>(Activation::relu, -range, range) == 0);
    BOOST_TEST(worst_error<T>(Activation::none, -range, range) == 0);
  }
}

constexpr Activation kCurves[] = {Activation::gelu, Activation::gelu_tanh, Activation::gelu_sigmoid,
                                  Activation::silu};

// The error relative to x, of which these are a share: their tails cancel.
BOOST_AUTO_TEST_CASE_TEMPLATE(curves_are_accurate, T, Floats) {
  for (Activation f : kCurves) {
    for (double range : {1e-20, 1e-3, 0.7, 5.0, 50.0, 1e6}) {
      std::vector<T> x, y;
      for (int i = 0; i <= 20000; ++i) x.push_back(static_cast<T>(range * (i - 10000) / 10000));
      y.resize(x.size());
      apply<T>(f, x, y);
      double worst = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double wanted = naive::activate<double>(f, x[i]), size = std::abs(static_cast<double>(x[i]));
        if (size > 0) worst = std::max(worst, std::abs(y[i] - wanted) / size);
      }
      BOOST_TEST_INFO("activation " << static_cast<int>(f) << " to " << range);
      BOOST_TEST(worst / std::numeric_limits<T>::epsilon() < 8);
      std::vector<T> in_place = x;
      apply<T>(f, in_place, in_place);
      BOOST_TEST((in_place == y));
    }
    const std::vector<T> ends = {T(1e30), T(-1e30), std::numeric_limits<T>::quiet_NaN(), 0};
    std::vector<T> y(ends.size());
    apply<T>(f, ends, y);
    BOOST_TEST(y[0] == T(1e30));
    BOOST_TEST(y[1] == T(0));
    BOOST_TEST(std::isnan(y[2]));
    BOOST_TEST(y[3] == T(0));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(curves_slopes, T, Floats) {
  for (Activation f : kCurves) {
    for (Index n : kSizes) {
      const auto x = Both<T>::normal(n, 3, 2.0), d_y = Both<T>::normal(n, 4);
      auto d_x = Both<T>::normal(n, 5);
      apply_backward_at(f, x.in(), d_y.in(), d_x.out());
      for (Index i = 0; i < n; ++i) d_x.exact[i] += d_y.exact[i] * naive::slope_at<double>(f, x.exact[i]);
      check_close(d_x, sizeof(T) == 8 ? 1e5 : 16);  // the twin's difference quotient
    }
    const std::vector<T> x{T(1e30), T(-1e30), T(900), T(-900)}, ones(4, T{1});
    std::vector<T> slopes(4, T{0});
    apply_backward_at<T>(f, x, ones, slopes);
    BOOST_TEST(slopes == (std::vector<T>{1, 0, 1, 0}), boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(activations_at_the_ends_of_the_numbers, T, Floats) {
  const T inf = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> x = {T(1e30), T(-1e30), inf, -inf, nan, 0};
  auto of = [&](Activation f) {
    std::vector<T> y(x.size());
    apply<T>(f, x, y);
    BOOST_TEST(std::isnan(y[4]));
    y.erase(y.begin() + 4);
    return y;
  };
  BOOST_TEST(of(Activation::tanh) == (std::vector<T>{1, -1, 1, -1, 0}), boost::test_tools::per_element());
  BOOST_TEST(of(Activation::sigmoid) == (std::vector<T>{1, 0, 1, 0, T(0.5)}),
             boost::test_tools::per_element());
  BOOST_TEST(of(Activation::relu) == (std::vector<T>{T(1e30), 0, inf, 0, 0}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(activation_gradients, T, Floats) {
  for (auto f : {Activation::none, Activation::relu, Activation::tanh, Activation::sigmoid}) {
    for (Index n : kSizes) {
      auto x = Both<T>::normal(n, 3);
      apply<T>(f, x.in(), x.out());  // in place
      x.exact.assign(x.fast.begin(), x.fast.end());
      const auto d_y = Both<T>::normal(n, 4);
      auto d_x = Both<T>::normal(n, 5);
      apply_backward(f, x.in(), d_y.in(), d_x.out(), true);
      naive::apply_backward(f, x.in_exact(), d_y.in_exact(), d_x.out_exact(), true);
      check_close(d_x, 4);
      Both<T> overwritten(n, std::numeric_limits<T>::quiet_NaN());
      apply_backward(f, x.in(), d_y.in(), overwritten.out(), false);
      std::fill(overwritten.exact.begin(), overwritten.exact.end(), 0);
      naive::apply_backward(f, x.in_exact(), d_y.in_exact(), overwritten.out_exact(), true);
      check_close(overwritten, 4);
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(dropout_follows_its_definition, T, Floats) {
  const Dropout drop = make_dropout(0.3, 0x123456789abcdefull, 0xfedcba987ull);
  for (Index n : kSizes) {
    const auto x = Both<T>::normal(n, 6);
    Both<T> y(n), sum = Both<T>::normal(n, 7), in_place = x;
    dropout(drop, x.in(), y.out());
    naive::dropout(drop, x.in_exact(), y.out_exact());
    check_close(y, 2);
    dropout(drop, in_place.in(), in_place.out());
    BOOST_TEST(in_place.fast == y.fast, boost::test_tools::per_element());
    dropout_add(drop, x.in(), sum.out());
    naive::dropout_add(drop, x.in_exact(), sum.out_exact());
    check_close(sum, 3);
    dropout(Dropout{}, x.in(), y.out());
    BOOST_TEST(y.fast == x.fast, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(dropout_keeps_the_right_share, T, Floats) {
  const Index n = 100000;
  const double p = 0.1;
  Both<T> x(n, 1);
  dropout(make_dropout(p, 3, 9), x.in(), x.out());
  Index dropped = 0;
  for (T y : x.fast) {
    dropped += y == 0;
    BOOST_REQUIRE((y == 0 || std::abs(y * (1 - p) - 1) < 1e-4));
  }
  BOOST_TEST(std::abs(dropped - n * p) < 5 * std::sqrt(n * p * (1 - p)));
}

BOOST_AUTO_TEST_SUITE_END()
