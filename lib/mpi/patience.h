// How long a rank waits for the others before it considers one of them lost.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace heed {

class Patience {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Patience(Clock::duration least) : least_(least) {}

  /// A transfer begins, after `step` updates.
  void begin(Clock::time_point now, std::int64_t step) {
    // Exclude time within an update or spent otherwise between two, such as reading texts or a checkpoint.
    if (step == step_ + 1) longest_ = std::max(longest_, now - began_);
    began_ = now;
    step_ = step;
  }

  Clock::time_point began() const { return began_; }
  /// Ten times the longest update, but at least the requested time.
  Clock::duration length() const { return std::max(least_, 10 * longest_); }

 private:
  const Clock::duration least_;
  Clock::duration longest_{};  ///< from the last transfer of an update to the first of the next
  Clock::time_point began_{};
  std::int64_t step_ = -2;  ///< before the first transfer
};

}  // namespace heed
