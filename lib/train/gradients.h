// The gradient of one batch: each logical shard on its own tape, summed by a fixed binary tree. The numbers
// of threads and ranks only determine where a shard is computed, and change no bit.
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

/// Requests of a rank. A request of any rank is executed by all after the same update.
struct Wishes {
  bool stop = false;        ///< save and end
  bool time_is_up = false;  ///< of rank 0, whose clock counts
  bool checkpoint = false;  ///< of rank 0: save
};
/// Combines the requests of all ranks.
Wishes agree(Exchange& exchange, Wishes own);

class Gradients {
 public:
  /// `model`, `corpus` and `exchange` must outlive this.
  Gradients(const Model<float>& model, const Objective& objective, const Corpus& corpus, int threads,
            std::uint64_t seed, const TrainConfig& config, bool times_ops = false,
            Exchange& exchange = alone());

  /// Computes the gradient of the mean loss over predictions, or sentences (config.mean_over), of `batch`,
  /// with the dropout of update `step`. `baseline`: as in Decoded::extra_loss. `own_wishes` is called when
  /// the shards are done. Throws Error, on all ranks alike, if they are not at the same batch.
  CrossEntropySums compute(const Batch& batch, std::int64_t step, double baseline = 0,
                           const std::function<Wishes()>& own_wishes = {});
  /// The requests of all ranks in that update.
  const Wishes& wishes() const { return wishes_; }

  /// The number of predictions in the loss of compute()'s batch.
  std::int64_t predictions() const { return predictions_; }
  /// The sum over the shards, within this rank's slice; zero elsewhere. Valid after compute(). The
  /// optimizer's apply() resets it to zero.
  std::span<float> flat() { return sum_.sum(); }
  /// The slices of this and of all buffers with the parameters' layout.
  Slices& slices() { return sum_.slices(); }
  /// The norm of the whole gradient.
  double norm() const { return norm_; }
  /// Where NaN or infinity first appeared in the last compute(): a parameter, a named value of the forward
  /// pass, which is repeated for this, or a parameter's gradient; empty: nowhere. The same on all ranks.
  std::string first_not_finite(const Batch& batch, std::int64_t step);

  const PhaseSeconds& seconds() const { return seconds_; }
  /// Of forward and backward, over all threads; empty without `times_ops`.
  const OpTimes& op_times() const { return op_times_; }

 private:
  /// Adds the shard's gradient to `gradient`.
  CrossEntropySums compute_shard(const Batch& batch, std::int64_t shard, std::int64_t step, float* gradient,
                                 Recorder<float>* recorder = nullptr);
  /// Sends all ranks this one's requests, the loss `parts` of its shards and the squares of its slice, and
  /// receives theirs.
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
  std::int64_t predictions_ = 0;  ///< in the batch
  Wishes wishes_;
  PhaseSeconds seconds_;
  const bool times_ops_;
  std::mutex op_times_mutex_;
  OpTimes op_times_;
};

/// A checkpoint's statement of how shards are summed: versions that summed them from left to right have none,
/// which is the same for up to three shards.
IdentityField sum_identity(std::int64_t shards);

/// A digest of this process's results for all shards, forward and backward, with the current parameters:
/// other processors and libraries may have another.
std::string arithmetic_digest(const Model<float>& model, const Objective& objective, const Corpus& corpus,
                              const Batch& batch, int threads, std::uint64_t seed, const TrainConfig& config);

/// The number of predictions in the loss of a batch.
std::int64_t predictions(const Objective& objective, const Corpus& corpus, const Batch& batch);

void add(const CrossEntropySums& part, CrossEntropySums& total);

}  // namespace heed
