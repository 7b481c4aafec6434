// exchange_alone: seconds that ranks take to sum the gradients of an update and to gather its parameters,
// without a model. The script `exchange` runs it.
//   mpirun -n 2 exchange_alone MEGABYTES ROUNDS     of the parameters; rank 0 prints the least of the rounds
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "train/launch.h"
#include "train/shard_tree.h"

using namespace heed;

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: exchange_alone MEGABYTES ROUNDS\n");
    return 2;
  }
  const std::size_t size = std::strtoull(argv[1], nullptr, 10) * 1'000'000 / sizeof(float);
  const std::shared_ptr<Exchange> joined = join_ranks(600);
  Exchange& exchange = joined ? *joined : alone();
  ShardSum gradients(Layout(size), 1, exchange);
  std::vector<float> parameters(size);
  double least = std::numeric_limits<double>::infinity();
  for (int round = std::atoi(argv[2]); round > 0; --round) {
    gradients.add(exchange.size(),
                  [](std::int64_t shard, float* sum) { sum[0] += static_cast<float>(shard); });
    meet(exchange);
    const auto start = std::chrono::steady_clock::now();
    gradients.finish();
    gradients.slices().all_gather(parameters);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    least = std::min(least, seconds.count());
    std::ranges::fill(gradients.slices().own(gradients.sum()), 0.0f);
  }
  if (exchange.rank() == 0) std::printf("%.4f\n", least);
}
