#include "tensor/simd_level.h"

#include <algorithm>

namespace heed {
namespace {

/// What the attributes of Highway's targets ask for (hwy/ops/set_macros-inl.h). F16C, which not every compiler knows here,
/// comes with AVX2.
SimdLevel of_processor() {
#if defined(__x86_64__)
  __builtin_cpu_init();  // this may run before the constructor that does it
  if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("aes") ||
      !__builtin_cpu_supports("pclmul"))
    return SimdLevel::plain;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") || !__builtin_cpu_supports("bmi") ||
      !__builtin_cpu_supports("bmi2"))
    return SimdLevel::sse4;
  if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl"))
    return SimdLevel::avx2;
  return SimdLevel::avx512;
#else
  return SimdLevel::plain;
#endif
}

SimdLevel level = of_processor();

}  // namespace

SimdLevel simd_level() {
  return level;
}

void limit_simd(SimdLevel most) {
  level = std::min(level, most);
}

}  // namespace heed
