// Central differences in double against the tape, every element; in the build with the sanitizers, which
// looks for bad accesses and is many times slower, every 17th.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <span>
#include <string>

#include "tensor/philox.h"

namespace heed::test {

/// Numbers of about unit size that differ from test to test by `stream`.
inline std::vector<double> random_values(std::int64_t count, std::uint64_t stream) {
  Random random(7, stream);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& v : values) v = random.normal();
  return values;
}

#ifdef __SANITIZE_ADDRESS__
inline constexpr std::size_t kEvery = 17;
#else
inline constexpr std::size_t kEvery = 1;
#endif

/// Checks `gradient` against central differences of `loss` with respect to `x`, which `loss` reads.
inline void check_gradient(const std::string& name, std::span<double> x, std::span<const double> gradient,
                           const std::function<double()>& loss) {
  constexpr double kStep = 1e-6, kAbsolute = 2e-8, kRelative = 1e-6;
  double largest = 0;
  for (double d : gradient) largest = std::max(largest, std::abs(d));
  for (std::size_t i = 0; i < x.size(); i += kEvery) {
    const double kept = x[i];
    x[i] = kept + kStep;
    const double above = loss();
    x[i] = kept - kStep;
    const double below = loss();
    x[i] = kept;
    const double numeric = (above - below) / (2 * kStep);
    BOOST_TEST_INFO(name << " element " << i << ": tape " << gradient[i] << ", difference " << numeric);
    BOOST_CHECK_LE(std::abs(numeric - gradient[i]), kAbsolute + kRelative * std::abs(numeric));
  }
  BOOST_TEST_INFO(name << ": the gradient is zero everywhere, so nothing was checked");
  BOOST_CHECK_GT(largest, 1e-6);
}

}  // namespace heed::test
