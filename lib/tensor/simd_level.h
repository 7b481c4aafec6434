// Which instruction set the kernels run on. Highway's own library would answer that, too, but it measures the
// processor's timer whenever it is loaded, which takes longer than all else that a tool does before it reads:
// of Highway only headers are used.
#pragma once

namespace heed {

enum class SimdLevel { plain, sse4, avx2, avx512 };

/// The best that this processor and its system have, or less by limit_simd().
SimdLevel simd_level();

/// For tests, before any kernel runs: as on a processor that has no more than that.
void limit_simd(SimdLevel most);

/// One kernel, compiled for each level; null: not compiled for that. Plain is always there.
template <class Function>
struct KernelVersions {
  Function by_level[4];

  Function best() const {
    int level = static_cast<int>(simd_level());
    while (!by_level[level]) --level;
    return by_level[level];
  }
};

}  // namespace heed
