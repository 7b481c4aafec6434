// A training run from files to file: what `train` does once the options are known.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "models/model.h"
#include "train/corpus.h"
#include "train/train_config.h"
#include "train/trainer.h"

namespace heed {

/// What follows from vocabularies and labels, not from options; 0 where there is none.
struct DataSizes {
  std::int64_t source_vocab = 0, target_vocab = 0, classes = 0;
};

struct TrainingJob {
  CorpusFiles training, validation;        ///< as the model's parts want them
  std::string source_vocab, target_vocab;  ///< vocabulary or model files
  std::string output;
  /// A model of these sizes, parameters at zero.
  std::function<std::unique_ptr<Model<float>>(const DataSizes&)> make_model;
  TrainConfig config;
  std::uint64_t seed = 1;
  int threads = 1;
  bool resume = false;
  bool resume_previous = false;
};

/// Trains and writes the model.
Trainer::Outcome run_training(const TrainingJob& job, const std::atomic<bool>& stop);

/// What the run would take, as lines "name<TAB>value": sizes, and the memory of one update, which is tried.
std::string describe_training(const TrainingJob& job);

}  // namespace heed
