// train --mean-of: the mean of models that were trained from the same one (Wortsman et al. 2022, "Model soups").
// Runs that differ in the order of their batches, or in dropout, end around a common point, which depends less on the
// seed than each of them.
#pragma once

#include <string>
#include <vector>

#include "stages/derived_model.h"

namespace heed {

struct MeanCommand {
  std::vector<std::string> models;  ///< model files; empty: none to average

  /// Writes a model whose parameters are the mean of theirs, with the config and history of the first. Throws Error unless all
  /// have the same vocabularies and classes, and configs that differ in fields of training alone. Warns of models that
  /// are far from the first.
  void run(const NewModelFile& file) const;
};

}  // namespace heed
