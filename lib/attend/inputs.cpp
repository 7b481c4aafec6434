#include "attend/inputs.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/paths.h"
#include "io/foreign/array_file.h"

namespace heed {

namespace {

/// A name without a suffix is taken as a tensor's, whatever files exist.
bool is_file_name(const std::string& path) {
  if (!path.starts_with('/') && leaf_of(path).find('.') == std::string::npos && !path.starts_with('.'))
    return false;
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  return !error && std::filesystem::exists(status) && !std::filesystem::is_directory(status);
}

}  // namespace

TensorAddress tensor_address(const std::string& option, const std::string& text) {
  const std::size_t colon = text.rfind(':');
  TensorAddress address;
  if (colon == std::string::npos && is_file_name(text)) return {text, ""};
  for (const char* suffix : {".h5", ".hdf5", ".npy", ".npz", ".safetensors", ".tsv", ".csv", ".txt"})
    if (colon == std::string::npos && text.ends_with(suffix))
      fail(option, ": ", escaped(text), ": there is no such file");
  if (colon != std::string::npos) address.file = text.substr(0, colon);
  address.path = without_root(colon == std::string::npos ? text : text.substr(colon + 1));
  if (address.path.empty() || colon == 0) {
    fail<UsageError>(option, ": got '", escaped(text),
                     "', wanted FILE:PATH or the PATH of a tensor in INPUT");
  }
  return address;
}

namespace {

/// The path of the lengths of a tensor's sentences: beside it, by the name used in its group.
std::string length_of(const std::string& path) {
  const std::string group = parent_of(path), leaf = leaf_of(path);
  if (group != "attention") return group.empty() ? "length" : group + "/length";
  return leaf == "key_vector" || leaf == "value_vector" ? "attention/key_length" : "attention/query_length";
}

/// For a file of another program's arrays, which may be a whole model: the arrays named by the options, and
/// their lengths. Empty, which means all, for other files, for INPUT, which is passed on, and if one is
/// missing.
std::vector<std::string> named_arrays(const std::string& file, const AttendConfig& config) {
  if (!io::is_array_file(file)) return {};
  const auto arrays = io::ArrayFile::open(file);
  std::set<std::string> present;
  for (const io::ArrayInfo& array : arrays->arrays()) present.insert(array.name);
  std::vector<std::string> names;
  std::vector<std::pair<const char*, std::string>> addresses{
      {"--query", config.query},           {"--key", config.key},
      {"--value", config.value},           {"--past-key", config.past_key},
      {"--past-value", config.past_value}, {"--bias", config.bias}};
  for (const std::string& mask : mask_words(config.mask).tensors) addresses.emplace_back("--mask", mask);
  for (const auto& [option, text] : addresses) {
    if (text.empty()) continue;
    const TensorAddress address = tensor_address(option, text);
    if (address.file != file) continue;
    if (address.path.empty() || !present.contains(address.path)) return {};
    names.push_back(address.path);
    if (present.contains(length_of(address.path))) names.push_back(length_of(address.path));
  }
  return names;
}

}  // namespace

template <class Work>
decltype(auto) AttendInputs::hinting(const Work& work) const {
  try {
    return work();
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    if (hint_.empty()) throw;
    fail(error.what(), hint_);
  }
}

AttendInputs::AttendInputs(const AttendConfig& config, const std::vector<std::string>& input,
                           std::int64_t batch)
    : input_(input), query_(place("--query", config.query, config, batch)), key_(query_), value_(query_) {
  if (!config.key.empty()) key_ = place("--key", config.key, config, batch);
  value_ = config.value.empty() ? key_ : place("--value", config.value, config, batch);
  for (const std::string& mask : mask_words(config.mask).tensors)
    masks_.push_back(place("--mask", mask, config, batch));
  if (!config.past_key.empty()) past_key_ = place("--past-key", config.past_key, config, batch);
  if (!config.past_value.empty()) past_value_ = place("--past-value", config.past_value, config, batch);
  if (!config.bias.empty()) bias_ = place("--bias", config.bias, config, batch);
  const bool reads_input = std::any_of(sources_.begin(), sources_.end(),
                                       [&](const Source& source) { return source.paths == input; });
  if (input != std::vector<std::string>{"-"} && !reads_input) {
    fail<UsageError>("INPUT ", escaped(joined(input, " ")),
                     " is not read: every tensor comes from a file of its own");
  }
}

AttendInputs::Place AttendInputs::place(const std::string& option, const std::string& text,
                                        const AttendConfig& config, std::int64_t batch) {
  const TensorAddress address = tensor_address(option, text);
  std::error_code none;
  if (address.file.empty() && std::filesystem::is_regular_file(text, none))
    hint_ = concat("; ", option, " ", escaped(text), " is taken as a tensor of INPUT: the file is ./",
                   escaped(text));
  const auto paths = address.file.empty() ? input_ : std::vector{address.file};
  auto known = std::find_if(sources_.begin(), sources_.end(),
                            [&](const Source& source) { return source.paths == paths; });
  if (known == sources_.end()) {
    const io::ReadOptions reading{
        .batch = batch,
        .only = paths == input_ ? std::vector<std::string>{} : named_arrays(address.file, config)};
    hinting([&] {
      sources_.push_back({paths, std::make_unique<io::FrameReader>(paths, reading), {}, true, 0});
    });
    known = sources_.end() - 1;
  }
  return {static_cast<std::size_t>(known - sources_.begin()), address.path};
}

std::string AttendInputs::path_of(const Place& place) const {
  if (!place.path.empty()) return place.path;
  const Source& source = sources_[place.source];
  const auto& tensors = source.frame.tensors();
  if (tensors.size() == 1) return tensors.front().first;
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) names.push_back(name);
  fail(source.reader->name(), ": holds ", tensors.size(), " arrays: name one as FILE:PATH; there are ",
       listed_paths(names));
}

