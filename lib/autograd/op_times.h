// The time of passes by operation.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace heed {

class OpTimes {
 public:
  struct Row {
    std::string op;  ///< "linear", "linear, backward"
    double seconds = 0;
    double flops = 0;  ///< of its matrix products
    double bytes = 0;  ///< of its results, or of their gradients
    std::int64_t calls = 0;
  };

  /// Marks the start of a pass, or of time that belongs to no operation.
  void start();
  /// Attributes the time since start() or the last end() to this operation; `function` as in
  /// std::source_location.
  void end(const char* function, bool backward, double bytes);
  void add(const OpTimes& other);
  /// Sorted by time, longest first.
  std::vector<Row> rows() const;

 private:
  std::map<std::pair<const char*, bool>, Row> rows_;
  std::chrono::steady_clock::time_point since_;
  double flops_ = 0;  ///< the thread's counter at that time
};

}  // namespace heed
