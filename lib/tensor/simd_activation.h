// Activation functions as types, so that each loop over a row is compiled once per function; here those
// whose slope follows from their value, the others are in kernels_activation.cpp. Per target, like simd.h.
#if defined(HEED_TENSOR_SIMD_ACTIVATION_H) == defined(HWY_TARGET_TOGGLE)
#ifdef HEED_TENSOR_SIMD_ACTIVATION_H
#undef HEED_TENSOR_SIMD_ACTIVATION_H
#else
#define HEED_TENSOR_SIMD_ACTIVATION_H
#endif

#include "tensor/simd.h"

HWY_BEFORE_NAMESPACE();
namespace heed::HWY_NAMESPACE {

// value(x) is f(x), slope(y) is f'(x) in terms of y = f(x).
template <class T>
struct Identity {
  static HWY_INLINE Vec<T> value(Vec<T> x) { return x; }
  static HWY_INLINE Vec<T> slope(Vec<T>) { return set(T{1}); }
};
template <class T>
struct Relu {
  static HWY_INLINE Vec<T> value(Vec<T> x) {
    return hn::IfThenZeroElse(x < hn::Zero(Tag<T>()), x);
  }  // keeps NaN
  static HWY_INLINE Vec<T> slope(Vec<T> y) { return hn::IfThenElseZero(y > hn::Zero(Tag<T>()), set(T{1})); }
};
template <class T>
struct Tanh {
  static HWY_INLINE Vec<T> value(Vec<T> x) { return tanh<T>(x); }
  static HWY_INLINE Vec<T> slope(Vec<T> y) { return hn::NegMulAdd(y, y, set(T{1})); }
};
template <class T>
struct Sigmoid {
  static HWY_INLINE Vec<T> value(Vec<T> x) { return sigmoid<T>(x); }
  static HWY_INLINE Vec<T> slope(Vec<T> y) { return hn::NegMulAdd(y, y, y); }
};

/// Calls body(Relu<T>()) and the like for an f whose slope follows from its value.
template <class T, class Body>
HWY_INLINE void with_activation(Activation f, const Body& body) {
  switch (f) {
    case Activation::none:
      return body(Identity<T>());
    case Activation::relu:
      return body(Relu<T>());
    case Activation::tanh:
      return body(Tanh<T>());
    case Activation::sigmoid:
      return body(Sigmoid<T>());
    default:
      return;
  }
}

}  // namespace heed::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
