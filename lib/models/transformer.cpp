#include "models/transformer.h"

#include <algorithm>

#include "base/error.h"
#include "models/config_json.h"

namespace heed {

void TransformerConfig::check() const {
  check_options(std::max(n_encoder_layers, n_decoder_layers));
  if (kTied(tied) == Tied::all && source_vocab_size != target_vocab_size) {
    fail<UsageError>("tied = all needs one vocabulary for both sides; there are ", source_vocab_size,
                     " source and ", target_vocab_size,
                     " target entries: use --tied decoder, or a joint vocabulary");
  }
  const ActsOn acts = acts_on(kPositions(positions));
  if (kDecoderPasts(decoder_past) == DecoderPast::ssru && acts != ActsOn::nothing &&
      acts != ActsOn::embeddings)
    fail<UsageError>("positions = ", positions,
                     " are in the scores of self-attention, and decoder_past = ", decoder_past,
                     " leaves the decoder none: wanted positions that are added, or none");
}

template <class T>
std::unique_ptr<Model<T>> build(const TransformerConfig& config) {
  auto model = new_model<T>(config);
  ParameterSet<T>& p = model->parameters;
  const bool one_table = kTied(config.tied) == Tied::all;
  const std::string source_table = one_table ? "embedding/weight" : "encoder/embedding/weight",
                    target_table = one_table ? source_table : "decoder/embedding/weight";
  declare_table(p, source_table, config.source_vocab_size, config.d_model);
  if (!one_table) declare_table(p, target_table, config.target_vocab_size, config.d_model);
  model->words =
      declare_words(p, kTied(config.tied), target_table, config, config.target_vocab_size, "decoder/output");
  const auto encoder =
      StackSettings::encoder(config, config.n_encoder_layers, config.source_vocab_size, source_table);
  auto decoder =
      StackSettings::decoder(config, config.n_decoder_layers, config.target_vocab_size, target_table, true);
  if (config.decoder_d_ff > 0) decoder.d_ff = config.decoder_d_ff;
  decoder.zero_start = kDecoderStarts(config.decoder_start) == DecoderStart::zero;
  decoder.recurrent = kDecoderPasts(config.decoder_past) == DecoderPast::ssru;
  declare_stack(p, encoder);
  declare_stack(p, decoder);
  model->encoder = std::make_unique<TransformerEncoder<T>>(encoder);
  model->decoder = std::make_unique<TransformerDecoder<T>>(decoder);
  return model;
}

template std::unique_ptr<Model<float>> build(const TransformerConfig&);
template std::unique_ptr<Model<double>> build(const TransformerConfig&);

}  // namespace heed
