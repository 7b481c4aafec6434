#include "base/simd_level.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/error.h"

#if defined(__x86_64__)
#include <asm/prctl.h>
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace heed {
namespace {

#if defined(__x86_64__)
/// Whether there are tiles, and the system grants this process their registers: Linux does from 5.16 on, to those that ask.
/// From then on it refuses stacks for signals that are too small for them (about 11 KB).
bool gets_tiles() {
  if (!__builtin_cpu_supports("avx512vnni") || !__builtin_cpu_supports("avx512bf16")) return false;
  constexpr unsigned tiles_of_bfloat16 = 1u << 22, tiles = 1u << 24, tiles_of_int8 = 1u << 25,
                     all = tiles_of_bfloat16 | tiles | tiles_of_int8;
  unsigned eax, ebx, ecx, edx;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || (edx & all) != all) return false;
  constexpr long tile_data = 18;  // its place in the state that XSAVE saves
  return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, tile_data) == 0;
}
#endif

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
  return gets_tiles() ? SimdLevel::amx : SimdLevel::avx512;
#else
  return SimdLevel::plain;
#endif
}

SimdLevel level = of_processor();

}  // namespace

SimdLevel simd_level() {
  return level;
}

void limit_simd(std::string_view name) {
  constexpr std::string_view names[] = {"plain", "sse4", "avx2", "avx512", "amx"};
  const auto* const found = std::ranges::find(names, name);
  if (found == std::end(names))
    fail("HEED_SIMD: got '", std::string(name), "', wanted amx, avx512, avx2, sse4 or plain");
  level = std::min(level, static_cast<SimdLevel>(found - names));
}

}  // namespace heed
