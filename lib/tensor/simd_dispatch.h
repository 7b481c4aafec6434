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
//   HEED_KERNEL(void, f, (T x), (x))
//   }
//   #endif
#pragma once

#include "base/instantiate.h"
#include "base/simd_level.h"

// Scalar, SSE4, AVX2 and AVX-512 suffice: further targets only cost compile time. (Arrays of vectors exclude
// targets with vectors of unknown length.)
#if defined(__SANITIZE_ADDRESS__)
// The sanitizers take minutes for each set of kernels: plain loops, and the best set of the processor that builds.
#if defined(HEED_CHECK_AVX512)
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX2 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#else
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif
#else
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#endif

/// Names the float and double instances of a target's kernel template, as HEED_VERSIONS needs.
#define HEED_TARGET_KERNEL(name)                     \
  inline constexpr auto& name##_float = name<float>; \
  inline constexpr auto& name##_double = name<double>;

/// name_versions: the function `name` of every target.
#define HEED_VERSIONS(name)                                                       \
  constexpr KernelVersions<decltype(&HWY_STATIC_DISPATCH(name))> name##_versions{ \
      {HWY_CHOOSE_FALLBACK(name), HWY_CHOOSE_SSE4(name), HWY_CHOOSE_AVX2(name), HWY_CHOOSE_AVX3(name)}};

#define HEED_EXPORT_KERNEL(name) \
  HEED_VERSIONS(name##_float)    \
  HEED_VERSIONS(name##_double)

/// Inside a template over T: the version of the kernel for T and this processor.
#define HEED_DISPATCH(name)                 \
  [] {                                      \
    if constexpr (std::is_same_v<T, float>) \
      return name##_float_versions.best();  \
    else                                    \
      return name##_double_versions.best(); \
  }()

/// Defines the function `name`, which calls the kernel of that name: HEED_KERNEL(void, f, (T x, T y), (x, y)).
#define HEED_KERNEL(result, name, parameters, arguments) \
  HEED_EXPORT_KERNEL(name)                               \
  template <class T>                                     \
  result name parameters {                               \
    return HEED_DISPATCH(name) arguments;                \
  }                                                      \
  HEED_INSTANTIATE(name)
