// Patterns for the paths of values and tensors, matched level by level, as in shells and git:
//   encoder/layer_*/output   * and ? and [...] stay within a level
//   encoder/**/weights       ** stands for any number of levels, also none
#pragma once

#include <string>

namespace heed {

/// Whether the text contains a wildcard.
bool is_glob(const std::string& text);

/// Throws UsageError when ** is not a level by itself.
bool glob_matches(const std::string& glob, const std::string& path);

}  // namespace heed
