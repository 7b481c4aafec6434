// Frames of an input on several threads: while one is computed, others are read and written, each in its turn.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/parallel.h"
#include "io/frame_stream.h"

namespace heed {

/// Checks a frame before it is processed; may throw. `name` is the input's, for messages.
using Claim = std::function<void(TensorMap& frame, const std::string& name)>;

/// What is computed of a frame: parts, in any order and on any threads, and what follows when all are done.
class FrameWork {
 public:
  virtual ~FrameWork() = default;
  virtual std::int64_t parts() const = 0;
  virtual void compute(std::int64_t part) = 0;
  virtual void finish() {}
  /// Memory that it holds, besides the frame, until the frame is written.
  virtual std::int64_t bytes() const { return 0; }

  /// All of it.
  void run(int threads) {
    parallel_for(parts(), threads, [&](std::int64_t part) { compute(part); });
    finish();
  }
};

/// Begins the work on a frame, which stays where it is until the work is finished. Called for one frame after the
/// other.
using BeginFrame = std::function<std::unique_ptr<FrameWork>(TensorMap& frame)>;

/// Called for the frames in their order, each with its finished work; may move from both.
using WriteFrame = std::function<void(TensorMap& frame, FrameWork& work)>;

/// Passes every remaining frame of `reader` to `claim`, to `begin` and, in their order, to `write`. Up to `threads`
/// threads do this; with `one_at_a_time` they work on one frame besides the one that is written. Errors of the work get
/// the input's name as prefix; a SentenceError of the work or of `write`, counted in the frame, is reported with the
/// sentence's number in the text, from 1. The error is that of the first frame that has one; the frames before it are
/// written, and none after it.
void for_each_frame(io::FrameReader& reader, const Claim& claim, const BeginFrame& begin,
                    const WriteFrame& write, int threads, bool one_at_a_time);

/// The same for work that is done at once, one frame after the other.
void for_each_frame(io::FrameReader& reader, const Claim& claim, const std::function<void(TensorMap&)>& stage,
                    const std::function<void(TensorMap&)>& write);

}  // namespace heed
