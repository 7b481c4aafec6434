// Kernels over the flat buffers of parameters and gradients.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels_optimizer.cpp"
#include "tensor/simd_dispatch.h"
// Must come before the SIMD headers.
#include "hwy/foreach_target.h"
#include "tensor/simd.h"

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {

template <class T>
void adam_update(const AdamStep& step, std::span<T> p, std::span<const T> g, std::span<T> m, std::span<T> v) {
  auto constant = [](double x) HWY_ATTR { return set(static_cast<T>(x)); };
  const Vec<T> beta1 = constant(step.beta1), one_minus_beta1 = constant(1 - step.beta1);
  const Vec<T> beta2 = constant(step.beta2), one_minus_beta2 = constant(1 - step.beta2);
  const Vec<T> eps = constant(step.eps), size = constant(step.step_size), v_scale = constant(step.v_scale);
  const Vec<T> gradient_scale = constant(step.gradient_scale), decay = constant(step.weight_decay);
  for_vectors<T>(p.size(), [&](Index i, auto part) HWY_ATTR {
    const Vec<T> gradient = part.load(&g[i]) * gradient_scale;
    const Vec<T> m_new = hn::MulAdd(one_minus_beta1, gradient, beta1 * part.load(&m[i]));
    const Vec<T> v_new = hn::MulAdd(one_minus_beta2, gradient * gradient, beta2 * part.load(&v[i]));
    const Vec<T> old = part.load(&p[i]), move = size * m_new / (hn::Sqrt(v_new * v_scale) + eps);
    part.store(m_new, &m[i]);
    part.store(v_new, &v[i]);
    part.store(old - hn::MulAdd(decay, old, move), &p[i]);
  });
}

template <class T>
void adadelta_update(const AdadeltaStep& step, std::span<T> p, std::span<const T> g, std::span<T> moves,
                     std::span<T> squares) {
  auto constant = [](double x) HWY_ATTR { return set(static_cast<T>(x)); };
  const Vec<T> rho = constant(step.rho), one_minus_rho = constant(1 - step.rho), eps = constant(step.eps);
  const Vec<T> gradient_scale = constant(step.gradient_scale), rate = constant(step.rate);
  for_vectors<T>(p.size(), [&](Index i, auto part) HWY_ATTR {
    const Vec<T> gradient = part.load(&g[i]) * gradient_scale, u = part.load(&moves[i]);
    const Vec<T> v_new = hn::MulAdd(one_minus_rho, gradient * gradient, rho * part.load(&squares[i]));
    const Vec<T> move = hn::Sqrt(u + eps) / hn::Sqrt(v_new + eps) * gradient;
    part.store(v_new, &squares[i]);
    part.store(hn::MulAdd(one_minus_rho, move * move, rho * u), &moves[i]);
    part.store(part.load(&p[i]) - rate * move, &p[i]);
  });
}

inline double block_squares(const double* x, Index n) {
  Vec<double> sum = set(0.0);
  for_vectors<double>(n, [&](Index i, auto part) HWY_ATTR {
    const Vec<double> e = part.load(x + i);
    sum = hn::MulAdd(e, e, sum);
  });
  return sum_of_lanes<double>(sum);
}
inline double block_squares(const float* x, Index n) {
  const hn::Rebind<float, Tag<double>> half;  // as many floats as a vector holds doubles
  Vec<double> sum0 = set(0.0), sum1 = sum0;
  Index i = 0;
  for (; i + 2 * kLanes<double> <= n; i += 2 * kLanes<double>) {
    const auto e0 = hn::PromoteTo(Tag<double>(), hn::LoadU(half, x + i));
    const auto e1 = hn::PromoteTo(Tag<double>(), hn::LoadU(half, x + i + kLanes<double>));
    sum0 = hn::MulAdd(e0, e0, sum0);
    sum1 = hn::MulAdd(e1, e1, sum1);
  }
  double sum = sum_of_lanes<double>(sum0 + sum1);
  for (; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  return sum;
}

template <class T>
double squared_norm(std::span<const T> x) {
  constexpr Index block = 4096;
  const Index n = x.size();
  double total = 0;
  for (Index first = 0; first < n; first += block)
    total += block_squares(x.data() + first, std::min(block, n - first));
  return total;
}

template <class T>
bool all_finite(std::span<const T> x) {
  Vec<T> sum = set(T{0});  // 0 * x is 0 for every finite x, NaN for the others
  for_vectors<T>(x.size(),
                 [&](Index i, auto part) HWY_ATTR { sum = hn::MulAdd(part.load(&x[i]), set(T{0}), sum); });
  return sum_of_lanes<T>(sum) == 0;
}

HEED_TARGET_KERNEL(adam_update)
HEED_TARGET_KERNEL(adadelta_update)
HEED_TARGET_KERNEL(squared_norm)
HEED_TARGET_KERNEL(all_finite)

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {

HEED_KERNEL(void, adam_update,
            (const AdamStep& step, std::span<T> p, std::span<const T> g, std::span<T> m, std::span<T> v),
            (step, p, g, m, v))
HEED_KERNEL(void, adadelta_update,
            (const AdadeltaStep& step, std::span<T> p, std::span<const T> g, std::span<T> moves,
             std::span<T> squares),
            (step, p, g, moves, squares))
HEED_KERNEL(double, squared_norm, (std::span<const T> x), (x))
HEED_KERNEL(bool, all_finite, (std::span<const T> x), (x))

}  // namespace heed
#endif
