// A decoder alone: a causal language model, p(y) = prod_t p(y_t | y_1 .. y_(t-1)), as in Radford, Narasimhan,
// Salimans, Sutskever: Improving language understanding by generative pre-training, 2018. It is the decoder
// of models/transformer_parts.h without cross-attention, by default pre-norm with learned positions (Radford
// et al.: Language models are unsupervised multitask learners, 2019). Parameters: decoder/embedding/weight
// [V, d]; if untied decoder/output/weight [d, V]; optionally decoder/output/bias [V]; those of the stack.
#pragma once

#include <memory>
#include <string>

#include "models/model.h"
#include "models/transformer_parts.h"

namespace heed {

struct DecoderOnlyConfig : TransformerOptions {
  static constexpr const char* kArchitecture = "decoder";

  std::int64_t target_vocab_size = 0;
  std::int64_t n_decoder_layers = 12;
  std::string tied = "decoder";

  DecoderOnlyConfig();

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("target_vocab_size", self.target_vocab_size, "size of the target vocabulary", up_to(10'000'000));
    field("n_decoder_layers", self.n_decoder_layers, "decoder layers", up_to(1'000));
    size_fields(self, field);
    field("tied", self.tied, "share one matrix for embeddings and output, or none", {"decoder", "none"});
    practice_fields(self, field);
    layer_fields(self, field);
  }

  /// Throws UsageError naming the field and its valid values.
  void check() const;
};

template <class T>
std::unique_ptr<Model<T>> build(const DecoderOnlyConfig& config);

}  // namespace heed
