// BART (Lewis et al. 2019), mBART (Liu et al. 2020, Tang et al. 2020) and M2M-100 (Fan et al. 2020), which is
// also the format of NLLB-200, in transformers' format: https://github.com/huggingface/transformers,
// src/transformers/models/bart, mbart, m2m_100. The layers are those of pair_layers.h. The decoder starts
// from </s>, in mBART for 25 languages from the code of the target's language. Models of many languages are
// told the language of the translation by its first token, forced_bos_token_id (generation.h).
#include <algorithm>
#include <optional>
#include <string_view>

#include "models/config_json.h"
#include "models/foreign/families.h"
#include "models/foreign/generation.h"
#include "models/foreign/pair_layers.h"
#include "models/model_file.h"
#include "models/transformer.h"
#include "text/foreign_sentencepiece.h"
#include "text/languages.h"
#include "text/tokenizer_config.h"

namespace heed::foreign {
namespace bart {
namespace {

struct Kind {
  std::string_view type, name, architecture;
  PairDefaults defaults;
  std::optional<std::int32_t> start;  ///< default of decoder_start_token_id; none: bos_token_id
  std::string_view norm, positions;
  bool embedding_norm;
};
const Kind kKinds[] = {
    {"m2m_100",
     "M2M-100",
     "M2M100ForConditionalGeneration",
     {128112, 0.1, "relu", true},
     2,
     "pre",
     "sinusoidal_t2t",
     false},
    {"mbart",
     "mBART",
     "MBartForConditionalGeneration",
     {50265, 0, "gelu", false},
     {},
     "pre",
     "learned",
     true},
    {"bart", "BART", "BartForConditionalGeneration", {50265, 0, "gelu", false}, 2, "post", "learned", true}};
constexpr std::string_view kLearned = "learned";

/// The row of the first position: fairseq counts from the id of pad on, and learned tables were made for a
/// pad of 1.
std::int64_t first_position(const Kind& kind, const SpecialIds& special) {
  return kind.positions == kLearned ? 2 : std::int64_t{special.pad} + 1;
}

/// The kind that a model is or comes closest to.
const Kind& kind_of(const TransformerConfig& config) {
  return *std::ranges::find_if(kKinds, [&](const Kind& kind) {
    return kind.type == "bart" ||
           (config.norm == kind.norm && (config.positions == kLearned) == (kind.positions == kLearned));
  });
}

bool recognises(const Source& source) {
  return std::ranges::find(kKinds, source.model_type(), &Kind::type) != std::end(kKinds);
}

TransformerConfig config_of(ConfigFields& fields, const Kind& kind, const SpecialIds& special) {
  TransformerConfig config = read_pair(fields, kind.defaults);
  config.norm = kind.norm;
  config.positions = kind.positions;
  config.embedding_norm = kind.embedding_norm;
  config.position_offset = first_position(kind, special);
  // Of their forerunners: what is not so was never converted.
  const bool is_pre = config.norm == "pre";
  for (const char* name : {"normalize_before", "add_final_layer_norm"}) fields.expect(name, {is_pre});
  fields.expect("normalize_embedding", {kind.embedding_norm});
  fields.expect("static_position_embeddings", {kind.positions != kLearned});
  fields.expect("add_bias_logits", {false});
  return config;
}

/// The code of the language that tgt_lang of tokenizer_config.json names; kAbsent if it names none. Throws Error
/// if there is no such language.
std::int32_t stated_target(const Source& source, const text::Tokenizer& tokenizer) {
  if (source.file(text::kTokenizerConfigFile).empty() || tokenizer.languages().empty())
    return SpecialIds::kAbsent;
  return text::stated_language(text::TokenizerConfig(source.path()), "tgt_lang", tokenizer.vocabulary(),
                               tokenizer.languages());
}

ForeignModel describe(const Source& source) {
  const Kind& kind = *std::ranges::find(kKinds, source.model_type(), &Kind::type);
  ConfigFields fields = source.config();
  fields.without_effect_in_any_model();
  ForeignModel found;
  found.kind = kind.name;
  SpecialIds special = kNoSpecialIds;
  special.eos = fields.id("eos_token_id", 2);
  special.pad = fields.id("pad_token_id", 1);
  special.cls = fields.id("bos_token_id", 0);  // which begins texts, but not what a decoder reads
  special.bos = fields.id("decoder_start_token_id", kind.start.value_or(special.cls));
  if (special.cls == special.eos || special.cls == special.pad) special.cls = SpecialIds::kAbsent;
  if (fields.states_null("pad_token_id")) fields.refuse("pad_token_id", "an id");
  TransformerConfig config = config_of(fields, kind, special);
  found.search = generation_of(source, fields, special, config.target_vocab_size, found.notes,
                               kind.positions == kLearned ? 2 : SpecialIds::kAbsent);
  choose_pair_ties(source, fields, true, config, found.notes);
  config.output_bias = has_pair_bias(source);
  fields.finish();
  check_config(config);
  found.config_json = to_json(config);
  found.mappings = pair_mappings(config, true);
  found.source = found.target = tokenizer_of(source, config.source_vocab_size, special, found.notes);
  if (found.search->first_token == SpecialIds::kAbsent && !found.target->is_language(special.bos))
    found.search->first_token = stated_target(source, *found.target);
  found.formulas = {
      {"positions", config.positions}, {"activation", config.activation}, {"norm_epsilon", "1e-5"}};
  return found;
}

/// Adds the files of a SentencePiece tokenizer with codes of languages, if it is one.
void add_tokenizer(const text::Tokenizer& tokenizer, const Kind& kind, const SearchSettings& search,
                   Exported& out) {
  const std::vector<std::int32_t>& codes = tokenizer.languages();
  if (tokenizer.type() != text::kSentencePieceType || codes.empty()) return;
  const bool is_m2m = tokenizer.piece(codes.front()).starts_with("__");
  const std::vector<std::int32_t> frame = tokenizer.sentence("");
  const bool is_last = !frame.empty() && tokenizer.is_language(frame.back());
  const auto name = [&](std::int64_t id) {
    const std::string& code = tokenizer.piece(static_cast<std::int32_t>(id));
    return Json(is_m2m ? code.substr(2, code.size() - 4) : code);
  };
  Json config{{"tokenizer_class", is_m2m                       ? "M2M100Tokenizer"
                                  : kind.positions != kLearned ? "NllbTokenizer"
                                  : is_last                    ? "MBartTokenizer"
                                                               : "MBart50Tokenizer"}};
  if (const std::int32_t source = tokenizer.source_language(); source != SpecialIds::kAbsent)
    config["src_lang"] = name(source);
  if (tokenizer.is_language(static_cast<std::int32_t>(search.first_token)))
    config["tgt_lang"] = name(search.first_token);
  std::vector<std::string> names;
  for (const std::int32_t code : codes) names.push_back(tokenizer.piece(code));
  bool states_ids = !is_m2m;
  if (is_m2m) {
    Json pieces = Json::object();
    for (std::int32_t id = 0; id < codes.front(); ++id) pieces[tokenizer.piece(id)] = id;
    out.files.emplace_back("vocab.json", pieces.dump() + "\n");
    if (names == text::m2m_codes("wmt21"))
      config["language_codes"] = "wmt21";
    else
      states_ids = names != text::m2m_codes("m2m100");
  } else {
    config["legacy_behaviour"] = is_last;
    config["extra_special_tokens"] = names;
  }
  const std::int64_t end = std::min<std::int64_t>(tokenizer.size(), tokenizer.special().first_unused);
  const std::int32_t mask = tokenizer.special().mask;  // after the codes, or before them
  for (std::int32_t id = mask < 0 ? codes.front() : std::min(mask, codes.front()); states_ids && id < end;
       ++id)
    config["added_tokens_decoder"][std::to_string(id)] = {
        {"content", tokenizer.piece(id)}, {"lstrip", id == mask}, {"special", true}};
  out.files.emplace_back("sentencepiece.bpe.model", sentencepiece_of(tokenizer));
  out.files.emplace_back("tokenizer_config.json", config.dump(2) + "\n");
  out.has_tokenizer = true;
}

std::optional<Exported> express(const LoadedModel& loaded, std::vector<std::string>& reasons) {
  if (loaded.model->architecture != TransformerConfig::kArchitecture) return std::nullopt;
  TransformerConfig config;
  from_json(loaded.model->config_json, fields_of(config));
  const SpecialIds& special = loaded.target.special();
  const Kind& kind = kind_of(config);
  Requirements require(config, reasons);
  require.want("norm", {kind.norm});
  require.want("positions", {kind.positions});
  require.want("embedding_norm", {kind.embedding_norm});
  require.want("position_offset", {first_position(kind, special)});
  const std::string activation = require_pair(require, config);
  if (kind.positions == kLearned) require.keep("output_bias");
  if (special.bos == SpecialIds::kAbsent)
    reasons.push_back("the vocabulary has no bos, from which a decoder starts");
  const bool one_table =
      config.tied == "all" ||
      (config.tied == "none" &&
       are_equal(loaded.model->parameters, "encoder/embedding/weight", "decoder/embedding/weight"));
  if (loaded.source.digest() != loaded.target.digest() || !one_table)
    reasons.push_back("the sides have vocabularies or tables of their own, wanted one");
  if (!require.are_met()) return std::nullopt;

  Exported out;
  out.mappings = pair_mappings(config, true);
  out.config = {{"architectures", {kind.architecture}},
                {"model_type", kind.type},
                {"activation_function", activation},
                {"decoder_start_token_id", special.bos}};
  state_pair(config, out.config);
  state_decoder_ids(special, out.config);
  const SearchSettings search = search_settings_of(loaded.origin).value_or(SearchSettings{});
  out.config["bos_token_id"] = special.cls == SpecialIds::kAbsent ? Json() : Json(special.cls);
  if (kind.positions == kLearned)
    out.config["forced_eos_token_id"] = search.forced_eos ? Json(special.eos) : Json();
  out.files.emplace_back("generation_config.json", generation_json(search, special));
  add_tokenizer(loaded.target, kind, search, out);
  return out;
}

}  // namespace
}  // namespace bart

const Family kBart{"bart, mbart, m2m_100", bart::recognises, bart::describe, bart::express};

}  // namespace heed::foreign
