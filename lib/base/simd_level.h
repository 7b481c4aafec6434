// Which instruction set the kernels run on. Highway's own library would answer that, too, but it measures the
// processor's timer whenever it is loaded, which takes longer than all else that a tool does before it reads:
// of Highway only headers are used.
#pragma once

#include <algorithm>
#include <string_view>

namespace heed {

/// amx: AVX-512 with its instructions for int8 and bfloat16, and tiles of both.
enum class SimdLevel { plain, sse4, avx2, avx512, amx };

/// The best that this processor and its system have, or less by limit_simd().
SimdLevel simd_level();

/// Limits the kernels to level `name`, as on a processor with nothing better. Call it before any kernel runs. Throws
/// Error for an unknown name.
void limit_simd(std::string_view name);

/// One kernel, compiled for each level up to AVX-512; null: not compiled for that. Plain is always there.
template <class Function>
struct KernelVersions {
  Function by_level[4];

  Function best() const {
    int level = static_cast<int>(std::min(simd_level(), SimdLevel::avx512));
    while (!by_level[level]) --level;
    return by_level[level];
  }
};

}  // namespace heed
