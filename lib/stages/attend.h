// What `attend` does: opens its inputs, computes attention frame by frame and writes it.
#pragma once

#include <string>

#include "attend/attend.h"
#include "stages/frames.h"

namespace heed {

struct AttendPaths : StageFiles {
  std::string layer;      ///< of the model; empty: attention over the tensors that the config names
  std::string target;     ///< text file: what a decoder layer is to read
  std::int64_t seed = 1;  ///< of drawn parameters and samples
};

/// With a layer: reads embed's or encode's frames; `inspect` says what of the layer's stack to record and
/// edit. Without: a model only names the tokens.
void run_attend(const AttendConfig& config, const AttendPaths& paths, const InspectionConfig& inspect,
                int threads);

}  // namespace heed
