// A training run from files to file: the work of `train` once the options are known.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/options.h"
#include "models/model_file.h"
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
  /// Of this run; of a process that trains alone: itself.
  Exchange& ranks() const { return exchange ? *exchange : alone(); }
};

/// Trains and writes the model. With several ranks, rank 0 writes files and messages.
Trainer::Outcome run_training(const TrainingJob& job, const std::atomic<bool>& stop);

/// The requirements of the run as lines "name<TAB>value": sizes, and the memory of one update, which is
/// measured.
std::string describe_training(const TrainingJob& job);

/// The options of a run that do not affect its model, besides the common ones.
inline const std::vector<std::string> kWithoutEffect{"output",           "resume",
                                                     "resume-previous",  "overwrite",
                                                     "checkpoint-every", "checkpoint-minutes",
                                                     "log-every",        "exchange",
                                                     "exchange-timeout", "allow-mixed-processors",
                                                     "no-scales"};

}  // namespace heed
