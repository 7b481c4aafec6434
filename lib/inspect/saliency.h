// The contribution of each source word's embedding to each word of a translation:
//   gradient-x-input   s_tj = x_j . d log p(y_t) / d x_j                (Simonyan, Vedaldi, Zisserman 2014)
//   integrated         s_tj = (x_j - b_j) . mean over a of d log p(y_t) / d x_j at b + a (x - b)
// with x_j the embedding read by the encoder and b a baseline (Sundararajan, Taly, Yan: Axiomatic attribution
// for deep networks, 2017, eq. 1, by the midpoints of `steps` intervals). Integrated gradients are complete:
// the sum over j is log p(y_t) at x minus that at b; the numerical error of this is kept as `gap`. The path
// from a zero baseline passes points where layer normalisation divides by nearly zero: with 64 steps, a
// pre-norm Transformer after 121 updates has a gap of 6.3 from zeros, and of 0.017 from the unknown word.
#pragma once

#include <string>
#include <vector>

#include "base/choice.h"
#include "base/fields.h"
#include "io/frame_stream.h"
#include "models/model_file.h"
#include "models/packed_states.h"

namespace heed {

inline const std::vector<std::string> kSaliencyMethods{"gradient-x-input", "integrated"};
inline const std::vector<std::string> kSaliencyBaselines{"unknown", "zero"};

struct SaliencyConfig {
  std::string saliency_method = "gradient-x-input";
  std::int64_t saliency_steps = 64;
  std::string saliency_baseline = "unknown";

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("saliency_method", self.saliency_method,
          "gradient times embedding, or integrated from a baseline to the embedding", kSaliencyMethods);
    field("saliency_steps", self.saliency_steps, "points on the way from the baseline", up_to(1'000'000));
    field("saliency_baseline", self.saliency_baseline,
          "what is integrated from: the unknown word at each position, or zeros, near which layer "
          "normalisation makes the model steep",
          kSaliencyBaselines);
  }
  bool integrated() const { return chosen<int>("--saliency-method", kSaliencyMethods, saliency_method) == 1; }
  bool from_zeros() const {
    return chosen<int>("--saliency-baseline", kSaliencyBaselines, saliency_baseline) == 1;
  }
};

/// The group /saliency: scores f32 (sentence, query, key), query being the target, query_length, key_length;
/// for integrated also gap f32 (sentence, query). `embeddings`: the encoder's input; `targets`: ids with
/// final eos.
TensorMap saliency(const Model<float>& model, const SaliencyConfig& config, const PackedStates& embeddings,
                   const std::vector<std::vector<std::int32_t>>& targets, int threads);

/// Writes the saliency of frames to a file.
class SaliencyWriter {
 public:
  SaliencyWriter(const SaliencyConfig& config, const std::string& path, const io::WriteOptions& write,
                 const LoadedModel& loaded, int threads);

  /// For a frame with /embeddings, from which `memory` was encoded; `targets`: ids with final eos. Throws
  /// Error if the embeddings are missing or give another memory: gradients pass through the encoder.
  void write(const TensorMap& frame, const PackedStates& memory,
             const std::vector<std::vector<std::int32_t>>& targets);
  /// Reports the completeness of integrated gradients.
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