Operand AttendInputs::operand(const Place& place) const {
  const Source& source = sources_[place.source];
  const std::string path = path_of(place);
  Operand operand;
  operand.name = source.reader->name() + ":/" + escaped(path);
  try {
    operand.tensor = &source.frame.at(path);
  } catch (const Error& e) {
    const bool lacks_embed = path.starts_with("embeddings/") && source.frame.contains("tokens/ids");
    fail(source.reader->name(), ": ", e.what(),
         lacks_embed ? ": it is the output of tokenize: pipe it through embed first" : "");
  }
  operand.length_name = length_of(path);
  operand.length = source.frame.find(operand.length_name);
  return operand;
}

bool AttendInputs::next(AttendOperands& operands) {
  return hinting([&] { return read(operands); });
}

bool AttendInputs::read(AttendOperands& operands) {
  const Source *ended = nullptr, *going_on = nullptr;
  for (Source& source : sources_) {
    TensorMap frame;
    if (source.reader->next(frame)) {
      source.frame = std::move(frame);
      ++source.frames;
      going_on = &source;
    } else if (source.frames == 0) {
      return false;
    } else if (!source.shared) {
      ended = &source;
    }
  }
  if (!going_on) return false;
  if (ended) {
    fail(ended->reader->name(), ": ends after ", ended->frames, " frames, but ", going_on->reader->name(),
         " continues: do they hold the same sentences?");
  }
  operands.query = operand(query_);
  operands.key = operand(key_);
  operands.value = operand(value_);
  operands.masks.clear();
  for (const Place& mask : masks_) operands.masks.push_back(operand(mask));
  const auto if_given = [&](const std::optional<Place>& place) {
    return place ? std::optional(operand(*place)) : std::nullopt;
  };
  operands.bias = if_given(bias_);
  operands.past_key = if_given(past_key_);
  operands.past_value = if_given(past_value_);
  auto note_sentences = [&](const Place& place, std::size_t rank_without) {
    if (belongs_to_sentences(place, rank_without)) sources_[place.source].shared = false;
  };
  for (const Place& place : {query_, key_, value_}) note_sentences(place, 2);
  for (const Place& mask : masks_) note_sentences(mask, 2);
  for (const auto& past : {past_key_, past_value_})
    if (past) note_sentences(*past, 2);
  if (bias_) note_sentences(*bias_, 3);
  return true;
}

bool AttendInputs::belongs_to_sentences(const Place& place, std::size_t rank_without) const {
  const Tensor& tensor = sources_[place.source].frame.at(path_of(place));
  return tensor.shape().size() > rank_without || (!tensor.dims().empty() && tensor.dims()[0] == "sentence");
}

TensorMap AttendInputs::take_rest() {
  for (Source& source : sources_) {
    if (source.paths == input_) return source.shared ? source.frame : std::move(source.frame);
  }
  return {};
}

bool AttendInputs::has_tokens(const Place& place) const {
  return sources_[place.source].paths == input_ &&
         (place.path.starts_with("embeddings/") || place.path.starts_with("encoder/"));
}

}  // namespace heed
