// attention_alone: seconds that the attention operation takes, without projections. The script `compare` sets
// PyTorch beside it.
//   attention_alone BATCH HEADS LENGTH WIDTH THREADS     width of a head; prints JSON
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "autograd/ops.h"
#include "base/parallel.h"
#include "tensor/sample_stream.h"

using namespace heed;

namespace {

double seconds_of(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Queries, keys and values, or their gradients: [batch * length, heads * width] each, as projections lay
/// them.
using Inputs = std::vector<float>;

/// Sentences, or where there are fewer than threads the heads of each, are computed side by side, each on a
/// tape of its own.
class Attention {
 public:
  Attention(std::int64_t batch, std::int64_t heads, std::int64_t length, std::int64_t width, int threads)
      : batch_(batch), heads_(heads), length_(length), width_(width), threads_(threads) {
    rows_.append(length);
    Random random(1, 1);
    for (int i = 0; i < 3; ++i) {
      Inputs x(static_cast<std::size_t>(batch * length * heads * width));
      for (float& e : x) e = static_cast<float>(random.normal());
      gradients_.emplace_back(x.size());
      inputs_.push_back(std::move(x));
    }
    parts_ = batch < threads ? heads : 1;
    for (std::int64_t i = 0; i < batch * parts_; ++i) tapes_.push_back(std::make_unique<Tape<float>>());
  }

  void run(bool both) {
    parallel_for(std::ssize(tapes_), threads_, [&](std::int64_t task) {
      Tape<float>& tape = *tapes_[static_cast<std::size_t>(task)];
      tape.reset();
      tape.set_with_gradients(both);
      AttentionOptions options;
      options.n_heads = heads_ / parts_;
      options.scale = 0.125;
      std::vector<Var<float>> in;
      for (std::size_t i = 0; i < 3; ++i)
        in.push_back(tape.leaf(part(inputs_[i], task), part(gradients_[i], task)));
      const Var<float> y = attention(in[0], in[1], in[2], rows_, rows_, options).context;
      if (both) tape.backward(y);
    });
  }

 private:
  Matrix<float> part(Inputs& x, std::int64_t task) const {
    const std::int64_t columns = heads_ / parts_ * width_;
    return Matrix<float>(x.data(), batch_ * length_, heads_ * width_)
        .row_range(task / parts_ * length_, length_)
        .columns(task % parts_ * columns, columns);
  }

  std::int64_t batch_, heads_, length_, width_, parts_;
  int threads_;
  Packing rows_;
  std::vector<Inputs> inputs_, gradients_;
  std::vector<std::unique_ptr<Tape<float>>> tapes_;
};

void measure(const char* name, Attention& attention, bool both) {
  attention.run(both);
  int passes = 0;
  const double start = seconds_of(CLOCK_MONOTONIC), cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  double spent = 0;
  for (; spent < 0.5; ++passes) {
    attention.run(both);
    spent = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  }
  std::printf("\"%s\": {\"seconds\": %g, \"cpu\": %g}", name, (seconds_of(CLOCK_MONOTONIC) - start) / passes,
              spent / passes);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return std::fprintf(stderr, "attention_alone BATCH HEADS LENGTH WIDTH THREADS\n"), 2;
  Attention attention(std::atoll(argv[1]), std::atoll(argv[2]), std::atoll(argv[3]), std::atoll(argv[4]),
                      std::atoi(argv[5]));
  std::printf("{");
  measure("forward", attention, false);
  std::printf(", ");
  measure("both", attention, true);
  std::printf("}\n");
}
