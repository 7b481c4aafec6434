// How fast the kernels are here: GFLOP/s of the products and ns per element of the loops.
//   cmake --build build --target bench_kernels && build/tests/benchmarks/bench_kernels [FILTER]
#include "tensor/kernels.h"

#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "base/error.h"

#include "tensor/gemm.h"

using namespace heed;

namespace {

std::string filter;

/// Processor time of this thread: other work on the machine disturbs it less than the clock on the wall.
double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Seconds of one call: the best of some rounds of a few milliseconds each.
double seconds_of(const std::function<void()>& call) {
  double best = 1e9;
  int repetitions = 1;
  for (int round = 0; round < 7;) {
    const double start = now();
    for (int i = 0; i < repetitions; ++i) call();
    const double seconds = now() - start;
    if (seconds < 4e-3 && round == 0) {
      repetitions *= 2;
      continue;
    }
    best = std::min(best, seconds / repetitions);
    ++round;
  }
  return best;
}

void report(const std::string& name, double work, const char* unit, const std::function<void()>& call) {
  if (name.find(filter) == std::string::npos) return;
  const double seconds = seconds_of(call);
  const bool flops = std::strcmp(unit, "GFLOP/s") == 0;
  std::printf("%-44s %9.2f us %8.2f %s\n", name.c_str(), seconds * 1e6,
              flops ? work / seconds * 1e-9 : seconds / work * 1e9, unit);
}

std::vector<float> numbers(std::int64_t count, std::uint64_t stream) {
  std::vector<float> x(count);
  Random random(1, stream);
  for (float& e : x) e = static_cast<float>(random.normal());
  return x;
}

void bench_gemm() {
  // From {1000, 2048, 512} on: of training with 1,000 tokens or 80 and d_model 512 and 128, forward, d x and d w.
  const std::int64_t shapes[][3] = {
      {1024, 1024, 1024}, {2048, 128, 128},  {2048, 384, 128},  {2048, 512, 128},  {2048, 128, 512},
      {256, 10000, 128},  {256, 128, 10000}, {10000, 128, 256}, {128, 512, 2048},  {2048, 512, 512},
      {80, 10000, 128},   {80, 128, 128},    {16, 128, 128},    {4, 512, 512},     {1, 512, 512},
      {16, 16, 32},       {1000, 2048, 512}, {1000, 512, 2048}, {512, 2048, 1000}, {1000, 512, 512},
      {512, 512, 1000},   {1000, 384, 128},  {1000, 128, 384},  {128, 384, 1000},  {80, 128, 10000},
      {128, 10000, 80}};
  for (const auto& [m, n, k] : shapes) {
    const auto a = numbers(m * k, 1), b = numbers(k * n, 2);
    std::vector<float> c(m * n);
    for (int transposed = 0; transposed < 3; ++transposed) {
      const Matrix<const float> left =
          transposed == 1 ? Matrix<const float>(a.data(), k, m).t() : Matrix<const float>(a.data(), m, k);
      const Matrix<const float> right =
          transposed == 2 ? Matrix<const float>(b.data(), n, k).t() : Matrix<const float>(b.data(), k, n);
      const char* kinds[] = {"A B", "A' B", "A B'"};
      for (const Precision precision : {Precision::float32, Precision::bfloat16})
        report(concat(precision == Precision::float32 ? "gemm " : "bfloat16 ", kinds[transposed], " ", m, " ",
                      n, " ", k),
               2.0 * m * n * k, "GFLOP/s",
               [&] { gemm(precision, left, right, 0.f, Matrix<float>(c.data(), m, n)); });
    }
  }
}

void bench_attention() {
  const std::int64_t shapes[][3] = {{5, 5, 32},   {16, 16, 32}, {20, 20, 32},   {33, 33, 32},
                                    {40, 40, 64}, {20, 20, 64}, {100, 100, 64}, {300, 300, 64}};
  for (const auto& [n, m, d] : shapes) {
    const std::int64_t stride = 12 * d;
    const auto packed = numbers(std::max(n, m) * stride, 1), d_context = numbers(n * stride, 2);
    std::vector<float> weights(n * m), context(n * stride), gradient(std::max(n, m) * stride);
    for (double p : {0.0, 0.1}) {
      AttentionHead<float> head;
      const Matrix<const float> rows(packed.data(), m, stride);
      head.q = rows.columns(0, d).row_range(0, n);
      head.k = rows.columns(4 * d, d);
      head.v = rows.columns(8 * d, d);
      head.scale = 0.2f;
      head.drop = make_dropout(p, 1, 2);
      const std::string shape = concat(n, " ", m, " ", d, p > 0 ? " dropout" : "");
      report("attend_forward " + shape, 4.0 * n * m * d, "GFLOP/s", [&] {
        attend_forward<float>(head, nullptr, weights.data(), Matrix<float>(context.data(), n, d, stride));
      });
      const Matrix<float> d_rows(gradient.data(), m, stride);
      report("attend_backward " + shape, 8.0 * n * m * d, "GFLOP/s", [&] {
        attend_backward<float>(head, weights.data(), Matrix<const float>(d_context.data(), n, d, stride),
                               d_rows.columns(0, d).row_range(0, n), d_rows.columns(4 * d, d),
                               d_rows.columns(8 * d, d));
      });
    }
    std::vector<std::int32_t> rows(static_cast<std::size_t>(m));
    std::iota(rows.begin(), rows.end(), 0);
    const Matrix<const float> cache(packed.data(), m, stride);
    report(concat("attend_cached ", m, " ", d), 4.0 * m * d, "GFLOP/s", [&] {
      attend_cached<float>(packed.data(), cache.columns(0, d), cache.columns(4 * d, d), rows, 1, 1, 0.2f,
                           nullptr, context.data());
    });
  }
}

void bench_rows() {
  for (std::int64_t d : {128, 512}) {
    const std::int64_t n = 256;
    const auto x = numbers(n * d, 1), sub = numbers(n * d, 2), ones = numbers(d, 3);
    std::vector<float> s(n * d), y(n * d), mean(n), rstd(n), d_gamma(d), d_beta(d);
    auto in = [&](const std::vector<float>& v) { return Matrix<const float>(v.data(), n, d); };
    auto out = [&](std::vector<float>& v) { return Matrix<float>(v.data(), n, d); };
    for (double p : {0.0, 0.1}) {
      const Dropout drop = make_dropout(p, 1, 2);
      const std::string shape = concat(n, " ", d, p > 0 ? " dropout" : "");
      report("add_layer_norm " + shape, n * d, "ns/element", [&] {
        add_layer_norm<float>(in(x), in(sub), drop, ones, ones, 1e-5f, out(s), out(y), mean, rstd);
      });
      report("bias_relu_dropout " + shape, n * d, "ns/element",
             [&] { bias_activation_dropout<float>(ones, Activation::relu, drop, out(y)); });
      report("bias_relu_dropout_backward " + shape, n * d, "ns/element", [&] {
        bias_activation_dropout_backward<float>(Activation::relu, drop, in(x), in(sub), out(y));
      });
    }
    report(concat("layer_norm_backward ", n, " ", d), n * d, "ns/element",
           [&] { layer_norm_backward<float>(in(x), mean, rstd, ones, in(sub), out(y), d_gamma, d_beta); });
    report(concat("sum_rows ", n, " ", d), n * d, "ns/element", [&] { sum_rows<float>(in(x), d_gamma); });
  }
}

void bench_softmax() {
  const std::int64_t n = 64, classes = 10000;
  const auto logits = numbers(n * classes, 1);
  std::vector<float> x = logits, values(n * 8);
  std::vector<std::int32_t> targets(n, 77), indices(n * 8);
  CrossEntropySums sums;
  report("cross_entropy gradient 64 10000", n * classes, "ns/element", [&] {
    cross_entropy_rows<float>(Matrix<float>(x.data(), n, classes), targets, 0.1, 1e-3f, true, sums);
  });
  x = logits;
  report("cross_entropy 64 10000", n * classes, "ns/element", [&] {
    cross_entropy_rows<float>(Matrix<float>(x.data(), n, classes), targets, 0.1, 1e-3f, false, sums);
  });
  report("log_softmax_top_8 64 10000", n * classes, "ns/element", [&] {
    log_softmax_top_k<float>(Matrix<const float>(x.data(), n, classes), 8, Matrix<float>(values.data(), n, 8),
                             Matrix<std::int32_t>(indices.data(), n, 8));
  });
  report("softmax_rows 64 10000", n * classes, "ns/element",
         [&] { softmax_rows(Matrix<float>(x.data(), n, classes)); });
}

void bench_flat() {
  const std::int64_t n = 100000;
  const auto x = numbers(n, 1);
  std::vector<float> y = x, p = x, m(n), v(n);
  for (auto [name, f] : {std::pair{"tanh", Activation::tanh}, {"sigmoid", Activation::sigmoid}})
    report(name, n, "ns/element", [&, f = f] { apply<float>(f, x, y); });
  report("dropout", n, "ns/element", [&] { dropout<float>(make_dropout(0.1, 1, 2), x, y); });
  report("add_to", n, "ns/element", [&] { add_to<float>(x, y); });
  AdamStep step;
  step.step_size = 1e-3;
  report("adam_update", n, "ns/element", [&] { adam_update<float>(step, p, x, m, v); });
  report("squared_norm", n, "ns/element", [&] { squared_norm<float>(x); });
  report("all_finite", n, "ns/element", [&] { all_finite<float>(x); });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1) filter = argv[1];
  bench_gemm();
  bench_attention();
  bench_rows();
  bench_softmax();
  bench_flat();
}
