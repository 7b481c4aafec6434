// Parameters whose rows lie apart in memory, as long rows of a multiple of 256 numbers do.
#pragma once

#include "nn/parameters.h"
#include "train/slices.h"

namespace heed::test {

/// Of 8 ranges (train/ranges.h): stacked parts, rows that lie apart and such that do not, a vector of odd
/// length.
inline ParameterSet<float> spread_parameters() {
  ParameterSet<float> parameters;
  parameters.add("first", {3, 5}, Init::zeros());
  parameters.add_stacked("attention", {"query", "key", "value"}, 70, 256, Init::zeros(), Init::zeros());
  parameters.add("in", {90, 512}, Init::zeros());
  parameters.add("odd", {77}, Init::zeros());
  parameters.add("out", {700, 120}, Init::zeros());
  parameters.add("last", {170, 256}, Init::zeros());
  parameters.values();
  return parameters;
}

inline Layout spread_layout() {
  return Layout(spread_parameters());
}

}  // namespace heed::test
