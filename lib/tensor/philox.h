// Counter-based random numbers: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy
// as 1, 2, 3; SC 2011). A number is a function of (seed, stream, counter) and of nothing else, so dropout
// needs no stored masks, results do not depend on the number of threads, and a resumed run continues exactly.
#pragma once

#include <array>
#include <cstdint>

namespace heed {

/// The 128 random bits of block `counter` of stream `stream`.
std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t counter);

/// Consecutive draws from one stream.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}
  std::uint32_t bits();
  double uniform();                          ///< in [0, 1), 53 bits
  double normal();                           ///< mean 0, variance 1 (Box-Muller)
  std::uint64_t below(std::uint64_t bound);  ///< in [0, bound), without bias; bound > 0

 private:
  std::uint64_t seed_, stream_, counter_ = 0;
  std::array<std::uint32_t, 4> block_{};
  int used_ = 4;
};

/// Dropout: element i of the tensor is kept when its 16 random bits are >= threshold, and then scaled by
/// 1 / (1 - threshold / 65536). Elements are counted row-major within the tensor; `stream`
/// distinguishes the operation, step and shard.
struct Dropout {
  std::uint32_t threshold = 0;  ///< round(p * 65536); 0: keep everything
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;

  bool active() const { return threshold != 0; }
  double scale() const { return 65536.0 / (65536.0 - threshold); }
};

/// Throws UsageError unless 0 <= p < 1.
Dropout make_dropout(double p, std::uint64_t seed, std::uint64_t stream);

}  // namespace heed
