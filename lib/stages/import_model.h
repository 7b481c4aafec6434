// train --import: another program's model (models/foreign/import.h) as a model file, or as a list of its tensors.
#pragma once

#include <string>

#include "models/foreign/family.h"

namespace heed {

struct ImportCommand {
  std::string from;    ///< the folder or file; empty: nothing is to be imported
  std::string expect;  ///< what the model must give (stages/self_test.h); empty: it is not verified
  std::string output;
  std::string command;  ///< for the model's history
  bool list = false;    ///< only print what becomes of each tensor
  bool overwrite = false;
  bool scales = true;  ///< io::WriteOptions
  foreign::ImportOptions options;

  /// Throws Error when it cannot be imported, or does not give what is expected; then nothing is written.
  void run() const;
};

}  // namespace heed
