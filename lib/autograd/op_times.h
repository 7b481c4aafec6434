// Where the time of passes goes, by operation.
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

  /// A pass begins, or what comes next belongs to no operation.
  void start();
  /// What was computed since start() or the last end() was this operation's; `function` as std::source_location has it.
  void end(const char* function, bool backward, double bytes);
  void add(const OpTimes& other);
  /// The longest first.
  std::vector<Row> rows() const;

 private:
  std::map<std::pair<const char*, bool>, Row> rows_;
  std::chrono::steady_clock::time_point since_;
  double flops_ = 0;  ///< the thread's at that time
};

}  // namespace heed
