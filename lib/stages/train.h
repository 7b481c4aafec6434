// A training run from files to file: the work of `train` once the options are known.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/fields.h"
#include "io/options.h"
#include "models/architectures.h"
#include "stages/import_model.h"
#include "stages/mean_model.h"
#include "train/corpus.h"
#include "train/exchange.h"
#include "train/train_config.h"
#include "train/trainer.h"

namespace heed {

/// Sizes determined by vocabularies and labels, not by options; 0 if there is none.
struct DataSizes {
  std::int64_t source_vocab = 0, target_vocab = 0, classes = 0;
};

/// An empty path: no such file.
struct CorpusFiles {
  std::string source, target, labels;
};

struct TrainingJob {
  CorpusFiles training, validation;        ///< for the sides that the model's parts need
  std::shared_ptr<PairFile> pairs;         ///< the texts of `training`, memory-mapped; null: they are read
  bool images = false;                     ///< the sources are images
  std::string source_vocab, target_vocab;  ///< vocabulary or model files; "": for images
  std::string init;                        ///< file or folder of `initial`
  std::shared_ptr<LoadedModel> initial;    ///< a model to start from, with its vocabularies; null: none
  std::string output;
  io::WriteOptions write;
  std::string preset;   ///< the preset of the recipe; empty: none
  std::string command;  ///< for the model's history; equal runs have equal ones
  /// A model of these sizes, parameters at zero.
  std::function<std::unique_ptr<Model<float>>(const DataSizes&)> make_model;
  TrainConfig config;
  std::uint64_t seed = 1;
  int threads = 1;
  std::shared_ptr<Exchange> exchange;   ///< null: this process trains alone
  bool allow_mixed_processors = false;  ///< whether ranks may have different ones
  bool times_ops = false;               ///< report the time by operation at the end, with --verbose
  bool resume = false;
  bool resume_previous = false;
  bool overwrite = false;  ///< replace an existing model

  /// Whether there is text for validation.
  bool validates() const {
    return !validation.source.empty() || !validation.target.empty() || !validation.labels.empty();
  }
};

/// Trains and writes the model. With several ranks, rank 0 writes files and messages.
Trainer::Outcome run_training(const TrainingJob& job, const std::atomic<bool>& stop);

/// The requirements of the run as lines "name<TAB>value": sizes, and the memory of one update, which is
/// measured.
std::string describe_training(const TrainingJob& job);

/// A config of each architecture.
template <class... Each>
std::tuple<typename Each::Config...> configs_of(const std::tuple<Each...>&) {
  return {};
}

/// Whether an option with this name or field was given.
using IsGiven = std::function<bool(const std::string& name)>;

/// The options of train.
struct TrainCommand {
  TrainingJob job;
  std::string preset = "transformer-base", vocab;
  std::string corpus;                           ///< a file of pairs instead of the training text
  decltype(configs_of(kArchitectures)) models;  ///< options, like `training`; the given ones
  TrainConfig training;                         ///< override the preset's
  bool dry_run = false, list_presets = false;
  std::string exchange = "auto";
  double exchange_timeout = 600;  ///< seconds
  ImportCommand import;           ///< instead of training
  MeanCommand mean;               ///< likewise

  /// The fields of all models, each once.
  std::vector<Field> model_fields();
  /// Trains, or prints what is requested instead. Throws UsageError on options that do not belong together.
  void run(const IsGiven& given, const std::function<std::atomic<bool>&()>& stop_flag);

 private:
  void map_corpus();
};

/// The options of a run that do not affect its model, besides the common ones.
inline const std::vector<std::string> kWithoutEffect{"output",           "resume",
                                                     "resume-previous",  "overwrite",
                                                     "checkpoint-every", "checkpoint-minutes",
                                                     "log-every",        "exchange",
                                                     "exchange-timeout", "allow-mixed-processors",
                                                     "no-scales"};

}  // namespace heed
