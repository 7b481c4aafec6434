// train --mean-of: the mean of models that were trained from the same one (Wortsman et al. 2022, "Model soups").
// Runs that differ in the order of their batches, or in dropout, end around a common point, which depends less on chance.
#pragma once

#include <string>
#include <vector>

namespace heed {

struct MeanCommand {
  std::vector<std::string> models;  ///< model files; empty: none to average
  std::string output;
  std::string command;  ///< for the history, which begins with that of the first model
  bool overwrite = false;
  bool scales = true;  ///< io::WriteOptions

  /// Writes a model whose parameters are the mean of theirs, with the config of the first. Throws Error unless all
  /// have the same vocabularies and classes, and configs that differ in fields of training alone. Warns of models that
  /// are far from the first.
  void run() const;
};

}  // namespace heed
