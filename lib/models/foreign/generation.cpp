#include "models/foreign/generation.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/error.h"
#include "tensor/tensor_map.h"
#include "text/foreign_json.h"

namespace heed::foreign {
namespace {

/// Fields of generation_config.json, beside those that config.json may have too: provenance, time limits of a
/// call, sampling, and implementation choices that do not change the result.
constexpr std::string_view kOtherSettings =
    "_from_model_config bos_token_id eos_token_id pad_token_id decoder_start_token_id max_time "
    "stop_strings min_p top_h epsilon_cutoff eta_cutoff low_memory token_healing watermarking_config "
    "output_logits cache_implementation cache_config return_legacy_cache prefill_chunk_size "
    "compile_config disable_compile generation_kwargs custom_generate continuous_batching_config "
    "dola_layers is_assistant num_assistant_tokens num_assistant_tokens_schedule "
    "assistant_confidence_threshold assistant_early_exit assistant_lookbehind target_lookbehind "
    "prompt_lookup_num_tokens max_matching_ngram_size trust_remote_code";

/// More than any model has.
constexpr std::size_t kMostEnds = 64;

/// The fields of generation_config.json; none if there is no such file.
Json generation_json_of(const Source& source) {
  const std::string path = source.file("generation_config.json");
  return path.empty() ? Json::object() : read_json_object(path);
}

ConfigFields generation_fields(const Source& source, const ConfigFields& config) {
  return config.beside("generation_config.json", generation_json_of(source));
}

/// The ids of a field that has one or a list of them.
Json ids_of(ConfigFields& fields, const char* name) {
  const Json& stated = fields.get(name);
  return stated.is_array() ? stated : stated.is_null() ? Json::array() : Json::array({stated});
}

/// `apart`: those of generation_config.json, whose reasons go to config.
std::string ends_of(ConfigFields& config, ConfigFields& apart, std::int32_t eos, std::int64_t rows,
                    std::vector<std::string>& notes) {
  const char* name = "eos_token_id";
  std::set<std::int32_t> ends;
  const Json own = ids_of(config, name);
  std::int64_t stale = 0;
  for (std::size_t i = 1; i < own.size(); ++i) {  // the first is eos
    if (!text::is_id(own[i])) {
      config.refuse(name, "ids");
      break;
    }
    if (own[i] >= rows)
      ++stale;
    else if (own[i] != eos)
      ends.insert(own[i].get<std::int32_t>());
  }
  if (stale > 0)
    notes.push_back(concat(name, " has ", stale, " ids that none of ", rows, " rows is: they end nothing"));
  for (const Json& id : ids_of(apart, name)) {
    if (!text::is_id(id) || id >= rows) {
      config.refuse(concat("generation_config.json/", name, " has ", text::Object::shown(id),
                           ", wanted ids below the vocabulary's ", rows));
      break;
    }
    if (id != eos) ends.insert(id.get<std::int32_t>());
  }
  if (ends.size() > kMostEnds) config.refuse(name, concat("at most ", kMostEnds, " ids"));
  std::string words;
  for (const std::int32_t id : ends) words += concat(words.empty() ? "" : " ", id);
  return words;
}

}  // namespace

std::string more_ends_of(const Source& source, ConfigFields& config, std::int32_t eos, std::int64_t rows,
                         std::vector<std::string>& notes) {
  ConfigFields apart = generation_fields(source, config);
  return ends_of(config, apart, eos, rows, notes);
}

void state_ends(const SearchSettings& search, std::int32_t eos, Json& config) {
  const std::vector<std::int32_t> ends = more_ends(search);
  if (ends.empty()) return;
  config["eos_token_id"] = Json::array({eos});
  for (const std::int32_t id : ends) config["eos_token_id"].push_back(id);
}

SearchSettings generation_of(const Source& source, ConfigFields& config, const SpecialIds& target,
                             std::int64_t rows, std::vector<std::string>& notes, std::int32_t forced_eos) {
  ConfigFields apart = generation_fields(source, config);
  ConfigFields& fields = source.file("generation_config.json").empty() ? config : apart;
  config.without_effect("forced_eos_token_id bad_words_ids renormalize_logits max_new_tokens");
  apart.without_effect_in_any_model();
  apart.without_effect(kOtherSettings);
  if (const char* name = "decoder_start_token_id"; target.bos < 0 || target.bos >= rows)
    config.refuse(name, concat("an id below the vocabulary's ", rows));
  else if (apart.has(name) && apart.id(name) != target.bos)
    apart.refuse(name, concat(target.bos, ", as config.json has it"));
  if (const Json ends = ids_of(apart, "eos_token_id");
      !ends.empty() && text::is_id(ends[0]) && ends[0] < rows && ends[0] != target.eos)
    apart.refuse("eos_token_id", concat(target.eos, ", as config.json has it"));

  SearchSettings settings;
  settings.beam = fields.number("num_beams", 1);
  settings.length_penalty = fields.real("length_penalty", 1);
  // max_length includes the start token.
  if (const std::int64_t length = fields.number("max_length", 0); length > 1)
    settings.max_length = length - 1;
  settings.max_length = fields.number("max_new_tokens", settings.max_length);
  fields.expect("early_stopping", {false, true, "never"});
  const Json early = fields.get("early_stopping");
  settings.seeks_best = early.is_null() || early == Json(false);
  if (!settings.seeks_best && early != Json(true))
    notes.push_back("early_stopping = " + early.dump() + " is taken for true");
  if (&fields == &apart || config.states_null("forced_eos_token_id")) forced_eos = SpecialIds::kAbsent;
  const std::int32_t forced = fields.id("forced_eos_token_id", forced_eos);
  settings.forced_eos = forced != SpecialIds::kAbsent && forced == target.eos;
  const std::int32_t first = fields.id("forced_bos_token_id", SpecialIds::kAbsent);
  if (first >= rows) fields.refuse("forced_bos_token_id", concat("an id below the vocabulary's ", rows));
  settings.first_token = first;
  settings.renormalized = fields.flag("renormalize_logits", false);
  settings.more_ends = ends_of(config, apart, target.eos, rows, notes);

  for (const Json& words : fields.get("bad_words_ids")) {
    const bool never = words.is_array() && words.size() == 1 && words[0].is_number_unsigned() &&
                       (words[0] == Json(target.pad) || words[0] == Json(target.bos));
    if (!never) fields.refuse("bad_words_ids has " + escaped(words.dump(), 100) + ", wanted [pad] only");
  }
  for (const auto& [name, plain] : {std::pair("no_repeat_ngram_size", 0.0),
                                    {"encoder_no_repeat_ngram_size", 0.0},
                                    {"min_length", 0.0},
                                    {"min_new_tokens", 0.0},
                                    {"encoder_repetition_penalty", 1.0},
                                    {"guidance_scale", 1.0},
                                    {"penalty_alpha", 0.0},
                                    {"num_beam_groups", 1.0},
                                    {"repetition_penalty", 1.0},
                                    {"diversity_penalty", 0.0}})
    if (const double value = fields.real(name, plain); value != plain)
      notes.push_back(concat(name, " = ", value, ": heed searches without it"));
  for (const char* name : {"suppress_tokens", "begin_suppress_tokens"})
    if (fields.has(name) && !fields.get(name).empty())
      notes.push_back(concat(name, ": heed searches without it"));
  for (const char* name : {"sequence_bias", "force_words_ids", "constraints"}) fields.expect(name, {});
  config.merge(apart);
  return settings;
}

std::string generation_json(const SearchSettings& search, const SpecialIds& target) {
  Json json{{"num_beams", search.beam},
            {"length_penalty", search.length_penalty},
            {"early_stopping", !search.seeks_best},
            {"decoder_start_token_id", target.bos},
            {"eos_token_id", target.eos}};
  state_ends(search, target.eos, json);
  if (target.pad != SpecialIds::kAbsent) json["pad_token_id"] = target.pad;
  Json never = Json::array();
  for (const std::int32_t id : {target.pad, target.bos})
    if (!target.produced(id) && id != SpecialIds::kAbsent &&
        std::ranges::find(never, Json::array({id})) == never.end())
      never.push_back(Json::array({id}));
  json["bad_words_ids"] = never;
  if (search.max_length > 0) json["max_length"] = search.max_length + 1;
  if (search.forced_eos) json["forced_eos_token_id"] = target.eos;
  if (search.first_token != SpecialIds::kAbsent) json["forced_bos_token_id"] = search.first_token;
  if (search.renormalized) json["renormalize_logits"] = true;
  return json.dump(2) + "\n";
}

std::string sentencepiece_of(const text::Tokenizer& tokenizer) {
  const TensorMap map = tokenizer.to_map();
  const Tensor* model = map.find("vocabulary/sentencepiece");
  if (!model) return "";
  const auto bytes = model->values<std::uint8_t>();
  return {bytes.begin(), bytes.end()};
}

std::string pieces_json(const text::Tokenizer& tokenizer) {
  Json json = Json::object();
  const std::int64_t count = std::min<std::int64_t>(tokenizer.size(), tokenizer.special().first_unused);
  for (std::int32_t id = 0; id < count; ++id) json[tokenizer.piece(id)] = id;
  return json.dump() + "\n";
}

}  // namespace heed::foreign
