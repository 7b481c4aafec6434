#include "train/validation.h"

#include "base/parallel.h"
#include "train/gradients.h"

namespace heed {

Validator::Validator(const Model<float>& model, const Objective& objective, const Corpus& corpus,
                     std::int64_t batch_tokens, int threads, Exchange& exchange)
    : model_(model),
      objective_(objective),
      corpus_(corpus),
      batches_(make_validation_batches(corpus, batch_tokens)),
      threads_(threads),
      exchange_(exchange) {
  for (const Batch& batch : batches_) predictions_ += predictions(objective_, corpus_, batch);
}

CrossEntropySums Validator::sums_of(const Batch& batch) {
  const TapePool::Lease tape = tapes_.lease();
  Pass<float> pass(*tape, model_.parameters);
  return objective_.forward(pass, corpus_, batch.shards.front(), 0.0, 1.0f);
}

std::optional<ValidationScore> Validator::run(const std::atomic<bool>& stop) {
  std::vector<CrossEntropySums> parts(batches_.size());
  const Cuts cuts = even_cuts(parts.size(), exchange_.size());
  const auto me = static_cast<std::size_t>(exchange_.rank());
  parallel_for(static_cast<std::int64_t>(cuts[me + 1] - cuts[me]), threads_, [&](std::int64_t i) {
    const std::size_t index = cuts[me] + static_cast<std::size_t>(i);
    if (!stop) parts[index] = sums_of(batches_[index]);
  });
  if (agree(exchange_, {.stop = stop}).stop) return std::nullopt;

  all_gather(exchange_, std::span(parts), cuts);
  CrossEntropySums total;
  for (const CrossEntropySums& part : parts) add(part, total);
  const auto terms = static_cast<double>(predictions_);
  return ValidationScore{total.nll / terms, static_cast<double>(total.correct) / terms};
}

}  // namespace heed
