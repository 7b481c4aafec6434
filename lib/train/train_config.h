// How to train: every choice that is not the model's. The fields are listed once and become options of
// `train`, lines of the checkpoint (so that a run is only resumed as itself) and JSON in the model file.
#pragma once

#include <cstdint>
#include <string>

#include "base/choice.h"
#include "base/range.h"
#include "tensor/precision.h"

namespace heed {

enum class MeanOver { tokens, sentences };
inline const Choice<MeanOver> kMeansOver{"mean_over", {"tokens", "sentences"}};
enum class Method { adam, adadelta, sgd };
inline const Choice<Method> kMethods{"optimizer", {"adam", "adadelta", "sgd"}};
enum class Schedule { noam, inverse_sqrt, linear, constant, plateau, halving };
inline const Choice<Schedule> kSchedules{
    "schedule", {"noam", "inverse-sqrt", "linear", "constant", "plateau", "halving"}};
inline const Choice<Precision> kTrainPrecisions{"precision", {"float32", "bfloat16"}};
enum class StopOn { loss, bleu };
inline const Choice<StopOn> kStopOn{"stop_on", {"loss", "bleu"}};

struct TrainConfig {
  // batches
  std::int64_t batch_tokens = 4096;
  std::int64_t shards = 4;
  // objective and optimizer
  double label_smoothing = 0.1;
  double bpe_dropout = 0, unigram_alpha = 0, r_drop = 0;
  std::string mean_over = "tokens";
  std::string precision = "float32";
  std::string optimizer = "adam";
  double beta1 = 0.9, beta2 = 0.98, eps = 1e-8;
  double weight_decay = 0;
  double clip = 0;
  // learning rate
  std::string schedule = "inverse-sqrt";
  double learning_rate = 0.005;
  std::int64_t warmup = 2000;
  double halve_after = 5, halve_every = 1;
  // validation, stopping, checkpoints
  std::int64_t validate_every = 0;
  bool valid_bleu = false;
  std::string stop_on = "loss";
  std::int64_t patience = 10;
  std::int64_t average = 0;
  std::int64_t max_epochs = 100;
  std::int64_t max_updates = 0;
  double max_minutes = 0;
  std::int64_t checkpoint_every = 0;
  double checkpoint_minutes = 5;
  double log_every = 30;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("batch_tokens", self.batch_tokens, "maximal number of target tokens per update",
          up_to(1'000'000'000));
    field("shards", self.shards,
          "parts of a batch that are computed in parallel; a run can only be resumed with the same number",
          up_to(1024));
    field("label_smoothing", self.label_smoothing, "share of the target probability spread over all pieces",
          share());
    field("bpe_dropout", self.bpe_dropout,
          "for vocabularies of type bpe: skip each merge with this probability, redrawn in each epoch "
          "(Provilkov et al. 2020: 0.1)",
          share());
    field("unigram_alpha", self.unigram_alpha,
          "for vocabularies of type unigram: sample the pieces of each line in each epoch, with "
          "probabilities to this power (Kudo 2018: 0.2); 0: take the most likely",
          at_least(0));
    field("r_drop", self.r_drop,
          "run each target twice with different dropout and make the predictions agree: weight of their "
          "divergence (R-Drop, Liang et al. 2021: 5); 0: run it once",
          at_least(0));
    field("mean_over", self.mean_over, "what the loss, and hence the gradient, is averaged over",
          kMeansOver.words);
    field("precision", self.precision,
          "precision of products with parameters, forward and backward, steps of a recurrence among them: "
          "bfloat16 rounds their factors; sums, parameters, optimizer, norms and attention stay float32",
          kTrainPrecisions.words);
    field("optimizer", self.optimizer, "the optimizer", kMethods.words);
    field("beta1", self.beta1, "Adam: decay of the mean gradient", share());
    field("beta2", self.beta2, "Adam, Adadelta: decay of the mean squared gradient (rho)", share());
    field("eps", self.eps,
          "Adam: added to the root of the mean squared gradient; Adadelta: added inside the root", above(0));
    field("weight_decay", self.weight_decay, "Adam: decoupled weight decay", at_least(0));
    field("clip", self.clip, "clip the gradient at this norm; 0: no limit", at_least(0));
    field("schedule", self.schedule, "learning rate schedule", kSchedules.words);
    field("learning_rate", self.learning_rate, "peak of the learning rate (noam: factor)", above(0));
    field("halve_after", self.halve_after, "halving: epochs before the first halving", at_least(0));
    field("halve_every", self.halve_every, "halving: epochs from one halving to the next", above(0));
    field("warmup", self.warmup, "updates until the learning rate peaks", between(0, 1'000'000'000));
    field("validate_every", self.validate_every, "also validate every N updates; 0: only after each epoch",
          between(0, 1'000'000'000));
    field("valid_bleu", self.valid_bleu, "translate the validation text greedily at each validation");
    field("stop_on", self.stop_on, "criterion for the best parameters and early stopping", kStopOn.words);
    field("patience", self.patience, "stop after N validations without improvement; 0: never",
          between(0, 1'000'000'000));
    field("average", self.average,
          "average the parameters of the last N epochs; 0: use those of the best validation",
          between(0, 1000));
    field("max_epochs", self.max_epochs,
          "stop after N epochs; 0: no limit; ignored if only --max-updates is given",
          between(0, 1'000'000'000));
    field("max_updates", self.max_updates, "stop after N updates; 0: no limit", between(0, 1'000'000'000));
    field("max_minutes", self.max_minutes, "stop after this time; 0: no limit", at_least(0));
    field("checkpoint_every", self.checkpoint_every, "save a checkpoint every N updates; 0: only by time",
          between(0, 1'000'000'000));
    field("checkpoint_minutes", self.checkpoint_minutes, "minutes between two checkpoints", at_least(0));
    field("log_every", self.log_every, "seconds between progress lines if stderr is not a terminal",
          at_least(0));
  }
};

/// Throws UsageError naming the option that is out of range.
void check(const TrainConfig& config);

/// Whether a field must be the same when a run is resumed: all except those that determine when to stop, save
/// and log.
bool part_of_identity(const std::string& train_field);

}  // namespace heed
