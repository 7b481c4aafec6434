// The first two stages on tensor maps: /tokens -> /embeddings -> /encoder (schema in lib/io/README.md).
// Groups that a stage does not touch pass through.
#pragma once

#include "models/pictures.h"
#include "stages/frames.h"
#include "tensor/padding.h"

namespace heed {

/// Adds /embeddings: values f32 (sentence, position, dim), length.
void embed_frame(const Model<float>& model, Side side, TensorMap& frame);

/// /embeddings of images.
TensorMap embed_images(const Model<float>& model, const Pictures& pictures, Inspection* inspection = nullptr);

struct EncodeOptions {
  std::int64_t first = 0;   ///< first layer to run
  std::int64_t last = -1;   ///< end of the range: last layer + 1; -1: all
  bool all_layers = false;  ///< keep the output of every layer that ran, not only the last
  Values wanted = Values::finite;
  std::string pool;        ///< one of kSentencePools; empty: no sentence embeddings
  bool normalise = false;  ///< scale them to length 1
  std::string precision = kPrecisions.front();
};
/// model: the model's own pooling; pooler: f(first state W + b) by encoder/pooler.
inline const std::vector<std::string> kSentencePools{"model", "mean", "first", "last", "pooler"};

/// Adds /encoder: states f32 (sentence, layer, position, dim), mask, length. Reads /embeddings or, if
/// options.first > 0, the last layer of the /encoder group left by an earlier run. With options.pool also
/// /sentences: values f32 (sentence, dim), from the last layer.
void encode_frame(const Model<float>& model, const EncodeOptions& options, int threads, TensorMap& frame);
/// The layers that run. Throws UsageError if the encoder has no such range, or if it excludes the layer to
/// pool.
Stages encoder_stages(const Model<float>& model, const EncodeOptions& options);

inline const std::vector<std::string> kSides{"source", "target"};

struct EmbedOptions : StageFiles {
  std::vector<std::string> pixels;  ///< files of images (models/pictures.h) instead of tokens
  std::string side;                 ///< "source" or "target"; empty: that of the model's first part
  std::int64_t positions_only = 0;  ///< number of position vectors to write instead; 0: none
  std::int64_t d_model = 512;       ///< their width
};
/// Runs the tool embed. `given` tells which options were given: those without effect are refused.
void run_embed(const EmbedOptions& options, const InspectionConfig& inspect, std::uint64_t seed, int threads,
               const std::function<bool(const std::string& option)>& given);

/// Runs the tool encode; `layers` is "A:B", "A:", ":B", or ":" for all, and sets first and last.
void run_encode(const StageFiles& files, const std::string& layers, EncodeOptions options,
                const InspectionConfig& inspect, std::uint64_t seed, int threads);

}  // namespace heed
