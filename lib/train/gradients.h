// The gradient of one batch: each logical shard on its own tape, and the shards summed by a fixed binary tree. The numbers
// of threads and ranks decide only where a shard is computed, and change no bit.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "autograd/op_times.h"
#include "models/model.h"
#include "train/batching.h"
#include "train/checkpoint.h"
#include "train/objective.h"
#include "train/shard_tree.h"
#include "train/tape_pool.h"
#include "train/train_config.h"

namespace heed {

struct PhaseSeconds {
  double shards = 0;  ///< forward and backward
  double sum = 0;     ///< adding up the shards' gradients
  double update = 0;  ///< optimizer
};

/// What a rank wants of the run. What one wants, all do after the same update.
struct Wishes {
  bool stop = false;        ///< save and end
  bool time_is_up = false;  ///< of rank 0, whose clock is that of the run
  bool checkpoint = false;  ///< likewise
};
/// What any rank wants.
Wishes agree(Exchange& exchange, Wishes own);

class Gradients {
 public:
  /// `model`, `corpus` and `exchange` must outlive this.
  Gradients(const Model<float>& model, const Objective& objective, const Corpus& corpus, int threads,
            std::uint64_t seed, const TrainConfig& config, bool times_ops = false,
            Exchange& exchange = alone());

  /// Computes the gradient of the mean loss over what is predicted, or sentences (config.mean_over), of
  /// `batch`, dropout as in update `step`. `baseline`: as Decoded::extra_loss takes it. `own_wishes` is asked when the
  /// shards are done. Throws Error, on all ranks alike, when they are not at the same batch.
  CrossEntropySums compute(const Batch& batch, std::int64_t step, double baseline = 0,
                           const std::function<Wishes()>& own_wishes = {});
  /// Of all ranks in that update.
  const Wishes& wishes() const { return wishes_; }

  /// How many predictions the loss of compute()'s batch is a sum of.
  std::int64_t predictions() const { return predictions_; }
  /// Sum over the shards, of this rank's slice; elsewhere zero. Valid after compute(). The optimizer's
  /// apply() sets it to zero again.
  std::span<float> flat() { return sum_.sum(); }
  /// Of this and of all that has the parameters' layout.
  Slices& slices() { return sum_.slices(); }
  /// Of the whole gradient.
  double norm() const { return norm_; }
  /// Where NaN or infinity first appeared in the update that compute() just did: a parameter, a named value of
  /// the forward pass, which is repeated for this, or a parameter's gradient; empty: nowhere. The same on all ranks.
  std::string first_not_finite(const Batch& batch, std::int64_t step);

  const PhaseSeconds& seconds() const { return seconds_; }
  /// Of forward and backward, over all threads; without `times_ops` empty.
  const OpTimes& op_times() const { return op_times_; }

 private:
  /// Adds the shard's gradient to `gradient`.
  CrossEntropySums compute_shard(const Batch& batch, std::int64_t shard, std::int64_t step, float* gradient,
                                 Recorder<float>* recorder = nullptr);
  /// Tells all ranks this one's wishes, `parts` of its shards and squares of its slice, and learns theirs.
  void exchange_record(std::uint64_t batch, std::int64_t step, std::vector<CrossEntropySums>& parts,
                       std::span<const double> squares);

  const Model<float>& model_;
  const Objective objective_;
  const Corpus& corpus_;
  std::uint64_t seed_;
  double label_smoothing_;
  MeanOver mean_over_;
  Precision precision_;
  TapePool tapes_;
  Exchange& exchange_;
  ShardSum sum_;  ///< in the parameters' layout
  double norm_ = 0, baseline_ = 0;
  std::int64_t predictions_ = 0;  ///< of the batch
  Wishes wishes_;
  PhaseSeconds seconds_;
  const bool times_ops_;
  std::mutex op_times_mutex_;
  OpTimes op_times_;
};

/// What a checkpoint says of how the shards are summed: those of versions that summed them from left to right say
/// nothing, which is the same for up to three.
IdentityField sum_identity(std::int64_t shards);

/// A digest of what this process computes of all shards, forward and backward, with the model's parameters as they are:
/// other processors and libraries may have another.
std::string arithmetic_digest(const Model<float>& model, const Objective& objective, const Corpus& corpus,
                              const Batch& batch, int threads, std::uint64_t seed, const TrainConfig& config);

/// How many predictions the loss of a batch is a sum of.
std::int64_t predictions(const Objective& objective, const Corpus& corpus, const Batch& batch);

void add(const CrossEntropySums& part, CrossEntropySums& total);

}  // namespace heed
