#include "train/gradients.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#ifdef __FAST_MATH__
#error "heed must not be compiled with -ffast-math: it removes the tests for NaN that stop a diverged run"
#endif

namespace heed {

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Notes the first value of a forward pass that is not finite.
class FiniteCheck final : public Recorder<float> {
 public:
  std::string first;

  bool wants(const std::string&) const override { return first.empty(); }
  void record(const std::string& name, Matrix<const float> value, std::span<const Place>,
              const RowKind&) override {
    for (std::int64_t i = 0; i < value.rows && first.empty(); ++i) {
      if (!all_finite<float>({value.row(i), static_cast<std::size_t>(value.cols)})) first = name;
    }
  }
  void record_attention(const std::string& name, std::span<const float> row, const Place&, std::int64_t,
                        const AttentionKind&) override {
    if (name.ends_with("weights") && !all_finite(row)) first = name;  // masked scores are infinite
  }
};

std::string first_bad_parameter(const ParameterSet<float>& parameters, std::span<const float> flat) {
  for (const Parameter& p : parameters.list()) {
    const Matrix<const float> values = p.in(flat.data());
    for (std::int64_t row = 0; row < values.rows; ++row) {
      if (!all_finite<float>({values.row(row), static_cast<std::size_t>(values.cols)})) return p.name;
    }
  }
  return "";
}

std::int64_t sentences_of(const Batch& batch) {
  std::size_t count = 0;
  for (const auto& shard : batch.shards) count += shard.size();
  return static_cast<std::int64_t>(count);
}

}  // namespace

IdentityField sum_identity(std::int64_t shards) {
  return {"sum", "tree", shards <= 3,
          concat("the gradients of ", shards,
                 " shards were summed from left to right then, now by a tree, so the run cannot go on to the "
                 "bit: go on "
                 "with the version that began it, or with --init-from the model in this file")};
}

std::int64_t predictions(const Objective& objective, const Corpus& corpus, const Batch& batch) {
  std::int64_t count = 0;
  for (const auto& shard : batch.shards) {
    for (const std::int64_t i : shard) count += objective.predictions(corpus, i);
  }
  return count;
}

void add(const CrossEntropySums& part, CrossEntropySums& total) {
  total.loss += part.loss;
  total.nll += part.nll;
  total.correct += part.correct;
}

Gradients::Gradients(const Model<float>& model, const Objective& objective, const Corpus& corpus, int threads,
                     std::uint64_t seed, const TrainConfig& config, bool times_ops)
    : model_(model),
      objective_(objective),
      corpus_(corpus),
      seed_(seed),
      label_smoothing_(config.label_smoothing),
      mean_over_(kMeansOver(config.mean_over)),
      sum_(model.parameters.values().size(), threads),
      times_ops_(times_ops) {}

CrossEntropySums Gradients::compute_shard(const Batch& batch, std::int64_t shard, std::int64_t step,
                                          float* gradient, Recorder<float>* recorder) {
  const std::vector<std::int64_t>& sentences = batch.shards[static_cast<std::size_t>(shard)];
  if (sentences.empty()) return {};
  const TapePool::Lease lease = tapes_.lease();
  Tape<float>& tape = *lease;
  tape.set_with_gradients(true);
  OpTimes times;
  times.start();
  tape.set_op_times(times_ops_ ? &times : nullptr);
  Pass<float> pass(tape, model_.parameters);
  pass.gradients = gradient;
  pass.training = true;
  pass.seed = seed_;
  pass.step = static_cast<std::uint64_t>(step);
  pass.shard = static_cast<std::uint64_t>(shard);
  pass.recorder = recorder;

  const std::int64_t terms = mean_over_ == MeanOver::sentences ? sentences_of(batch) : predictions_;
  const float scale = 1.0f / static_cast<float>(std::max<std::int64_t>(terms, 1));
  const CrossEntropySums sums =
      objective_.forward(pass, corpus_, sentences, label_smoothing_, scale, baseline_);
  tape.backward();
  tape.set_op_times(nullptr);  // the tape outlives them
  if (times_ops_) {
    const std::lock_guard lock(op_times_mutex_);
    op_times_.add(times);
  }
  return sums;
}

CrossEntropySums Gradients::compute(const Batch& batch, std::int64_t step, double baseline) {
  baseline_ = baseline;
  predictions_ = heed::predictions(objective_, corpus_, batch);
  const auto start = std::chrono::steady_clock::now();
  std::vector<CrossEntropySums> parts(batch.shards.size());
  sum_.add(static_cast<std::int64_t>(parts.size()), [&](std::int64_t shard, float* gradient) {
    parts[static_cast<std::size_t>(shard)] = compute_shard(batch, shard, step, gradient);
  });
  CrossEntropySums total;
  for (const CrossEntropySums& part : parts) add(part, total);
  seconds_.shards += seconds_since(start);

  const auto sum_start = std::chrono::steady_clock::now();
  norm_ = sum_.finish();
  seconds_.sum += seconds_since(sum_start);
  return total;
}

std::string Gradients::first_not_finite(const Batch& batch, std::int64_t step) {
  const std::string parameter = first_bad_parameter(model_.parameters, model_.parameters.values());
  if (!parameter.empty()) return "parameter " + parameter;
  const std::string gradient = first_bad_parameter(model_.parameters, flat());
  FiniteCheck check;
  for (std::size_t shard = 0; shard < batch.shards.size() && check.first.empty(); ++shard) {
    compute_shard(batch, static_cast<std::int64_t>(shard), step, flat().data(), &check);
  }
  if (!check.first.empty()) return check.first;
  return gradient.empty() ? "" : "the gradient of " + gradient;
}

}  // namespace heed
