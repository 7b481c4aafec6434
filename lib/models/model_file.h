// Model files: everything needed to run a model, in one tensor map.
//   model/config                 JSON, str(1)
//   model/digests                str(1): content_digests
//   model/parameters/<path>      f32
//   model/vocabulary/...         the tokenizer of both sides, or model/source_vocabulary/... and
//                                model/target_vocabulary/...
//   model/classes                str(class), the names of a classifier's classes
//   model/training/...           what was measured while training; optional
//   model/origin                 JSON, str(1): what program's model it was (models/foreign); optional
//   model/provenance             JSON, str(1): what it was trained by, on and for how long; optional
// Root attributes model_digest: SHA-256 over config, parameters and vocabularies; history: the commands that made it.
//
// A tool that computes with a part of a model reads that part only; all with --trace, edits or --saliency, which name any, and
// of the further models of an ensemble. Its digest is still known, and what was read still
// checked against it: it is the digest of the config and of /model/digests, which has the digest of each parameter.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/options.h"
#include "models/model.h"
#include "tensor/tensor_map.h"
#include "text/tokenizer.h"

namespace heed {

inline constexpr const char* parameter_prefix = "model/parameters/";

struct LoadedModel {
  std::unique_ptr<Model<float>> model;
  text::Tokenizer source, target;
  std::vector<std::string> classes;  ///< their names, of a classifier
  std::string digest;
  std::string origin;   ///< JSON: what it was imported from; empty: it was trained here
  std::string history;  ///< the commands that made it, a line each

  const text::Tokenizer& tokenizer(Side side) const { return side == Side::source ? source : target; }
};

/// What a tool computes with; of a model that has an encoder or a decoder alone, everything.
enum class Needed {
  everything,
  source_embedding,  ///< the embeddings of whole sentences, with positions and norms
  target_embedding,
  encoder,  ///< on embeddings
  decoder,  ///< on the encoder's states
};

/// The vocabularies as they stand in a model file.
TensorMap vocabulary_map(const text::Tokenizer& source, const text::Tokenizer& target);

/// The names of a classifier's classes, which stand beside its vocabularies.
TensorMap classes_map(const std::vector<std::string>& classes);

/// Where an imported model comes from, as its file says it.
TensorMap origin_map(const std::string& origin);

/// How a model was trained, as its file says it.
TensorMap provenance_map(const std::string& provenance);

/// A model file's content. `vocabularies` is a vocabulary_map (a map without tensors: a model without text),
/// `training` what was measured while training, under model/training/, and the maps above; its root attribute history becomes the model's.
TensorMap model_map(const Model<float>& model, const TensorMap& vocabularies, const TensorMap& training);
/// A line for each parameter and tensor of the vocabularies, in a fixed order: path, shape, SHA-256 of the values.
std::string content_digests(const Model<float>& model, const TensorMap& vocabularies);
/// The digest that model_map gives. `config` is the JSON as the file states it: a file from before a field
/// existed keeps its digest.
std::string model_digest(const std::string& config, const std::string& digests);
std::string model_digest(const std::string& config, const Model<float>& model, const TensorMap& vocabularies);

/// Writes model_map(...) to `path`, and returns its digest.
std::string save_model(const std::string& path, const Model<float>& model, const TensorMap& vocabularies,
                       const TensorMap& training, const io::WriteOptions& options = {});

/// Reads a model file, a checkpoint, or a model of another program (models/foreign/import.h), which is as if it had been made a
/// model file. Throws Error on a file that is no model, an unknown architecture, a
/// missing, misshapen or non-finite parameter, a vocabulary of another size, and content that does not fit
/// its digest. Parameters that are not `needed` are left out (ParameterSet::leave_out) where the file has digests of each.
LoadedModel load_model(const std::string& path, Needed needed = Needed::everything);
/// Only the vocabulary of a side, of a model or of a vocabulary file.
text::Tokenizer load_tokenizer(const std::string& path, Side side);
/// Checks that the vocabularies fit the model, and completes it: special ids and digest. `path` is for messages, `config` as
/// in model_digest; `stated`: content_digests of all the model where parameters were left out; throws Error when those of what is
/// there are not among them.
void complete(LoadedModel& loaded, const std::string& path, const std::string& config,
              const std::string& stated = {});
/// Tells a model its vocabularies: the special ids, whether it reads text as given, and what ends the sentences of documents.
/// Throws Error, which begins with `path`, when a decoder alone is to read text between bos and eos: that is neither what it
/// reads nor what it produces; and when no piece ends a sentence of a document.
void set_vocabularies(Model<float>& model, const text::Tokenizer& source, const text::Tokenizer& target,
                      const std::string& path);
/// The vocabularies as they stand in its file, with the names of classes.
TensorMap texts_of(const LoadedModel& loaded);

/// Only the parameters, of a model like `model`, into `flat`; throws Error unless the file's digest is
/// `digest`.
void load_parameters(const std::string& path, const std::string& digest, const Model<float>& model,
                     const TensorMap& vocabularies, std::span<float> flat);

}  // namespace heed
