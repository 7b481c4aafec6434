#include "models/encoder_only.h"

#include "base/error.h"
#include "models/config_json.h"

namespace heed {

EncoderOnlyConfig::EncoderOnlyConfig() {
  positions = "learned";
}

void EncoderOnlyConfig::check() const {
  check_options();
  if (n_classes == 1) fail<UsageError>("n_classes is 1, wanted at least 2");
  if (n_classes > 0 && (output_bias || logit_scale != 1))
    fail<UsageError>("output_bias and logit_scale are of output words, which a classifier has none of");
}

template <class T>
std::unique_ptr<Model<T>> build(const EncoderOnlyConfig& config) {
  auto model = new_model<T>(config);
  ParameterSet<T>& p = model->parameters;
  const std::string table = "encoder/embedding/weight";
  declare_table(p, table, config.source_vocab_size, config.d_model);
  const auto stack = StackSettings::encoder(config, config.n_encoder_layers, config.source_vocab_size, table);
  declare_stack(p, stack);
  model->encoder = std::make_unique<TransformerEncoder<T>>(stack);
  if (config.n_classes == 0) {
    model->words = declare_words(p, Tied::all, table, config, config.source_vocab_size, "masked_word");
    return model;
  }
  model->n_classes = config.n_classes;
  model->classes = ClassesHead{kPoolings(config.pooling)};
  ClassesHead::declare(p, model->classes->pooling, config.d_model, config.n_classes);
  return model;
}

template std::unique_ptr<Model<float>> build(const EncoderOnlyConfig&);
template std::unique_ptr<Model<double>> build(const EncoderOnlyConfig&);

}  // namespace heed
