#include "models/decoder_only.h"

#include "models/config_json.h"

namespace heed {

DecoderOnlyConfig::DecoderOnlyConfig() {
  norm = "pre";
  positions = "learned";
}

void DecoderOnlyConfig::check() const {
  check_options(n_decoder_layers);
}

template <class T>
std::unique_ptr<Model<T>> build(const DecoderOnlyConfig& config) {
  auto model = new_model<T>(config);
  ParameterSet<T>& p = model->parameters;
  const std::string table = "decoder/embedding/weight";
  declare_table(p, table, config.target_vocab_size, config.d_model);
  model->words =
      declare_words(p, kTied(config.tied), table, config, config.target_vocab_size, "decoder/output");
  const auto stack =
      StackSettings::decoder(config, config.n_decoder_layers, config.target_vocab_size, table, false);
  declare_stack(p, stack);
  model->decoder = std::make_unique<TransformerDecoder<T>>(stack);
  return model;
}

template std::unique_ptr<Model<float>> build(const DecoderOnlyConfig&);
template std::unique_ptr<Model<double>> build(const DecoderOnlyConfig&);

}  // namespace heed
