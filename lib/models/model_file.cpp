#include "models/model_file.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/digest.h"
#include "base/error.h"
#include "base/paths.h"
#include "io/frame_stream.h"
#include "io/provenance.h"
#include "io/superblock.h"
#include "models/foreign/import.h"

namespace heed {

namespace {

constexpr const char* kConfigPath = "model/config";
constexpr const char* kDigestsPath = "model/digests";
constexpr const char* kClassesPath = "model/classes";
constexpr const char* kOriginPath = "model/origin";

template <class T>
std::string digest_of(std::span<const T> values) {
  return sha256_hex({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
}

std::string digest_of(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::u8:
      return digest_of(tensor.values<std::uint8_t>());
    case DType::string: {
      std::string all;
      for (const std::string& text : tensor.values<std::string>())
        all.append(std::to_string(text.size())).append(":").append(text);
      return sha256_hex(all);
    }
    default:
      fail("model digest: no digest of ", name_of(tensor.dtype()));
  }
}

std::string digest_of(Matrix<const float> m) {
  Sha256 sha;
  for (std::int64_t i = 0; i < m.rows; ++i)
    sha.add({reinterpret_cast<const char*>(m.row(i)), static_cast<std::size_t>(m.cols) * sizeof(float)});
  return sha.hex();
}

std::string line_of(const std::string& path, const Shape& shape, const std::string& digest) {
  return concat(path, ' ', to_string(shape), ' ', digest);
}

/// content_digests, of the parameters in `flat`.
std::string digests_of(const ParameterSet<float>& parameters, std::span<const float> flat,
                       const TensorMap& vocabularies, const LinesLeftOut& left_out = {}) {
  std::vector<std::string> lines;
  const auto add_left_out = [&] {
    for (auto at = left_out.find(lines.size()); at != left_out.end(); at = left_out.find(lines.size()))
      lines.push_back(at->second);
  };
  add_left_out();
  for (const Parameter& p : parameters.list()) {
    lines.push_back(digest_line(p, digest_of(p.in(flat.data()))));
    add_left_out();
  }
  for (const auto& [path, tensor] : vocabularies.tensors())
    lines.push_back(line_of(path, tensor.shape(), digest_of(tensor)));
  return joined(lines, "\n");
}

std::vector<std::string_view> lines_in(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
  }
  return lines;
}

/// Throws Error when a line of `computed` is not among those of `stated`.
void expect_stated(const std::string& path, const std::string& stated, const std::string& computed) {
  const std::vector<std::string_view> all = lines_in(stated);
  const std::set<std::string_view> known(all.begin(), all.end());
  for (const std::string_view line : lines_in(computed))
    if (!known.contains(line))
      fail(name_of_input(path), ":/", escaped(line.substr(0, line.find(' '))),
           ": its content is not that of /", kDigestsPath,
           ": was it edited? Remove the attribute model_digest to use it as it is");
}

const std::string& only_text(const std::string& path, const TensorMap& map, const char* name) {
  const Tensor* text = map.find(name);
  if (!text || text->dtype() != DType::string || text->size() != 1)
    fail(name_of_input(path), ": no model (no string ", name, "): was it written by train?");
  return text->values<std::string>().front();
}

const std::string& stated_config(const std::string& path, const TensorMap& map) {
  return only_text(path, map, kConfigPath);
}

void check_vocabulary(const std::string& path, const std::string& side, std::int64_t model,
                      std::int64_t vocabulary) {
  if (model == vocabulary) return;
  fail(name_of_input(path), ": the model has ", model, " ", side, " pieces, its vocabulary has ", vocabulary);
}

void check_digest(const std::string& path, const TensorMap& map, const std::string& computed) {
  const auto it = map.attributes.find(io::kModelDigest);
  if (it == map.attributes.end()) return;  // made by other programs
  const std::string* stated = std::get_if<std::string>(&it->second);
  if (!stated || *stated != computed) {
    fail(name_of_input(path), ": its content has the digest ", computed.substr(0, 12),
         ", its model_digest says ", stated ? escaped(stated->substr(0, 12)) : "something else",
         ": was it edited? Remove the attribute model_digest to use it as it is");
  }
}

}  // namespace

TensorMap vocabulary_map(const text::Tokenizer& source, const text::Tokenizer& target) {
  if (source.digest() == target.digest()) return target.to_map("model/vocabulary");
  TensorMap map = source.to_map("model/source_vocabulary");
  map.merge(target.to_map("model/target_vocabulary"));
  return map;
}

TensorMap classes_map(const std::vector<std::string>& classes) {
  TensorMap map;
  map.add(kClassesPath,
          Tensor::of<std::string>(classes, {static_cast<std::int64_t>(classes.size())}, {"class"}));
  return map;
}

TensorMap origin_map(const std::string& origin) {
  TensorMap map;
  map.add(kOriginPath, Tensor::of<std::string>({origin}, {1}, {"one"}));
  return map;
}

TensorMap provenance_map(const std::string& provenance) {
  TensorMap map;
  map.add("model/provenance", Tensor::of<std::string>({provenance}, {1}, {"one"}));
  return map;
}

std::string digest_line(const Parameter& parameter, const std::string& sha256) {
  return line_of(kParameterPrefix + parameter.name, parameter.shape, sha256);
}

std::string content_digests(const Model<float>& model, const TensorMap& vocabularies,
                            const LinesLeftOut& left_out) {
  return digests_of(model.parameters, model.parameters.values(), vocabularies, left_out);
}

std::string model_digest(const std::string& config, const std::string& digests) {
  return sha256_hex(config + '\n' + digests);
}

std::string model_digest(const std::string& config, const Model<float>& model,
                         const TensorMap& vocabularies) {
  return model_digest(config, content_digests(model, vocabularies));
}

TensorMap model_map(const Model<float>& model, const TensorMap& vocabularies, const TensorMap& training) {
  TensorMap map;
  map.add(kConfigPath, Tensor::of<std::string>({model.config_json}, {1}, {"one"}));
  const std::string digests = content_digests(model, vocabularies);
  map.add(kDigestsPath, Tensor::of<std::string>({digests}, {1}, {"one"}));
  model.parameters.to_map(model.parameters.values(), kParameterPrefix, map);
  map.merge(vocabularies);
  map.merge(training);
  map.groups["model"].attributes["architecture"] = model.architecture;
  map.attributes[io::kModelDigest] = model_digest(model.config_json, digests);
  return map;
}

std::string save_model(const std::string& path, const Model<float>& model, const TensorMap& vocabularies,
                       const TensorMap& training, const io::WriteOptions& options) {
  const TensorMap map = model_map(model, vocabularies, training);
  io::write_map(path, map, options);
  return std::get<std::string>(map.attributes.at(io::kModelDigest));
}

TensorMap texts_of(const LoadedModel& loaded) {
  TensorMap texts = vocabulary_map(loaded.source, loaded.target);
  if (loaded.model->classes) texts.merge(classes_map(loaded.classes));
  return texts;
}

namespace {

/// Gives a model of documents the vocabulary's pieces that end a sentence; SentencePiece's may begin with a
/// space.
void find_ends(Documents& documents, const text::Tokenizer& tokenizer, const std::string& path) {
  documents.eos = tokenizer.special().eos;
  documents.end_ids.clear();
  for (const std::string& end : documents.ends) {
    for (const std::string& piece : {end, "\u2581" + end})
      if (tokenizer.vocabulary().contains(piece))
        documents.end_ids.push_back(tokenizer.vocabulary().id(piece));
  }
  if (documents.end_ids.empty())
    fail(name_of_input(path), ": the vocabulary has none of the pieces that end a sentence (sentence_ends ",
         escaped(joined(documents.ends, " ")), "): is the text tokenized, with spaces before the stops?");
}

}  // namespace

void set_vocabularies(Model<float>& model, const text::Tokenizer& source, const text::Tokenizer& target,
                      const std::string& path) {
  const bool alone = model.decoder && !model.encoder;
  const std::vector<std::int32_t> around = target.sentence("");
  if (alone && target.ends_sentences() && around.size() > 1 && around.front() == target.special().bos)
    fail(name_of_input(path), ": the tokenizer puts both ", escaped(target.piece(target.special().bos)),
         " and ", escaped(target.piece(target.special().eos)),
         " around a text, wanted at most one of them for a decoder alone: leave out the end, as "
         "add_eos_token false does");
  if (model.documents) find_ends(*model.documents, source, path);
  model.source_special = source.special();
  model.target_special = target.special();
  model.reads_as_given = alone && !target.ends_sentences();
}

void complete(LoadedModel& loaded, const std::string& path, const std::string& config,
              const std::string& digests) {
  Model<float>& model = *loaded.model;
  for (const Side side : {Side::source, Side::target})
    if (model.has(side))
      check_vocabulary(path, name_of(side), model.sizes(side).vocab_size, loaded.tokenizer(side).size());
  set_vocabularies(model, loaded.source, loaded.target, path);
  loaded.digest = model_digest(config, digests.empty() ? content_digests(model, texts_of(loaded)) : digests);
}

namespace {

const std::vector<std::string> kVocabularies{"vocabulary", "model/vocabulary", "model/source_vocabulary",
                                             "model/target_vocabulary"};

/// Decided by name. If that is wrong, ParameterSet::leave_out reports it.
bool is_needed(const std::string& parameter, Needed needed, const Model<float>& model) {
  const bool is_pair = model.encoder && model.decoder, is_tied = model.words && model.words->tied;
  if (needed == Needed::everything || model.documents) return true;
  if (!is_pair && model.words && !is_tied && parameter == model.words->weight)
    return needed == Needed::decoder;
  const bool of_encoder = is_pair && parameter.starts_with("encoder/"),
             of_decoder = is_pair && parameter.starts_with("decoder/"),
             of_layer = parameter.find("/layer_") != std::string::npos,
             is_table = parameter.ends_with("embedding/weight");
  switch (needed) {
    case Needed::source_embedding:
      return !of_decoder && !of_layer;
    case Needed::target_embedding:
      return !of_encoder && !of_layer;
    case Needed::encoder:
      return !of_decoder && !is_table;
    default:
      if (!model.decoder) return !of_layer && (!is_table || is_tied);
      return !of_encoder || (!of_layer && !is_table);  // it may begin with the encoder's summary (cho)
  }
}

}  // namespace

void leave_out_unneeded(Model<float>& model, Needed needed) {
  model.parameters.leave_out([&](const std::string& name) { return !is_needed(name, needed, model); });
}

text::Tokenizer load_tokenizer(const std::string& path, Side side) {
  if (foreign::is_foreign_model(path)) return foreign::load_tokenizer(path, side);
  io::expect_hdf5_file(path, "a vocabulary (tokenize --train) or a model");
  return text::Tokenizer::of_side(io::read_map(path, {.only = kVocabularies}), name_of(side));
}

LoadedModel load_model(const std::string& path, Needed needed) {
  if (foreign::is_foreign_model(path)) return foreign::load(path, {}, needed);
  io::expect_hdf5_file(path, "a model (train -o), or the folder of another program's model");
  std::vector<std::string> about{kConfigPath, kDigestsPath, kClassesPath, kOriginPath};
  about.insert(about.end(), kVocabularies.begin(), kVocabularies.end());
  io::FrameReader reader(path, {.only = about});
  const TensorMap map = reader.part({});
  const std::string& config = stated_config(path, map);
  try {
    std::unique_ptr<Model<float>> model = make_model<float>(config);
    ParameterSet<float>& parameters = model->parameters;
    std::string digests;
    std::vector<std::string> wanted{"model/parameters"};
    // Without a digest of the whole, the digests of the parts are not known to be right.
    if (needed != Needed::everything && map.contains(kDigestsPath) &&
        map.attributes.contains(io::kModelDigest)) {
      digests = only_text(path, map, kDigestsPath);
      leave_out_unneeded(*model, needed);
      wanted = {kConfigPath};  // not none, which would be all
      for (const Parameter& p : parameters.list()) wanted.push_back(kParameterPrefix + p.name);
    }
    ParameterFilling<float> filling(parameters, kParameterPrefix, parameters.values());
    reader.whole(
        wanted,
        [&](const std::string& name, const Tensor& tensor) {
          if (name.starts_with(kParameterPrefix)) filling.add(name, tensor);
        },
        [&](const std::string& name, const Shape& shape) {
          return name.starts_with(kParameterPrefix) ? filling.place(name, shape) : Matrix<float>();
        });
    filling.finish();
    auto [source, target] = text::Tokenizer::of_both_sides(map);
    LoadedModel loaded{std::move(model), std::move(source), std::move(target), {}, {}, {}, {}};
    if (loaded.model->classes) {
      const Tensor& names = map.at(kClassesPath);
      expect_shape(kClassesPath, names.shape(), {loaded.model->n_classes});
      loaded.classes.assign(names.values<std::string>().begin(), names.values<std::string>().end());
    }
    if (map.contains(kOriginPath)) loaded.origin = only_text(path, map, kOriginPath);
    if (const std::string* history = io::text_of(map.attributes, "history")) loaded.history = *history;
    if (!digests.empty()) expect_stated(path, digests, content_digests(*loaded.model, texts_of(loaded)));
    complete(loaded, path, config, digests);
    check_digest(path, map, loaded.digest);
    return loaded;
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with(reader.name())) throw;
    fail(placed(name_of_input(path), error.what()));
  }
}

void load_parameters(const std::string& path, const std::string& digest, const Model<float>& model,
                     const TensorMap& vocabularies, std::span<float> flat) {
  const TensorMap map = io::read_map(path, {.only = {kConfigPath, "model/parameters"}});
  model.parameters.from_map(map, kParameterPrefix, flat);
  if (model_digest(stated_config(path, map), digests_of(model.parameters, flat, vocabularies)) != digest) {
    fail(name_of_input(path), ": not the model that this run saved there: was it replaced or edited?");
  }
}

}  // namespace heed
