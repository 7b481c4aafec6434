#include "models/foreign/generation.h"

#include "base/error.h"

namespace heed::foreign {

SearchSettings generation_of(const Source& source, ConfigFields& config, const SpecialIds& target,
                             std::vector<std::string>& notes) {
  const std::string path = source.file("generation_config.json");
  ConfigFields apart(path.empty() ? Json::object() : read_json_object(path), escaped(path));
  ConfigFields& fields = path.empty() ? config : apart;
  config.without_effect({"forced_eos_token_id", "bad_words_ids", "renormalize_logits", "max_new_tokens"});

  SearchSettings settings;
  settings.beam = fields.number("num_beams", 1);
  settings.length_penalty = fields.real("length_penalty", 1);
  // What is generated follows the start.
  if (const std::int64_t length = fields.number("max_length", 0); length > 1)
    settings.max_length = length - 1;
  settings.max_length = fields.number("max_new_tokens", settings.max_length);
  const Json early = fields.get("early_stopping");
  settings.seeks_best = early.is_null() || early == Json(false);
  if (!settings.seeks_best && early != Json(true))
    notes.push_back("early_stopping = " + early.dump() + " is taken for true");
  const std::int32_t forced = fields.id("forced_eos_token_id", SpecialIds::kAbsent);
  settings.forced_eos = forced != SpecialIds::kAbsent && forced == target.eos;
  settings.renormalized = fields.flag("renormalize_logits", false);

  for (const Json& words : fields.get("bad_words_ids")) {
    const bool never = words.is_array() && words.size() == 1 && words[0].is_number_unsigned() &&
                       (words[0] == Json(target.pad) || words[0] == Json(target.bos));
    if (!never) config.refuse("bad_words_ids has " + escaped(words.dump(), 100) + ", wanted [pad] only");
  }
  for (const auto& [name, plain] : {std::pair("no_repeat_ngram_size", 0.0),
                                    {"encoder_no_repeat_ngram_size", 0.0},
                                    {"min_length", 0.0},
                                    {"num_beam_groups", 1.0},
                                    {"repetition_penalty", 1.0},
                                    {"diversity_penalty", 0.0}})
    if (const double value = fields.real(name, plain); value != plain)
      notes.push_back(concat(name, " = ", value, ": heed searches without it"));
  if (fields.has("forced_bos_token_id")) config.refuse("forced_bos_token_id, which is not supported");
  return settings;
}

}  // namespace heed::foreign
