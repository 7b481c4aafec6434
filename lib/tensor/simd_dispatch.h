// One source, several instruction sets: a kernel file is compiled once per target of Highway
// (foreach_target.h) and the best version for the processor is picked at run time. A kernel file reads
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "tensor/kernels_xyz.cpp"   // this file, as #include finds it
//   #include "tensor/simd_dispatch.h"
//   #include "hwy/foreach_target.h"
//   #include "tensor/simd.h"
//   HWY_BEFORE_NAMESPACE();
//   namespace heed::HWY_NAMESPACE {  template <class T> void f(T x) {...}  HEED_TARGET_KERNEL(f)  }
//   HWY_AFTER_NAMESPACE();
//   #if HWY_ONCE
//   namespace heed {
//   HEED_EXPORT_KERNEL(f)
//   template <class T> void f(T x) { HEED_DISPATCH(f)(x); }
//   HEED_INSTANTIATE(f)
//   }
//   #endif
#pragma once

// Scalar, SSE4, AVX2 and AVX-512 suffice: further targets only cost compile time. (Arrays of vectors exclude
// targets with vectors of unknown length.)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

/// Names the float and double instances of a target's kernel template, as HWY_EXPORT needs.
#define HEED_TARGET_KERNEL(name)                     \
  inline constexpr auto& name##_float = name<float>; \
  inline constexpr auto& name##_double = name<double>;

#define HEED_EXPORT_KERNEL(name) \
  HWY_EXPORT(name##_float);      \
  HWY_EXPORT(name##_double);

/// Inside a template over T: the version of the kernel for T and this processor.
#define HEED_DISPATCH(name)                        \
  [] {                                             \
    if constexpr (std::is_same_v<T, float>)        \
      return &HWY_DYNAMIC_DISPATCH(name##_float);  \
    else                                           \
      return &HWY_DYNAMIC_DISPATCH(name##_double); \
  }()

#define HEED_INSTANTIATE(name)                \
  template decltype(name<float>) name<float>; \
  template decltype(name<double>) name<double>;
