// Activations whose slope does not follow from their value: the Gaussian error linear unit (D. Hendrycks,
// K. Gimpel: Gaussian error linear units, 2016) with its approximations, and x sigmoid(x).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels_activation.cpp"
#include "tensor/simd_dispatch.h"
// Must come before the SIMD headers.
#include "hwy/foreach_target.h"
#include "tensor/simd.h"

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {
namespace {

/// (1 + 2 a) exp(a^2) erfc(a) for all a >= 0 as a polynomial in t = (a - 2.5) / (a + 2.5), from its Chebyshev
/// interpolation in 60 digits. Relative error: 6e-8 and 9e-16.
template <class T>
struct ErfcSeries;
template <>
struct ErfcSeries<float> {
  static constexpr int kDegree = 10;
  static constexpr float kTerms[] = {1.26483818f,     -1.22357466e-1f, -9.90242417e-2f, 1.57644295e-1f,
                                     -1.02970538e-1f, 3.26775701e-2f,  9.4675963e-4f,   -4.18024663e-3f,
                                     4.63337521e-4f,  4.05488919e-4f,  -6.3917866e-5f};
};
template <>
struct ErfcSeries<double> {
  static constexpr int kDegree = 22;
  static constexpr double kTerms[] = {
      1.2648381843668617,     -1.2235676308238377e-1,  -9.9024539573651215e-2, 1.5762991902137586e-1,
      -1.029670560362185e-1,  3.2760893317699094e-2,   9.3189277334628106e-4,  -4.3820789453009127e-3,
      4.9186623888837577e-4,  6.321285094388174e-4,    -8.8481680323320871e-5, -1.1354002160771155e-4,
      6.2749301696667451e-6,  2.2748070690519948e-5,   2.5875000946308191e-6,  -4.3060218544716247e-6,
      -1.5509211487321672e-6, 6.3372376287539192e-7,   4.9733100432640034e-7,  -5.0759993761016627e-8,
      -1.0181452797365076e-7, -2.6407097564250092e-10, 1.0433261276334515e-8};
};

template <class T, int term = 0>
HWY_INLINE Vec<T> erfc_series(Vec<T> t) {
  const Vec<T> constant = set(ErfcSeries<T>::kTerms[term]);
  if constexpr (term == ErfcSeries<T>::kDegree)
    return constant;
  else
    return hn::MulAdd(erfc_series<T, term + 1>(t), t, constant);
}

/// The standard normal distribution at x, and exp(-x^2 / 2), which its density is a multiple of.
template <class T>
struct Normal {
  Vec<T> below, bell;

  HWY_INLINE explicit Normal(Vec<T> x) {
    const Vec<T> z = x * set(static_cast<T>(0.70710678118654752440));
    bell = exp_of_negative<T>(hn::Neg(z * z));
    const Vec<T> a = hn::Min(hn::Abs(z), set(T{40}));  // beyond, the bell is 0
    const Vec<T> middle = set(static_cast<T>(2.5)), half = set(static_cast<T>(0.5));
    const Vec<T> tail =
        half * bell * erfc_series<T>((a - middle) / (a + middle)) / hn::MulAdd(a, set(T{2}), set(T{1}));
    below = hn::IfThenElse(x < hn::Zero(Tag<T>()), tail, set(T{1}) - tail);
  }
};

template <class T>
struct Gelu {
  static HWY_INLINE Vec<T> value(Vec<T> x) { return x * Normal<T>(x).below; }
  static HWY_INLINE Vec<T> slope(Vec<T> x) {
    const Normal<T> normal(x);
    return hn::MulAdd(x * normal.bell, set(static_cast<T>(0.39894228040143267794)), normal.below);
  }
};

/// x sigmoid(a x + b x^3). The argument is cut where the sigmoid is 0 or 1, so that no infinities meet.
template <class T, class Terms>
struct Gated {
  static constexpr T a = static_cast<T>(Terms::a), b = static_cast<T>(Terms::b);

  static HWY_INLINE Vec<T> cut(Vec<T> x) { return hn::Max(hn::Min(x, set(T{800})), set(T{-800})); }
  static HWY_INLINE Vec<T> gate(Vec<T> x) { return sigmoid<T>(x * hn::MulAdd(x * x, set(b), set(a))); }
  static HWY_INLINE Vec<T> value(Vec<T> x) { return x * gate(cut(x)); }
  static HWY_INLINE Vec<T> slope(Vec<T> x) {
    const Vec<T> c = cut(x), s = gate(c);
    const Vec<T> steepness = hn::MulAdd(c * c, set(3 * b), set(a));
    return hn::MulAdd(c * steepness, hn::NegMulAdd(s, s, s), s);
  }
};
/// (1 + tanh(u)) / 2 = sigmoid(2 u), u = sqrt(2 / pi) (x + 0.044715 x^3).
struct TanhTerms {
  static constexpr double a = 1.59576912160573071176, b = a * 0.044715;
};
struct SigmoidTerms {
  static constexpr double a = 1.702, b = 0;
};
struct SiluTerms {
  static constexpr double a = 1, b = 0;
};

template <class T, class Body>
HWY_INLINE void with_curve(Activation f, const Body& body) {
  switch (f) {
    case Activation::gelu:
      return body(Gelu<T>());
    case Activation::gelu_tanh:
      return body(Gated<T, TanhTerms>());
    case Activation::gelu_sigmoid:
      return body(Gated<T, SigmoidTerms>());
    case Activation::silu:
      return body(Gated<T, SiluTerms>());
    default:
      return;
  }
}

}  // namespace

template <class T>
void apply_curve(Activation f, std::span<const T> x, std::span<T> y) {
  with_curve<T>(f, [&](auto curve) HWY_ATTR {
    for_vectors<T>(x.size(),
                   [&](Index i, auto part) HWY_ATTR { part.store(curve.value(part.load(&x[i])), &y[i]); });
  });
}

template <class T>
void apply_backward_at(Activation f, std::span<const T> x, std::span<const T> d_y, std::span<T> d_x) {
  with_curve<T>(f, [&](auto curve) HWY_ATTR {
    for_vectors<T>(x.size(), [&](Index i, auto part) HWY_ATTR {
      part.store(hn::MulAdd(part.load(&d_y[i]), curve.slope(part.load(&x[i])), part.load(&d_x[i])), &d_x[i]);
    });
  });
}

HEED_TARGET_KERNEL(apply_curve)
HEED_TARGET_KERNEL(apply_backward_at)

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed {

HEED_KERNEL(void, apply_curve, (Activation f, std::span<const T> x, std::span<T> y), (f, x, y))
HEED_KERNEL(void, apply_backward_at,
            (Activation f, std::span<const T> x, std::span<const T> d_y, std::span<T> d_x), (f, x, d_y, d_x))

}  // namespace heed
#endif
