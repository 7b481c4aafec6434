// The options of `train`, and what they make of a preset or of a model to start from.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "base/fields.h"
#include "models/architectures.h"
#include "stages/import_model.h"
#include "stages/mean_model.h"
#include "stages/training_job.h"

namespace heed {

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

}  // namespace heed
