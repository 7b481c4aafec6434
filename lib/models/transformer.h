// The Transformer encoder-decoder of Vaswani et al. 2017 (models/transformer_parts.h). Parameters:
// embedding/weight [V, d] (tied = all) or encoder/embedding/weight and decoder/embedding/weight; if untied
// decoder/output/weight [d, V]; optionally decoder/output/bias [V]; those of the two stacks.
#pragma once

#include <memory>
#include <string>

#include "models/model.h"
#include "models/transformer_parts.h"

namespace heed {

enum class DecoderStart { bos, zero };
inline const Choice<DecoderStart> kDecoderStarts{"decoder_start", {"bos", "zero"}};

/// How a decoder's layers read the past.
enum class DecoderPast { attention, ssru };
inline const Choice<DecoderPast> kDecoderPasts{"decoder_past", {"attention", "ssru"}};

struct TransformerConfig : TransformerOptions {
  static constexpr const char* kArchitecture = "transformer";

  std::int64_t source_vocab_size = 0;
  std::int64_t target_vocab_size = 0;
  std::int64_t n_encoder_layers = 6;
  std::int64_t n_decoder_layers = 6;
  std::string tied = "all";
  std::int64_t decoder_d_ff = 0;
  std::string decoder_start = "bos";
  std::string decoder_past = "attention";

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("source_vocab_size", self.source_vocab_size, "size of the source vocabulary", up_to(10'000'000));
    field("target_vocab_size", self.target_vocab_size, "size of the target vocabulary", up_to(10'000'000));
    field("n_encoder_layers", self.n_encoder_layers, "encoder layers", up_to(1'000));
    field("n_decoder_layers", self.n_decoder_layers, "decoder layers", up_to(1'000));
    size_fields(self, field);
    field("tied", self.tied, "share one matrix for source, target and output; for target and output; or none",
          {"all", "decoder", "none"});
    practice_fields(self, field);
    layer_fields(self, field);
    const auto optional = optional_fields(field);
    optional("decoder_d_ff", self.decoder_d_ff, "inner width of the decoder's feed-forward networks; 0: d_ff",
             between(0, 1'000'000));
    optional("decoder_start", self.decoder_start, "first input of the decoder: bos, or a zero vector",
             kDecoderStarts.words);
    optional("decoder_past", self.decoder_past,
             "how decoder layers read the past: self-attention, or Marian's recurrent unit",
             kDecoderPasts.words);
  }

  /// Throws UsageError naming the field and its valid values.
  void check() const;
};

template <class T>
std::unique_ptr<Model<T>> build(const TransformerConfig& config);

}  // namespace heed
