// What commands that make a model file from other models have in common: where it goes, and its origin.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "models/model_file.h"

namespace heed {

/// -o of a command that makes a model without training.
struct NewModelFile {
  std::string path;
  std::string command;     ///< for the model's history
  bool overwrite = false;  ///< replace an existing file
  bool scales = true;      ///< io::WriteOptions

  /// Throws UsageError unless it can be written; `what` it is for is part of the message.
  void expect_possible(const char* what) const;
};

/// The origin of a model with other parameters than `loaded`, which has one: the search settings hold for it, the
/// verification does not.
nlohmann::json unverified_origin(const LoadedModel& loaded);

}  // namespace heed
