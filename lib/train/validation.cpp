#include "train/validation.h"

#include "base/parallel.h"
#include "train/gradients.h"

namespace heed {

Validator::Validator(const Model<float>& model, const ParallelCorpus& corpus, std::int64_t batch_tokens,
                     int threads)
    : model_(model),
      corpus_(corpus),
      batches_(make_validation_batches(corpus, batch_tokens)),
      threads_(threads) {}

CrossEntropySums Validator::sums_of(const Batch& batch) {
  const PackedTokens source = pack(corpus_.source, batch.shards.front());
  const PackedTokens target = pack(corpus_.target, batch.shards.front());
  const TapePool::Lease tape = tapes_.lease();
  Pass<float> pass;
  pass.tape = &*tape;
  pass.parameters = &model_.parameters;
  const Var<float> states = model_.decode(pass, model_.encode(pass, source), target);
  return model_.loss(pass, states, target, 0.0, 1.0f);
}

std::optional<ValidationScore> Validator::run(const std::atomic<bool>& stop) {
  std::vector<CrossEntropySums> parts(batches_.size());
  parallel_for(static_cast<std::int64_t>(batches_.size()), threads_, [&](std::int64_t batch) {
    const auto index = static_cast<std::size_t>(batch);
    if (!stop) parts[index] = sums_of(batches_[index]);
  });
  if (stop) return std::nullopt;

  CrossEntropySums total;
  for (const CrossEntropySums& part : parts) add(part, total);
  const auto tokens = static_cast<double>(corpus_.target_tokens());
  return ValidationScore{total.nll / tokens, static_cast<double>(total.correct) / tokens};
}

}  // namespace heed
