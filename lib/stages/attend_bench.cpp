// Timing of attention without a model: `attend --bench`.
#include <time.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iomanip>
#include <optional>
#include <set>
#include <vector>

#include "attend/inputs.h"
#include "base/error.h"
#include "base/number.h"
#include "io/text_writer.h"
#include "stages/attend.h"
#include "tensor/philox.h"

namespace heed {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kSeconds = 0.1;  ///< each call is repeated until so much has passed
constexpr int kLeast = 5, kMost = 1000;

/// Milliseconds of wall time and of processor time; other work on the machine disturbs the latter less.
struct Times {
  double wall = 0, processors = 0;
};

double processor_seconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double median(std::vector<double> list) {
  const auto middle = list.begin() + static_cast<std::ptrdiff_t>(list.size() / 2);
  std::nth_element(list.begin(), middle, list.end());
  return *middle;
}

/// The median times of calls that take turns, so that a busy moment of the machine affects all of them.
std::vector<Times> medians(const std::vector<std::function<void()>>& calls) {
  std::vector<std::vector<double>> wall(calls.size()), processors(calls.size());
  for (const auto& call : calls) call();
  double total = 0;
  for (int round = 0; round < kMost && (round < kLeast || total < kSeconds); ++round) {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const auto start = Clock::now();
      const double busy = processor_seconds();
      calls[i]();
      processors[i].push_back(1000 * (processor_seconds() - busy));
      wall[i].push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
      total += wall[i].back() / 1000 / static_cast<double>(calls.size());
    }
  }
  std::vector<Times> result;
  for (std::size_t i = 0; i < calls.size(); ++i) result.push_back({median(wall[i]), median(processors[i])});
  return result;
}

/// Dot-product attention in place of `config`: on the tensors without projections, in one head if their
/// widths cannot be split into the requested heads. None if that is impossible: the widths differ, or a mask
/// or bias may belong to heads.
std::optional<AttendConfig> plain_dot(const AttendConfig& config, const AttendOperands& operands) {
  if (operands.query.tensor->shape().back() != operands.key.tensor->shape().back()) return std::nullopt;
  AttendConfig plain = config;
  plain.score = "dot";
  plain.parameters.clear();
  plain.qkv_order.clear();
  plain.out_in = false;
  plain.steps = false;
  const std::int64_t heads = config.heads, kv_heads = config.kv_heads ? config.kv_heads : heads;
  auto divides = [](std::int64_t count, const Operand& operand) {
    return without_layer(*operand.tensor).size() > 3 || operand.tensor->shape().back() % count == 0;
  };
  if (heads != kv_heads || !divides(heads, operands.query) || !divides(heads, operands.key) ||
      !divides(heads, operands.value)) {
    if (!operands.masks.empty() || operands.bias) return std::nullopt;
    plain.heads = 1;
    plain.kv_heads = 0;
  }
  return plain;
}

/// The rows of the table for these tensors.
void time_scores(const AttendConfig& config, std::int64_t seed, const AttendOperands& operands,
                 const std::set<int>& threads, io::TextWriter& output) {
  const Shape query = operands.query.tensor->shape(), key = operands.key.tensor->shape();
  std::vector<AttendConfig> configs;
  const std::optional<AttendConfig> dot = plain_dot(config, operands);
  if (dot) configs.push_back(*dot);
  if (configs.empty() || &score_function(config.score) != &score_function("dot") ||
      !config.parameters.empty())
    configs.push_back(config);
  for (const int count : threads) {
    std::vector<Attention> attentions;
    for (const AttendConfig& one : configs) attentions.emplace_back(one, seed);
    std::vector<std::function<void()>> calls;
    for (Attention& attention : attentions) {
      calls.push_back([&] { attention.run(operands, count, AttendResult::context); });
    }
    const std::vector<Times> times = medians(calls);
    for (std::size_t i = 0; i < times.size(); ++i) {
      output.write(concat(std::setw(7), query[query.size() - 2], std::setw(8), key[key.size() - 2],
                          std::setw(7), query.back(), "  ", std::left, std::setw(11), configs[i].score,
                          std::right, std::setw(8), count, std::setw(12), fixed(times[i].wall, 3),
                          std::setw(12), fixed(times[i].processors, 3), std::setw(8),
                          dot ? fixed(times[i].wall / times[0].wall, 2) : "-", "\n"));
    }
  }
}

constexpr const char* kHead = "      n       m      d  score       threads          ms      cpu ms   ratio\n";

}  // namespace

void bench_tensors(const AttendConfig& config, const AttendPaths& paths, int threads) {
  config.check();
  AttendInputs inputs(config, paths.input, paths.batch);
  AttendOperands operands;
  if (!inputs.next(operands)) fail("there are no tensors to attend over");
  io::TextWriter output(paths.output);
  output.write(kHead);
  time_scores(config, paths.seed, operands, {1, threads}, output);
  output.finish();
}

void bench_grid(const AttendConfig& config, const AttendPaths& paths, int threads) {
  config.check();
  io::TextWriter output(paths.output);
  output.write(kHead);
  for (const std::int64_t n : {16, 32, 64, 128, 256, 512, 1024}) {
    for (const std::int64_t d : {64, 128, 256, 512}) {
      Random random(static_cast<std::uint64_t>(paths.seed), static_cast<std::uint64_t>(n * d));
      std::vector<Tensor> tensors;
      for (int i = 0; i < 3; ++i) {
        std::vector<float> values(static_cast<std::size_t>(n * d));
        for (float& value : values) value = static_cast<float>(random.normal());
        tensors.push_back(Tensor::of<float>(std::move(values), {n, d}));
      }
      AttendOperands operands;
      operands.query = {"query", &tensors[0], "", nullptr};
      operands.key = {"key", &tensors[1], "", nullptr};
      operands.value = {"value", &tensors[2], "", nullptr};
      time_scores(config, paths.seed, operands, {1, threads}, output);
    }
  }
  output.finish();
}

}  // namespace heed
