#include "models/foreign/config_fields.h"

#include <algorithm>

#include "base/error.h"
#include "base/special_ids.h"
#include "text/bounded_json.h"
#include "text/foreign_json.h"
#include "text/unicode.h"

namespace heed::foreign {
namespace {

std::string shown(const Json& value) {
  return escaped(value.dump(-1, ' ', false, Json::error_handler_t::replace), 100);
}

bool is_natural(const Json& value) {
  return value.is_number_unsigned() && value.get<std::uint64_t>() <= INT32_MAX;
}

}  // namespace

std::string listed(const std::vector<std::string>& reasons) {
  if (reasons.size() <= kMostListed) return joined(reasons, "; ");
  return concat(joined({reasons.begin(), reasons.begin() + kMostListed}, "; "), "; and ",
                reasons.size() - kMostListed, " more");
}

Json read_json(const std::string& path) {
  return text::parse_bounded_json(text::read_foreign_file(path), escaped(path));
}

Json read_json_object(const std::string& path) {
  Json json = read_json(path);
  if (!json.is_object()) fail(escaped(path), ": not a JSON object: damaged?");
  return json;
}

ConfigFields::ConfigFields(Json json, std::string where, const std::vector<std::string>& ignored)
    : json_(std::move(json)),
      where_(std::move(where)),
      ignored_(std::make_shared<std::set<std::string>>(ignored.begin(), ignored.end())) {
  if (!json_.is_object()) fail(where_, ": wanted an object, got ", shown(json_));
  leave_out_ignored();
}

void ConfigFields::leave_out_ignored() {
  std::erase_if(*ignored_, [&](const std::string& name) {
    return name.starts_with(prefix_) && json_.erase(name.substr(prefix_.size())) > 0;
  });
}

ConfigFields ConfigFields::within(Json json, const std::string& prefix) const {
  ConfigFields inner(std::move(json), where_);
  inner.prefix_ = prefix;
  inner.ignored_ = ignored_;
  inner.leave_out_ignored();
  return inner;
}

ConfigFields ConfigFields::beside(const std::string& file, Json json) const {
  return within(std::move(json), file + "/");
}

const Json* ConfigFields::find(const std::string& name) {
  known_.insert(name);
  const auto found = json_.find(name);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

bool ConfigFields::has(const std::string& name) const {
  const auto found = json_.find(name);
  return found != json_.end() && !found->is_null();
}

const Json& ConfigFields::get(const std::string& name) {
  static const Json null;
  const Json* value = find(name);
  return value ? *value : null;
}

std::int64_t ConfigFields::number(const std::string& name, std::optional<std::int64_t> otherwise) {
  const Json* value = find(name);
  if (value && is_natural(*value)) return value->get<std::int64_t>();
  if (value || !otherwise) refuse(name, concat("an integer from 0 to ", INT32_MAX));
  return otherwise.value_or(1);
}

double ConfigFields::real(const std::string& name, std::optional<double> otherwise) {
  const Json* value = find(name);
  if (value && value->is_number()) return value->get<double>();
  if (value || !otherwise) refuse(name, "a number");
  return otherwise.value_or(1);
}

bool ConfigFields::flag(const std::string& name, std::optional<bool> otherwise) {
  const Json* value = find(name);
  if (value && value->is_boolean()) return value->get<bool>();
  if (value || !otherwise) refuse(name, "true or false");
  return otherwise.value_or(false);
}

std::string ConfigFields::word(const std::string& name, std::optional<std::string> otherwise) {
  const Json* value = find(name);
  if (value && value->is_string()) return value->get<std::string>();
  if (value || !otherwise) refuse(name, "a word");
  return otherwise.value_or("");
}

std::int32_t ConfigFields::id(const std::string& name, std::optional<std::int32_t> otherwise) {
  const Json* value = find(name);
  if (!value) return otherwise.value_or(SpecialIds::kAbsent);
  const Json& first = value->is_array() && !value->empty() ? value->front() : *value;
  if (is_natural(first)) return first.get<std::int32_t>();
  if (!(first.is_number_integer() && first == -1)) refuse(name, "an id");
  return SpecialIds::kAbsent;
}

std::string ConfigFields::choice(const std::string& name, const std::string& otherwise,
                                 std::initializer_list<std::pair<const char*, const char*>> words) {
  const Json* value = find(name);
  const std::string theirs = value && value->is_string() ? value->get<std::string>() : otherwise;
  std::vector<std::string> known;
  for (const auto& [word, ours] : words) {
    if (theirs == word && (!value || value->is_string())) return ours;
    known.emplace_back(word);
  }
  refuse(name, alternatives(known));
  return words.begin()->second;
}

void ConfigFields::expect(const std::string& name, std::initializer_list<Json> supported) {
  const Json* value = find(name);
  if (!value || std::ranges::find(supported, *value) != supported.end()) return;
  std::vector<std::string> known;
  for (const Json& each : supported) known.push_back(shown(each));
  refuse(name, alternatives(known));
}

void ConfigFields::without_effect(std::string_view names) {
  for (const std::string_view name : text::split_any(names, " ")) known_.emplace(name);
}

void ConfigFields::without_effect_in_any_model() {
  // The file and its program.
  without_effect(
      "architectures model_type auto_map transformers_version _name_or_path name_or_path _commit_hash "
      "dtype torch_dtype _attn_implementation attn_implementation _attn_implementation_autoset "
      "torchscript tokenizer_class prefix return_dict output_attentions output_hidden_states use_cache "
      "use_bfloat16 tf_legacy_loss chunk_size_feed_forward gradient_checkpointing problem_type "
      "finetuning_task task_specific_params id2label label2id num_labels initializer_range "
      "initializer_factor pretraining_tp");
  // Defaults of a call that generates text.
  without_effect(
      "max_length min_length do_sample early_stopping num_beams num_beam_groups diversity_penalty "
      "temperature top_k top_p typical_p repetition_penalty length_penalty no_repeat_ngram_size "
      "encoder_no_repeat_ngram_size num_return_sequences output_scores return_dict_in_generate "
      "forced_bos_token_id remove_invalid_values exponential_decay_length_penalty suppress_tokens "
      "begin_suppress_tokens");
  expect("quantization_config", {});
  expect("pruned_heads", {Json::object()});
  expect("is_encoder_decoder", {false, true});
}

void ConfigFields::refuse(const std::string& name, const std::string& wanted) {
  const auto found = json_.find(name);
  const bool there = found != json_.end();
  known_.insert(name);
  reasons_.push_back(concat(prefix_, name, there ? concat(" is ", shown(*found)) : " is missing",
                            wanted.empty() ? ", which is not supported" : ", wanted " + wanted));
}

void ConfigFields::refuse(const std::string& reason) {
  reasons_.push_back(reason);
}

ConfigFields ConfigFields::object(const std::string& name) {
  const Json* value = find(name);
  if (value && !value->is_object()) refuse(name, "an object");
  return within(value && value->is_object() ? *value : Json::object(), prefix_ + name + ".");
}

std::vector<std::string> ConfigFields::unknown() const {
  std::vector<std::string> list;
  for (const auto& [name, value] : json_.items())
    if (!known_.contains(name) && !value.is_null())
      list.push_back(concat("the field ", prefix_, escaped(name), " = ", shown(value),
                            " is unknown (--ignore-field does without it)"));
  return list;
}

void ConfigFields::merge(const ConfigFields& object) {
  reasons_.insert(reasons_.end(), object.reasons_.begin(), object.reasons_.end());
  const std::vector<std::string> more = object.unknown();
  reasons_.insert(reasons_.end(), more.begin(), more.end());
}

void ConfigFields::finish() const {
  if (!ignored_->empty())
    fail<OptionError>(where_, ": no field ", escaped(*ignored_->begin()), " to be ignored");
  std::vector<std::string> all = reasons_;
  const std::vector<std::string> more = unknown();
  all.insert(all.end(), more.begin(), more.end());
  if (!all.empty()) fail(where_, ": this model cannot be imported: ", listed(all));
}

}  // namespace heed::foreign
