#include "train/validation.h"

#include "base/parallel.h"
#include "train/gradients.h"

namespace heed {

Validator::Validator(const Model<float>& model, const ParallelCorpus& corpus, std::int64_t batch_tokens,
                     int threads)
    : model_(model), corpus_(corpus), batches_(make_validation_batches(corpus, batch_tokens)) {
  for (int i = 0; i < threads; ++i) tapes_.push_back(std::make_unique<Tape<float>>());
}

CrossEntropySums Validator::sums_of(const Batch& batch, Tape<float>& tape) const {
  const PackedTokens source = pack(corpus_.source, batch.shards.front());
  const PackedTokens target = pack(corpus_.target, batch.shards.front());
  tape.reset();
  Pass<float> pass;
  pass.tape = &tape;
  pass.parameters = &model_.parameters();
  const Var<float> input = model_.embed(pass, Side::source, source);
  const Var<float> memory = model_.encode(pass, input, source.rows, 0, model_.n_encoder_layers());
  const Var<float> states = model_.decode(pass, memory, source.rows, target);
  return model_.loss(pass, states, target, 0.0, 1.0f);
}

std::optional<ValidationScore> Validator::run(const std::atomic<bool>& stop) {
  std::vector<CrossEntropySums> parts(batches_.size());
  const auto lanes = static_cast<std::int64_t>(tapes_.size());
  parallel_for(lanes, static_cast<int>(lanes), [&](std::int64_t lane) {
    for (auto i = static_cast<std::size_t>(lane); i < batches_.size() && !stop; i += tapes_.size()) {
      parts[i] = sums_of(batches_[i], *tapes_[static_cast<std::size_t>(lane)]);
    }
  });
  if (stop) return std::nullopt;

  CrossEntropySums total;
  for (const CrossEntropySums& part : parts) add(part, total);
  const auto tokens = static_cast<double>(corpus_.target_tokens());
  return ValidationScore{total.nll / tokens, static_cast<double>(total.correct) / tokens};
}

}  // namespace heed
