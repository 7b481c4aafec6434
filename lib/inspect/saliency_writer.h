// Saliency (inspect/saliency.h) of frames, written to a file of its own.
#pragma once

#include <string>
#include <vector>

#include "inspect/saliency.h"
#include "io/frame_stream.h"
#include "models/model_file.h"

namespace heed {

class SaliencyWriter {
 public:
  SaliencyWriter(const SaliencyConfig& config, const std::string& path, const io::WriteOptions& write,
                 const LoadedModel& loaded, int threads);

  /// Of a frame with /embeddings, from which `memory` was encoded; `targets`: ids with final eos. Throws
  /// Error when the embeddings are missing or give another memory: the way of the gradients leads through the
  /// encoder.
  void write(const TensorMap& frame, const PackedStates& memory,
             const std::vector<std::vector<std::int32_t>>& targets);
  /// Says how complete integrated gradients were.
  void finish();

 private:
  PackedStates embeddings_of(const TensorMap& frame, const PackedStates& memory) const;

  const SaliencyConfig& config_;
  const LoadedModel& loaded_;
  int threads_;
  io::FrameWriter writer_;
  float largest_gap_ = 0;
};

}  // namespace heed
