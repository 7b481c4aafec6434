#include "models/model_file.h"

#include "base/digest.h"
#include "base/error.h"
#include "io/frame_stream.h"
#include "io/provenance.h"

namespace heed {

namespace {

constexpr const char* config_path = "model/config";
constexpr const char* classes_path = "model/classes";

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
      for (const std::string& text : tensor.values<std::string>()) all += concat(text.size(), ':', text);
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

/// Over names, shapes and values of the parameters in `flat` and of the vocabularies, in a fixed order.
std::string digest_of(const std::string& config, const ParameterSet<float>& parameters,
                      std::span<const float> flat, const TensorMap& vocabularies) {
  std::string all = config;
  auto add = [&](const std::string& path, const Shape& shape, const std::string& digest) {
    all += concat('\n', path, ' ', to_string(shape), ' ', digest);
  };
  for (const Parameter& p : parameters.list())
    add(parameter_prefix + p.name, p.shape, digest_of(p.in(flat.data())));
  for (const auto& [path, tensor] : vocabularies.tensors()) add(path, tensor.shape(), digest_of(tensor));
  return sha256_hex(all);
}

const std::string& stated_config(const std::string& path, const TensorMap& map) {
  const Tensor* config = map.find(config_path);
  if (!config || config->dtype() != DType::string || config->size() != 1) {
    fail(escaped(path), ": no model (no string ", config_path, "): was it written by train?");
  }
  return config->values<std::string>().front();
}

void check_vocabulary(const std::string& path, const std::string& side, std::int64_t model,
                      std::int64_t vocabulary) {
  if (model == vocabulary) return;
  fail(escaped(path), ": the model has ", model, " ", side, " pieces, its vocabulary has ", vocabulary);
}

void check_digest(const std::string& path, const TensorMap& map, const std::string& computed) {
  const auto it = map.attributes.find(io::kModelDigest);
  if (it == map.attributes.end()) return;  // made by other programs
  const std::string* stated = std::get_if<std::string>(&it->second);
  if (!stated || *stated != computed) {
    fail(escaped(path), ": its content has the digest ", computed.substr(0, 12), ", its model_digest says ",
         stated ? escaped(stated->substr(0, 12)) : "something else",
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
  map.add(classes_path,
          Tensor::of<std::string>(classes, {static_cast<std::int64_t>(classes.size())}, {"class"}));
  return map;
}

std::string model_digest(const std::string& config, const Model<float>& model,
                         const TensorMap& vocabularies) {
  return digest_of(config, model.parameters, model.parameters.values(), vocabularies);
}

TensorMap model_map(const Model<float>& model, const TensorMap& vocabularies, const TensorMap& training) {
  TensorMap map;
  map.add(config_path, Tensor::of<std::string>({model.config_json}, {1}));
  model.parameters.to_map(model.parameters.values(), parameter_prefix, map);
  map.merge(vocabularies);
  map.merge(training);
  map.groups["model"].attributes["architecture"] = model.architecture;
  map.attributes[io::kModelDigest] = model_digest(model.config_json, model, vocabularies);
  return map;
}

void save_model(const std::string& path, const Model<float>& model, const TensorMap& vocabularies,
                const TensorMap& training) {
  io::write_map(path, model_map(model, vocabularies, training));
}

LoadedModel load_model(const std::string& path) {
  const TensorMap map = io::read_map(path);
  const std::string& config = stated_config(path, map);
  try {
    std::unique_ptr<Model<float>> model = make_model<float>(config);
    ParameterSet<float>& parameters = model->parameters;
    parameters.from_map(map, parameter_prefix, parameters.values());
    auto [source, target] = text::Tokenizer::of_both_sides(map);
    for (const Side side : {Side::source, Side::target}) {
      const std::int64_t pieces = side == Side::source ? source.size() : target.size();
      if (model->has(side)) check_vocabulary(path, name_of(side), model->sizes(side).vocab_size, pieces);
    }
    model->source_special = source.special();
    model->target_special = target.special();
    TensorMap texts = vocabulary_map(source, target);
    std::vector<std::string> classes;
    if (model->classes) {
      const Tensor& names = map.at(classes_path);
      expect_shape(classes_path, names.shape(), {model->n_classes});
      classes.assign(names.values<std::string>().begin(), names.values<std::string>().end());
      texts.merge(classes_map(classes));
    }
    std::string digest = model_digest(config, *model, texts);
    check_digest(path, map, digest);
    return {std::move(model), std::move(source), std::move(target), std::move(classes), std::move(digest)};
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.starts_with(escaped(path))) throw;
    fail(escaped(path), ": ", message);
  }
}

void load_parameters(const std::string& path, const std::string& digest, const Model<float>& model,
                     const TensorMap& vocabularies, std::span<float> flat) {
  const TensorMap map = io::read_map(path);
  model.parameters.from_map(map, parameter_prefix, flat);
  if (digest_of(stated_config(path, map), model.parameters, flat, vocabularies) != digest) {
    fail(escaped(path), ": not the model that this run saved there: was it replaced or edited?");
  }
}

}  // namespace heed
