// The loop of every tool between two pipes: read a frame, work on it, write it.
#pragma once

#include <functional>
#include <string>

#include "io/frame_stream.h"
#include "models/model_file.h"

namespace heed {

/// Hands every frame of `input` first to `claim`, with the input's name for its messages, and then to
/// `stage`, whose errors get that name here; writes it to `output`. `at_end` may still refuse: the output is
/// put in place behind it.
void run_frames(const std::string& input, const std::string& output, const io::WriteOptions& write,
                std::int64_t batch, const std::function<void(TensorMap&, const std::string& name)>& claim,
                const std::function<void(TensorMap&)>& stage, const std::function<void()>& at_end = {});

/// Throws Error when the frame says that it was made with another model; notes the model in it.
void claim_for_model(TensorMap& frame, const std::string& source, const LoadedModel& model,
                     const std::string& path);

}  // namespace heed
