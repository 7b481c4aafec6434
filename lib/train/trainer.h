// The training loop: updates, validations, early stopping, snapshots, checkpoints. It knows no architecture,
// no tokenizer and no command line; those come in through Model and TrainSetup.
//
// With several ranks (train/exchange.h), each runs a Trainer in step: every rank computes its shards of a
// batch and the update of its slice of the parameters, all validate, and rank 0 alone reads and writes files.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "models/model.h"
#include "train/batching.h"
#include "train/checkpoint.h"
#include "train/exchange.h"
#include "train/gradients.h"
#include "train/optimizer.h"
#include "train/snapshots.h"
#include "train/train_config.h"
#include "train/validation.h"

namespace heed {

/// BLEU of the current model on the validation text; nothing if `stop` was raised meanwhile.
using BleuScorer = std::function<std::optional<double>(const std::atomic<bool>& stop)>;

struct TrainSetup {
  TrainConfig config;
  std::uint64_t seed = 1;
  int threads = 1;
  bool times_ops = false;  ///< for op_times()
  Exchange* exchange = &alone();
  std::string output;      ///< the model file, which the run's other files are named after; rank 0 only
  bool scales = true;      ///< of the model file: io::WriteOptions
  Identity identity;       ///< must agree with a checkpoint's
  TensorMap vocabularies;  ///< vocabulary_map, and the names of classes
  TensorMap origin;        ///< origin_map of an imported model
  Attributes history;      ///< root attribute history of the model files
  std::string provenance;  ///< JSON: what is known of the run before it begins
  BleuScorer bleu;         ///< used with config.valid_bleu
  /// Called before each epoch, numbered from 0; may resample the segmentation of the training text, the same
  /// for the same epoch; null: no change.
  std::function<void(std::int64_t epoch)> redraw;
};

class Trainer {
 public:
  enum class Outcome { finished, stopped };

  /// `model` (parameters initialised) and the corpora must outlive this; an empty `validation` means that
  /// there is none. Checks that all files can be written.
  Trainer(Model<float>& model, const Corpus& training, const Corpus& validation, TrainSetup setup);

  /// Continues from the checkpoint. False if there is none.
  bool resume();
  /// Continues from the previous checkpoint if the newest is damaged.
  void resume_previous();

  /// Throws Error, on all ranks alike, if one computes other bits for the next batch than rank 0.
  void expect_same_arithmetic();

  /// Trains until a limit is reached, then stores the result in the model and in the model file. If `stop` is
  /// raised, on any rank, saves a checkpoint after the current update and returns `stopped`. Throws
  /// DivergedError on NaN.
  Outcome run(const std::atomic<bool>& stop);

  const TrainState& state() const { return state_; }
  const OpTimes& op_times() const { return gradients_.op_times(); }
  const PhaseSeconds& seconds() const { return seconds_; }

 private:
  struct Scores {
    ValidationScore validation{-1, -1};
    double bleu = -1;
  };

  bool first() const { return exchange_.rank() == 0; }
  void load(const std::string& checkpoint);
  void for_moments(
      const std::function<void(const std::string& name, std::span<float> own, std::span<float> all)>& visit);
  TensorMap gathered_moments();
  void scatter_moments(const std::string& checkpoint, const TensorMap& map);
  void expect_equal_parameters();
  /// The option that ends the run here, with its value; empty: none does.
  std::string limit() const;
  bool epoch_complete() const { return state_.position == static_cast<std::int64_t>(batches_.size()); }
  bool validation_due() const;
  void start_epoch();
  void update(const std::atomic<bool>& stop);
  Wishes wishes(const std::atomic<bool>& stop) const;
  [[noreturn]] void fail_diverged(std::int64_t step, double rate, const std::string& what);

  bool validate(const std::atomic<bool>& stop);
  std::optional<Scores> evaluate(const std::atomic<bool>& stop);
  bool add_row(const Scores& scores);
  static std::string describe(const Scores& scores);
  double score_of(const Scores& scores) const;
  void keep_snapshots(bool best, bool epoch_end);

  bool checkpoint_due() const;
  TensorMap record() const;
  TensorMap final_record(const std::string& ended_by, const Scores& scores) const;
  void save();
  void write_checkpoint(TensorMap moments);
  void write_metrics() const;
  bool write_result(const std::atomic<bool>& stop);
  std::vector<float> result_parameters(bool last_is_new, bool last_is_best) const;
  Outcome stopped();
  std::int64_t expected_updates() const;
  void show_progress(double loss);

  Model<float>& model_;
  const Corpus& corpus_;
  TrainSetup setup_;
  const TrainConfig& config_;
  Exchange& exchange_;
  RunFiles files_;
  std::optional<RunLock> lock_;  ///< rank 0 has it
  Objective objective_;
  Gradients gradients_;
  Slices& slices_;
  Optimizer optimizer_;
  const bool validates_;  ///< without validation text, the newest parameters are the best
  Validator validator_;
  SnapshotStore snapshots_;
  Batches batches_;  ///< of the current epoch
  TrainState state_;
  Wishes wishes_;                      ///< of all ranks, from the last update or validation
  std::set<std::string> saved_names_;  ///< snapshots needed by the newest checkpoint
  std::int64_t saved_step_ = -1;
  std::chrono::steady_clock::time_point started_, saved_at_;
  std::optional<logging::Progress> progress_;
  std::int64_t progress_start_ = 0;
  PhaseSeconds seconds_;
};

}  // namespace heed
