#include "models/foreign/encoder_heads.h"

#include <utility>

#include "base/log.h"
#include "models/config_json.h"
#include "models/foreign/sentence_modules.h"
#include "models/model_file.h"

namespace heed::foreign {

EncoderHeads EncoderHeads::of(const EncoderOnlyConfig& config) {
  EncoderHeads heads;
  heads.classes = config.n_classes > 0;
  heads.of_tokens = heads.classes && config.pooling == "none";
  heads.words = !heads.classes && config.masked_words;
  heads.of_sentences = !heads.classes && !config.masked_words;
  heads.pooler = config.pooler;
  if (config.dense_inner_width > 0) heads.dense.emplace_back("2_Dense");
  if (config.dense_width > 0) heads.dense.push_back(concat(2 + heads.dense.size(), "_Dense"));
  return heads;
}

std::string EncoderHeads::class_of(const std::string& name) const {
  return of_tokens ? token_classifier(name)
         : classes ? name + "ForSequenceClassification"
         : words   ? name + "ForMaskedLM"
                   : name + "Model";
}

std::string token_classifier(const std::string& name) {
  return name + "ForTokenClassification";
}

void read_heads(ConfigFields& fields, const EncoderHeads& heads, const std::string& name,
                EncoderOnlyConfig& config) {
  config.embedding_norm = true;
  config.embedding_scale = "1";
  config.pooling = heads.of_tokens ? "none" : "first";
  config.masked_words = heads.words || heads.classes;
  config.word_transform = config.output_bias = heads.words;
  if (heads.classes) read_classes(fields, config);
  if (heads.of_tokens) config.problem_type = "single_label";  // of a token, whatever is said of sentences
  fields.expect("architectures",
                {Json::array({name + "Model"}), Json::array({name + "ForMaskedLM"}),
                 Json::array({name + "ForPreTraining"}), Json::array({name + "ForSequenceClassification"}),
                 Json::array({token_classifier(name)})});
  fields.expect("is_decoder", {false});
  fields.expect("is_encoder_decoder", {false});
  fields.expect("tie_word_embeddings", {true});
}

ForeignModel finish_encoder(
    const Source& source, ConfigFields& fields, EncoderOnlyConfig config, EncoderHeads heads,
    const SpecialIds& special,
    const std::function<Mappings(const EncoderOnlyConfig&, const EncoderHeads&)>& mappings) {
  ForeignModel found;
  fields.without_effect_in_any_model();
  if (heads.classes) found.classes = class_names(fields, config.n_classes);
  fields.finish();
  if (heads.of_sentences) heads.dense = read_modules(source, config, found.notes);
  check_config(config);
  found.config_json = to_json(config);
  found.mappings = mappings(config, heads);
  found.source = tokenizer_of(source, config.source_vocab_size, special, found.notes);
  found.formulas = {{"activation", config.activation}, {"norm_epsilon", concat(config.norm_epsilon)}};
  return found;
}

void map_dense(const EncoderOnlyConfig& config, const EncoderHeads& heads, Mappings& map) {
  std::int64_t width = config.d_model;
  for (const std::string& folder : heads.dense) {
    const bool is_inner = heads.dense.size() == 2 && folder == heads.dense.front();
    const std::int64_t next = is_inner ? config.dense_inner_width : config.dense_width;
    map.linear(folder + "/linear", is_inner ? "sentences/dense_inner" : "sentences/dense",
               std::exchange(width, next), next, config.dense_bias);
  }
}

void want_heads(Requirements& require, const EncoderHeads& heads) {
  require.want("embedding_norm=true embedding_scale=1");
  require.keep("n_classes problem_type masked_words");
  if (heads.words) require.want("word_transform=true");
  if (heads.of_sentences)
    require.keep("normalised dense_width dense_inner_width dense_activation dense_bias");
  if (!heads.classes || heads.of_tokens) require.keep("pooling");
  if (!heads.pooler) require.keep("pooler_activation");
}

void want_encoder(Requirements& require, const EncoderHeads& heads, const char* pooler_activation,
                  const char* positions) {
  require.want(concat("positions=", positions, " norm=post final_norm=by_norm|no"));
  require.want_usual_heads();
  require.want_own_keys();
  want_heads(require, heads);
  if (heads.words) require.want("output_bias=true");
  if (heads.classes && !heads.of_tokens) require.want("pooler=true");
  if (heads.pooler) require.want(concat("pooler_activation=", pooler_activation));
  if (heads.classes && !heads.of_tokens) require.want("pooling=first");
}

void finish_encoder(const LoadedModel& loaded, const EncoderOnlyConfig& config, const EncoderHeads& heads,
                    bool pooler_dropout, Exported& out) {
  if (heads.classes && config.pooler && config.pooler_dropout != pooler_dropout)
    logging::note(concat("pooler_dropout is not exported: no field of config.json says so, and this kind ",
                         pooler_dropout ? "always" : "never", " has it"));
  state_decoder_ids(loaded.source.special(), out.config);
  if (heads.classes) state_classes(loaded, config, out.config);
  if (heads.of_sentences) add_modules(config, heads.dense, out);
}

}  // namespace heed::foreign
