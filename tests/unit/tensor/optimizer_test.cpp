#include "kernel_testing.h"

using namespace heed;
using namespace heed::testing;

BOOST_AUTO_TEST_SUITE(optimizer_kernels)

BOOST_AUTO_TEST_CASE_TEMPLATE(adam_equals_the_paper, T, Floats) {
  for (Index n : kSizes) {
    auto p = Both<T>::normal(n, 1), m = Both<T>::normal(n, 3, 0.1), v = Both<T>::normal(n, 4, 0.1);
    const auto g = Both<T>::normal(n, 2);
    for (Index i = 0; i < n; ++i) v.set(i, v.exact[i] * v.exact[i]);
    AdamStep step;
    step.beta2 = 0.98;
    step.step_size = 0.01;
    step.v_scale = 1.5;
    step.gradient_scale = 0.3;
    step.weight_decay = 0.001;
    for (int t = 0; t < 3; ++t) {
      adam_update(step, p.out(), g.in(), m.out(), v.out());
      naive::adam_update(step, p.out_exact(), g.in_exact(), m.out_exact(), v.out_exact());
    }
    check_close(p, 12);
    check_close(m, 12);
    check_close(v, 12);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(adadelta_equals_the_paper, T, Floats) {
  for (Index n : kSizes) {
    auto p = Both<T>::normal(n, 1), u = Both<T>::normal(n, 3, 0.1), v = Both<T>::normal(n, 4, 0.1);
    const auto g = Both<T>::normal(n, 2);
    for (Index i = 0; i < n; ++i) {
      u.set(i, u.exact[i] * u.exact[i]);
      v.set(i, v.exact[i] * v.exact[i]);
    }
    AdadeltaStep step;
    step.rho = 0.9;
    step.eps = 1e-4;
    step.rate = 0.7;
    step.gradient_scale = 0.3;
    for (int t = 0; t < 3; ++t) {
      adadelta_update(step, p.out(), g.in(), u.out(), v.out());
      naive::adadelta_update(step, p.out_exact(), g.in_exact(), u.out_exact(), v.out_exact());
    }
    check_close(p, 12);
    check_close(u, 12);
    check_close(v, 12);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(squared_norm_is_summed_in_double, T, Floats) {
  for (Index n : {0, 1, 7, 33, 4096, 10007}) {
    const auto x = Both<T>::normal(n, 5, 1e3);
    const double wanted = naive::squared_norm(x.in_exact());
    BOOST_TEST(std::abs(squared_norm(x.in()) - wanted) <= 1e-13 * wanted);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(one_bad_number_is_found_wherever_it_is, T, Floats) {
  for (Index n : kSizes) {
    auto x = Both<T>::normal(n, 6);
    x.fast[0] = std::numeric_limits<T>::max();
    BOOST_TEST(all_finite(x.in()));
    for (Index i = 0; i < n; ++i) {
      for (T bad : {std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity(),
                    std::numeric_limits<T>::quiet_NaN()}) {
        const T good = std::exchange(x.fast[i], bad);
        BOOST_REQUIRE(!all_finite(x.in()));
        x.fast[i] = good;
      }
    }
  }
  BOOST_TEST(all_finite(std::span<const T>()));
}

BOOST_AUTO_TEST_SUITE_END()
