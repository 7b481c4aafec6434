#include "models/foreign/export.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/log.h"
#include "io/foreign/npy_writer.h"
#include "io/frame_stream.h"
#include "io/text_writer.h"
#include "models/foreign/family.h"
#include "text/foreign_tokenizer.h"

namespace heed::foreign {
namespace {

namespace fs = std::filesystem;

Exported expressed(const LoadedModel& loaded) {
  std::vector<std::string> all;
  for (const Family& family : families()) {
    if (!family.express) continue;
    std::vector<std::string> reasons;
    std::optional<Exported> found = family.express(loaded, reasons);
    if (found && reasons.empty()) return std::move(*found);
    if (!reasons.empty()) all.push_back(concat("as ", family.name, ": ", joined(reasons)));
  }
  fail("this model cannot be exported: ",
       all.empty() ? concat("no other program has a ", loaded.model->architecture) : joined(all, "; "));
}

constexpr const char* kWeights = "model.safetensors";

/// Weights by folder: a tensor "FOLDER/NAME" is NAME in a subfolder.
using Weights = std::map<std::string, TensorMap>;

/// All source tensors, in their own shapes.
Weights weights_of(const Model<float>& model, const Exported& exported) {
  TensorMap map;
  for (const Mapping& mapping : exported.mappings.list()) {
    if (!map.contains(mapping.source)) map.add(mapping.source, Tensor::zeros<float>(mapping.shape));
    const std::span<float> values = map.at(mapping.source).values<float>();
    mapping.put_back(model.parameters.view(mapping.parameter), values);
  }
  for (const auto& [source, factor] : exported.factors)
    for (float& value : map.at(source).values<float>()) value *= factor;
  Weights weights;
  for (auto& [name, tensor] : map.tensors()) {
    const std::size_t slash = name.find('/') + 1;
    weights[name.substr(0, slash)].add(name.substr(slash), std::move(tensor));
  }
  return weights;
}

}  // namespace

std::string export_model(const LoadedModel& loaded, const std::string& folder, io::FloatsAs floats) {
  const Exported exported = expressed(loaded);
  std::error_code error;
  fs::create_directories(folder, error);
  if (!fs::is_directory(folder)) fail(escaped(folder), ": not a folder, and could not be created");
  const fs::path root = folder;
  const bool is_archive = !exported.archive.empty();
  if (is_archive && floats != io::FloatsAs::float32)
    fail("an .npz of ", exported.config.value("model_type", ""), " is written in float32 only");
  Weights weights = weights_of(*loaded.model, exported);
  std::vector<std::string> names{"config.json", "tokenizer.json", kOwnVocabulary};
  if (is_archive) names.push_back(exported.archive);
  for (const auto& [beside, tensors] : weights) names.push_back(beside + kWeights);
  for (const auto& [name, content] : exported.files) names.push_back(name);
  for (const std::string& name : names)
    if (fs::exists(root / name)) fail(escaped((root / name).string()), ": already exists");
  for (const auto& [name, content] : exported.files) {
    fs::create_directories((root / name).parent_path(), error);
    io::write_file((root / name).string(), content);
  }
  const text::Tokenizer& tokenizer = loaded.model->encoder ? loaded.source : loaded.target;
  if (!exported.has_tokenizer) {
    const bool both_sides = loaded.model->encoder && loaded.model->decoder;
    const bool one_will_do = !both_sides || loaded.source.digest() == loaded.target.digest();
    const std::string json = one_will_do && !is_archive ? text::tokenizer_json(tokenizer) : "";
    if (json.empty()) {
      io::write_map((root / kOwnVocabulary).string(), vocabulary_map(loaded.source, loaded.target));
      logging::note(concat(escaped(folder), ": the vocabulary, ",
                           one_will_do ? "of type " + tokenizer.type() : "one for each side", ", is in ",
                           kOwnVocabulary, ", which only heed reads"));
    } else {
      io::write_file((root / "tokenizer.json").string(), json);
    }
  }
  std::size_t number = 0;
  for (const auto& [beside, tensors] : weights) number += tensors.tensors().size();
  const std::string what = concat("a ", exported.config.value("model_type", ""), " of ", number, " tensors");
  // Last the file that makes the folder a model.
  if (is_archive) {
    const std::string& text = exported.settings;
    std::vector<std::uint8_t> bytes(text.begin(), text.end());
    bytes.push_back(0);
    const auto size = std::ssize(bytes);
    weights[""].add(exported.settings_name, Tensor::of<std::uint8_t>(std::move(bytes), {size}));
    io::write_npz((root / exported.archive).string(), weights[""]);
    return what;
  }
  for (const auto& [beside, tensors] : weights) {
    const fs::path path = root / (beside + kWeights);
    fs::create_directories(path.parent_path(), error);
    io::write_safetensors(path.string(), tensors, floats);
  }
  Json config = exported.config;
  config["dtype"] = floats == io::FloatsAs::float32   ? "float32"
                    : floats == io::FloatsAs::float16 ? "float16"
                                                      : "bfloat16";
  io::write_file((root / "config.json").string(), config.dump(2) + "\n");
  return what;
}

}  // namespace heed::foreign
