// Named recipes: an architecture with values for some fields of its config and of TrainConfig. Command line
// options override them.
#pragma once

#include <string>
#include <vector>

namespace heed {

struct Preset {
  const char* name;
  const char* architecture;
  const char* model;     ///< fields of the architecture's config, JSON
  const char* training;  ///< fields of TrainConfig, JSON
};

/// Throws UsageError listing the presets if there is none of that name.
const Preset& find_preset(const std::string& name);
std::vector<std::string> preset_names();
/// A line for each preset: architecture, sizes, parameters for vocabularies of 8,000 pieces, and the recipe.
std::string preset_table();

}  // namespace heed
