#include "stages/op_report.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <new>
#include <vector>

#include "base/log.h"
#include "tensor/gemm.h"

namespace heed {

namespace {

/// GFLOP/s of one thread, of a large matrix product.
double product_speed() {
  constexpr std::int64_t n = 512;
  constexpr int repetitions = 16;
  const std::vector<float> a(n * n, 0.5f);
  std::vector<float> c(n * n);
  const Matrix<const float> in(a.data(), n, n);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repetitions; ++i) gemm<float>(1, in, in, 0, Matrix<float>(c.data(), n, n));
  return 2e-9 * n * n * n * repetitions / logging::seconds_since(start);
}

/// GB/s of one thread that copies memory, read and written counted.
double copy_speed() {
  constexpr int repetitions = 16;
  const std::vector<float> a(std::size_t{1} << 22, 0.5f);  // beyond the caches
  std::vector<float> c(a.size());
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repetitions; ++i) std::copy(a.begin(), a.end(), c.begin());
  return 2e-9 * repetitions * static_cast<double>(a.size() * sizeof(float)) / logging::seconds_since(start);
}

}  // namespace

void note_op_times(const OpTimes& times) {
  const std::vector<OpTimes::Row> rows = times.rows();
  if (rows.empty()) return;
  double total = 1e-9;
  for (const OpTimes::Row& row : rows) total += row.seconds;
  const auto line = [](const std::string& op, const char* format, auto... numbers) {
    char text[96];
    std::snprintf(text, sizeof text, format, numbers...);
    logging::verbose(op + std::string(op.size() < 34 ? 34 - op.size() : 1, ' ') + text);
  };
  logging::verbose("operation                           seconds  share    calls  GFLOP/s  GB/s of results");
  for (const OpTimes::Row& row : rows) {
    if (row.seconds < total / 100) break;
    const double seconds = std::max(row.seconds, 1e-9);
    line(row.op, " %8.2f %5.1f%% %8lld %8.1f %8.2f", row.seconds, 100 * row.seconds / total,
         static_cast<long long>(row.calls), 1e-9 * row.flops / seconds, 1e-9 * row.bytes / seconds);
  }
  try {
    line("one thread of this machine reaches", " %25s %8.1f %8.2f", "", product_speed(), copy_speed());
  } catch (const std::bad_alloc&) {
    logging::verbose("one thread of this machine: not measured, there is no memory for it");
  }
}

}  // namespace heed
