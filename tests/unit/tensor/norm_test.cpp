#include "kernel_testing.h"

using namespace heed;
using namespace heed::testing;

namespace {

const std::vector<Index> kWidths = {2, 7, 17, 33, 130, 512};

template <class T>
struct Normalised {
  BothMatrix<T> s, y;
  Both<T> mean, rstd;
  Normalised(Index n, Index d) : s(n, d), y(n, d), mean(n), rstd(n) {}
};

}  // namespace

BOOST_AUTO_TEST_SUITE(norm_kernels)

BOOST_AUTO_TEST_CASE_TEMPLATE(residual_and_norm_forward_and_backward, T, Floats) {
  for (double p : {0.0, 0.2}) {
    for (Index d : kWidths) {
      const Index n = 5;
      const Dropout drop = make_dropout(p, 1, 2);
      BothMatrix<T> x(n, d, 1, 3), sub(n, d, 2), d_y(n, d, 5), d_s(n, d);
      const auto gamma = Both<T>::normal(d, 3), beta = Both<T>::normal(d, 4);
      Normalised<T> out(n, d);
      add_layer_norm<T>(x.in(), sub.in(), drop, gamma.in(), beta.in(), T(1e-5), out.s.fast(), out.y.fast(),
                        out.mean.out(), out.rstd.out());
      naive::add_layer_norm<double>(x.in_exact(), sub.in_exact(), drop, gamma.in_exact(), beta.in_exact(),
                                    1e-5, out.s.exact(), out.y.exact(), out.mean.out_exact(),
                                    out.rstd.out_exact());
      check_close(out.s, 4);
      check_close(out.mean, 16);
      check_close(out.y, 100);

      out.s.values.exact.assign(out.s.values.fast.begin(), out.s.values.fast.end());
      out.mean.exact.assign(out.mean.fast.begin(), out.mean.fast.end());
      out.rstd.exact.assign(out.rstd.fast.begin(), out.rstd.fast.end());
      auto d_gamma = Both<T>::normal(d, 6), d_beta = Both<T>::normal(d, 7);
      layer_norm_backward<T>(out.s.in(), out.mean.in(), out.rstd.in(), gamma.in(), d_y.in(), d_s.fast(),
                             d_gamma.out(), d_beta.out());
      naive::layer_norm_backward<double>(out.s.in_exact(), out.mean.in_exact(), out.rstd.in_exact(),
                                         gamma.in_exact(), d_y.in_exact(), d_s.exact(), d_gamma.out_exact(),
                                         d_beta.out_exact());
      check_close(d_s, 100);
      check_close(d_gamma, 30);
      check_close(d_beta, 30);
      layer_norm_backward<T>(out.s.in(), out.mean.in(), out.rstd.in(), gamma.in(), d_y.in(), d_y.fast(),
                             d_gamma.out(), d_beta.out());  // in place
      BOOST_CHECK(
          std::equal(d_y.values.fast.begin() + 1, d_y.values.fast.end(), d_s.values.fast.begin() + 1));
    }
  }
}

