#include "train/gradients.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "base/digest.h"
#include "base/log.h"
#include "train/ranges.h"

#ifdef __FAST_MATH__
#error "heed must not be compiled with -ffast-math: it removes the tests for NaN that stop a diverged run"
#endif

namespace heed {

namespace {

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

/// Identifies a batch.
std::uint64_t hash_of(const Batch& batch) {
  std::uint64_t h = hash_step(kHashStart, static_cast<std::uint64_t>(batch.tokens));
  for (const auto& shard : batch.shards) {
    h = hash_step(h, shard.size());
    for (const std::int64_t i : shard) h = hash_step(h, static_cast<std::uint64_t>(i));
  }
  return h;
}

std::uint64_t bits_of(Wishes wishes) {
  return std::uint64_t{wishes.stop} | std::uint64_t{wishes.time_is_up} << 1 |
         std::uint64_t{wishes.checkpoint} << 2;
}

Wishes wishes_of(std::uint64_t bits) {
  return {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
}

}  // namespace

Wishes agree(Exchange& exchange, Wishes own) {
  const auto ranks = static_cast<std::size_t>(exchange.size());
  std::vector<std::uint64_t> bits(ranks);
  bits[static_cast<std::size_t>(exchange.rank())] = bits_of(own);
  all_gather(exchange, std::span(bits), even_cuts(ranks, exchange.size()));
  std::uint64_t any = 0;
  for (const std::uint64_t b : bits) any |= b;
  return wishes_of(any);
}

IdentityField sum_identity(std::int64_t shards) {
  return {"sum", "tree", shards <= 3,
          concat("the gradients of ", shards,
                 " shards were summed from left to right then, now by a tree, so the run cannot go on to the "
                 "bit: go on with the version that began it, or with --init-from the model in this file")};
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
                     std::uint64_t seed, const TrainConfig& config, bool times_ops, Exchange& exchange)
    : model_(model),
      objective_(objective),
      corpus_(corpus),
      seed_(seed),
      label_smoothing_(config.label_smoothing),
      mean_over_(kMeansOver(config.mean_over)),
      precision_(kTrainPrecisions(config.precision)),
      exchange_(exchange),
      sum_(Layout(model.parameters), threads, exchange),
      times_ops_(times_ops) {}

CrossEntropySums Gradients::compute_shard(const Batch& batch, std::int64_t shard, std::int64_t step,
                                          float* gradient, Recorder<float>* recorder) {
  const std::vector<std::int64_t>& sentences = batch.shards[static_cast<std::size_t>(shard)];
  if (sentences.empty()) return {};
  const TapePool::Lease lease = tapes_.lease();
  Tape<float>& tape = *lease;
  tape.set_with_gradients(true);
  tape.set_precision(precision_);
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

CrossEntropySums Gradients::compute(const Batch& batch, std::int64_t step, double baseline,
                                    const std::function<Wishes()>& own_wishes) {
  baseline_ = baseline;
  predictions_ = heed::predictions(objective_, corpus_, batch);
  const auto start = std::chrono::steady_clock::now();
  std::vector<CrossEntropySums> parts(batch.shards.size());
  sum_.add(static_cast<std::int64_t>(parts.size()), [&](std::int64_t shard, float* gradient) {
    parts[static_cast<std::size_t>(shard)] = compute_shard(batch, shard, step, gradient);
  });
  seconds_.shards += logging::seconds_since(start);

  const auto sum_start = std::chrono::steady_clock::now();
  const std::vector<double>& squares = sum_.finish();
  wishes_ = own_wishes ? own_wishes() : Wishes{};
  if (exchange_.size() > 1)
    exchange_record(hash_of(batch), step, parts, squares);
  else
    norm_ = norm_of(squares);
  CrossEntropySums total;
  for (const CrossEntropySums& part : parts) add(part, total);
  seconds_.sum += logging::seconds_since(sum_start);
  return total;
}

void Gradients::exchange_record(std::uint64_t batch, std::int64_t step, std::vector<CrossEntropySums>& parts,
                                std::span<const double> squares) {
  constexpr std::size_t head = 3, per_shard = 3;  // words
  const int ranks = exchange_.size();
  const auto shards = static_cast<std::int64_t>(parts.size());
  const Cuts& slices = sum_.slices().cuts();
  Cuts cuts{0};
  for (int rank = 0; rank < ranks; ++rank) {
    const ShardRange block = block_of(shards, rank, ranks);
    const auto r = static_cast<std::size_t>(rank);
    const std::int64_t ranges = range_count(static_cast<std::int64_t>(slices[r + 1] - slices[r]));
    cuts.push_back(cuts.back() + head + per_shard * static_cast<std::size_t>(block.end - block.first) +
                   static_cast<std::size_t>(ranges));
  }
  std::vector<std::uint64_t> words(cuts.back());
  const auto number = [](std::uint64_t word) { return std::bit_cast<double>(word); };
  const auto word = [](double x) { return std::bit_cast<std::uint64_t>(x); };

  std::uint64_t* out = words.data() + cuts[static_cast<std::size_t>(exchange_.rank())];
  *out++ = static_cast<std::uint64_t>(step);
  *out++ = batch;
  *out++ = bits_of(wishes_);
  const ShardRange own = block_of(shards, exchange_.rank(), ranks);
  for (std::int64_t shard = own.first; shard < own.end; ++shard) {
    const CrossEntropySums& part = parts[static_cast<std::size_t>(shard)];
    *out++ = word(part.loss);
    *out++ = word(part.nll);
    *out++ = static_cast<std::uint64_t>(part.correct);
  }
  for (const double s : squares) *out++ = word(s);

  all_gather(exchange_, std::span(words), cuts);

  std::uint64_t any = 0;
  std::vector<double> all_squares;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    const std::uint64_t* in = words.data() + cuts[r];
    const std::uint64_t* const end = words.data() + cuts[r + 1];
    if (in[0] != words[0] || in[1] != words[1]) {
      fail_together(exchange_, "rank ", name_of(exchange_, rank), " is at update ", in[0],
                    in[0] == words[0] ? ", with another batch than" : ", not at " + std::to_string(words[0]),
                    in[0] == words[0] ? "" : ", as", " rank ", name_of(exchange_, 0),
                    ": the ranks no longer train the same run; go on with --resume");
    }
    any |= in[2];
    in += head;
    const ShardRange block = block_of(shards, rank, ranks);
    for (std::int64_t shard = block.first; shard < block.end; ++shard, in += per_shard)
      parts[static_cast<std::size_t>(shard)] = {number(in[0]), number(in[1]),
                                                static_cast<std::int64_t>(in[2])};
    while (in < end) all_squares.push_back(number(*in++));
  }
  wishes_ = wishes_of(any);
  norm_ = norm_of(all_squares);
}

std::string Gradients::first_not_finite(const Batch& batch, std::int64_t step) {
  const std::string parameter = first_bad_parameter(model_.parameters, model_.parameters.values());
  if (!parameter.empty()) return "parameter " + parameter;
  const std::string gradient = first_bad_parameter(model_.parameters, flat());
  FiniteCheck check;
  const ShardRange own =
      block_of(static_cast<std::int64_t>(batch.shards.size()), exchange_.rank(), exchange_.size());
  for (std::int64_t shard = own.first; shard < own.end && check.first.empty(); ++shard)
    compute_shard(batch, shard, step, flat().data(), &check);
  // Ranks have consecutive shards and slices, so the first rank with a finding has the first one.
  for (const std::string& value : all(exchange_, check.first))
    if (!value.empty()) return value;
  for (const std::string& name : all(exchange_, gradient))
    if (!name.empty()) return "the gradient of " + name;
  return "";
}

std::string arithmetic_digest(const Model<float>& model, const Objective& objective, const Corpus& corpus,
                              const Batch& batch, int threads, std::uint64_t seed,
                              const TrainConfig& config) {
  Gradients gradients(model, objective, corpus, threads, seed, config);
  const CrossEntropySums sums = gradients.compute(batch, 1);
  std::uint64_t h = hash_step(kHashStart, std::bit_cast<std::uint64_t>(sums.loss));
  for (const float g : gradients.flat()) h = hash_step(h, std::bit_cast<std::uint32_t>(g));
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(h));
  return digits;
}

}  // namespace heed
