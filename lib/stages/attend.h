// What `attend` does: opens its inputs, computes attention frame by frame and writes it.
#pragma once

#include <string>

#include "attend/attend.h"
#include "stages/frames.h"

namespace heed {

struct AttendPaths : StageFiles {
  std::string layer;      ///< of the model; empty: attention over the tensors that the config names
  std::string target;     ///< text file: input of a decoder layer
  std::int64_t seed = 1;  ///< of drawn parameters and samples
};

/// With a layer: reads frames from embed or encode; `inspect` selects what to record and edit in the layer's
/// stack. Without a layer: a model is used only to name the tokens.
void run_attend(const AttendConfig& config, const AttendPaths& paths, const InspectionConfig& inspect,
                int threads);

/// Times the attention that `config` asks for, and dot in its place (without projections: the tensors as they
/// are), on the first frame of the tensors, for 1 and for `threads` threads; writes a table to paths.output.
/// The timed part ends with the context (or output) in memory: projections, scores, softmax, weighted sum.
/// Times are medians of wall-clock and processor time; the ratio compares wall-clock time with dot.
void bench_tensors(const AttendConfig& config, const AttendPaths& paths, int threads);

/// The same measurement over random tensors, n = m = 16 .. 1024 and d = 64 .. 512, of config.score against
/// dot.
void bench_grid(const AttendConfig& config, const AttendPaths& paths, int threads);

}  // namespace heed
