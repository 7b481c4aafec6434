// train --mean-of: the mean of models that were trained from the same one (Wortsman et al. 2022, "Model soups").
// Runs that differ in the order of their batches, or in dropout, end around a point that is better than each of them.
#pragma once

#include <string>
#include <vector>

#include "io/options.h"

namespace heed {

struct MeanCommand {
  std::vector<std::string> models;  ///< model files; empty: none to average
  std::string output;
  bool overwrite = false;
  io::WriteOptions write;

  /// Writes a model whose parameters are the mean of theirs, with the config of the first. Throws Error unless all have
  /// the same vocabularies and classes, and the same config but for dropout.
  void run() const;
};

}  // namespace heed
