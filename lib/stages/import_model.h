// train --import: imports another program's model (models/foreign/import.h) as a model file, or lists its
// tensors.
#pragma once

#include <string>

#include "models/foreign/family.h"
#include "stages/derived_model.h"

namespace heed {

struct ImportCommand {
  std::string from;    ///< the folder or file; empty: nothing to import
  std::string expect;  ///< expected results (stages/self_test.h); empty: not verified
  bool list = false;   ///< only print the mapping of each tensor
  foreign::ImportOptions options;

  /// Throws Error if the model cannot be imported, or does not give the expected results; then nothing is
  /// written.
  void run(const NewModelFile& file) const;
};

}  // namespace heed
