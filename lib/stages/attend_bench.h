// How long attention without a model takes: `attend --bench`.
#pragma once

#include "attend/config.h"
#include "stages/attend.h"

namespace heed {

/// Times the attention that `config` asks for, and dot in its place (without projections: the tensors as
/// they are), on the first frame of the tensors, for 1 and for `threads` threads; writes a table to
/// paths.output. What is timed ends with the context (or the output) in memory: projections, scores,
/// softmax, weighted sum. Times are medians, of the clock and of processors; ratio is that of the clock to
/// dot.
void bench_tensors(const AttendConfig& config, const AttendPaths& paths, int threads);

/// The same over drawn tensors, n = m = 16 .. 1024 and d = 64 .. 512, of config.score against dot.
void bench_grid(const AttendConfig& config, const AttendPaths& paths, int threads);

}  // namespace heed