// Heads side by side, in rows with a gap.
BOOST_AUTO_TEST_CASE_TEMPLATE(root_mean_squares, T, Floats) {
  for (Index d : kWidths) {
    const Index n = 4, runs = 3;
    BothMatrix<T> x(n, runs * d, 1, 3, 5), y(n, runs * d, 0, 1, 2), d_y(n, runs * d, 5),
        d_x(n, runs * d, 6, 1, 3);
    const auto gamma = Both<T>::normal(d, 3);
    Both<T> rstd(n * runs);
    rms_norm<T>(x.in(), gamma.in(), T(1e-5), y.fast(), rstd.out());
    naive::rms_norm<double>(x.in_exact(), gamma.in_exact(), 1e-5, y.exact(), rstd.out_exact());
    check_close(y, 16);
    check_close(rstd, 16);
    auto d_gamma = Both<T>::normal(d, 7);
    rms_norm_backward<T>(x.in(), rstd.in(), gamma.in(), d_y.in(), d_x.fast(), d_gamma.out());
    for (Index i = 0; i < n; ++i) {
      for (Index r = 0; r < runs; ++r) {
        const double scale = rstd.exact[i * runs + r];
        double along = 0;
        for (Index j = 0; j < d; ++j)
          along += d_y.exact()(i, r * d + j) * gamma.exact[j] * x.exact()(i, r * d + j) * scale / d;
        for (Index j = 0; j < d; ++j) {
          const double normed = x.exact()(i, r * d + j) * scale, d_out = d_y.exact()(i, r * d + j);
          d_x.exact()(i, r * d + j) += scale * (d_out * gamma.exact[j] - normed * along);
          d_gamma.exact[j] += d_out * normed;
        }
      }
    }
    check_close(d_x, 32);
    check_close(d_gamma, 32);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(rotations, T, Floats) {
  for (Index half : {1, 2, 7, 16, 33}) {
    for (Index rest : {0, 3}) {
      const Index n = 5, heads = 3, places = 9, d = 2 * half + rest;
      BothMatrix<T> x(n, heads * d, 1, 1, 3), y(n, heads * d), turns(places, 2 * half), back(n, heads * d, 2);
      for (Index p = 0; p < places; ++p) {
        for (Index j = 0; j < half; ++j) {
          turns.set(p, j, std::cos(0.3 * p * (j + 1)));
          turns.set(p, half + j, std::sin(0.3 * p * (j + 1)));
        }
      }
      const std::vector<std::int32_t> position{0, 3, 8, 1, 3};
      rotate_rows<T>(x.in(), turns.in(), position, d, y.fast());
      naive::rotate_rows<double>(x.in_exact(), turns.in_exact(), position, d, y.exact());
      check_close(y, 4);
      for (Index c = 0; c < x.cols; ++c)
        BOOST_TEST(y.fast()(0, c) == x.fast()(0, c));  // position 0 turns nothing
      rotate_rows_backward<T>(y.in(), turns.in(), position, d,
                              back.fast());  // what was turned, turned back and added
      for (Index i = 0; i < n; ++i)
        for (Index c = 0; c < x.cols; ++c) back.exact()(i, c) += x.exact()(i, c);
      check_close(back, 8);
    }
  }
}

// Zero mean, unit variance, also far from zero.
BOOST_AUTO_TEST_CASE_TEMPLATE(rows_get_zero_mean_and_unit_variance, T, Floats) {
  const Index d = 96;
  BothMatrix<T> x(3, d, 1, 1);
  for (Index j = 0; j < d; ++j) x.fast()(1, j) += 1000;
  const std::vector<T> one(d, 1), zero(d, 0);
  Normalised<T> out(3, d);
  add_layer_norm<T>(x.in(), {}, {}, one, zero, 0, out.s.fast(), out.y.fast(), out.mean.out(), out.rstd.out());
  BOOST_CHECK(std::equal(x.values.fast.begin() + 1, x.values.fast.end(), out.s.values.fast.begin() + 1));
  for (Index i = 0; i < 3; ++i) {
    double sum = 0, squares = 0;
    for (Index j = 0; j < d; ++j) {
      sum += out.y.fast()(i, j);
      squares += out.y.fast()(i, j) * out.y.fast()(i, j);
    }
    BOOST_TEST(std::abs(sum / d) < (i == 1 ? 1000 : 1) * std::numeric_limits<T>::epsilon());
    BOOST_TEST(std::abs(squares / d - 1) < 1e-5);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(without_a_sublayer_s_is_x, T, Floats) {
  BothMatrix<T> x(2, 35, 1);
  const std::vector<T> one(35, 1), zero(35, 0);
  Normalised<T> a(2, 35), b(2, 35);
  add_layer_norm<T>(x.in(), {}, {}, one, zero, T(1e-6), a.s.fast(), a.y.fast(), a.mean.out(), a.rstd.out());
  add_layer_norm<T>(x.in(), {}, {}, one, zero, T(1e-6), x.fast(), b.y.fast(), b.mean.out(), b.rstd.out());
  add_layer_norm<T>(x.in(), {}, {}, one, zero, T(1e-6), {}, b.y.fast(), b.mean.out(), b.rstd.out());
  BOOST_CHECK(std::equal(a.y.values.fast.begin() + 1, a.y.values.fast.end(), b.y.values.fast.begin() + 1));
}

BOOST_AUTO_TEST_SUITE_END()
