// Model files: everything needed to run a model, in one tensor map.
//   model/config                 JSON, str(1)
//   model/digests                str(1): content_digests
//   model/parameters/<path>      f32
//   model/vocabulary/...         the tokenizer of both sides, or model/source_vocabulary/... and
//                                model/target_vocabulary/...
//   model/classes                str(class), the names of a classifier's classes
//   model/training/...           metrics of the training; optional
//   model/origin                 JSON, str(1): the foreign model it was imported from (models/foreign);
//                                optional
//   model/provenance             JSON, str(1): how, on what and for how long it was trained; optional
// Root attributes model_digest: SHA-256 over config, parameters and vocabularies; history: the commands that
// made it.
//
// A tool reads only the part of a model that it computes with; everything with --trace, edits or --saliency,
// which may name any value, and for further models of an ensemble. The digest of the whole model is still
// known, and the part read is verified: it is the digest of the config and of /model/digests, which has the
// digest of each parameter. Of models of other programs all values are read, but only the part is kept.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/options.h"
#include "models/model.h"
#include "tensor/tensor_map.h"
#include "text/tokenizer.h"

namespace heed {

inline constexpr const char* kParameterPrefix = "model/parameters/";

struct LoadedModel {
  std::unique_ptr<Model<float>> model;
  text::Tokenizer source, target;
  std::vector<std::string> classes;  ///< names of a classifier's classes
  std::string digest;
  std::string origin;   ///< JSON: where it was imported from; empty: trained by heed
  std::string history;  ///< the commands that made it, one per line

  const text::Tokenizer& tokenizer(Side side) const { return side == Side::source ? source : target; }
};

/// The part of a model that a tool computes with. Of an encoder or a decoder alone both embeddings are the same.
enum class Needed {
  everything,
  source_embedding,  ///< the embeddings of whole sentences, with positions and norms
  target_embedding,
  encoder,  ///< on embeddings
  decoder,  ///< reads the encoder's states
};

/// The vocabularies in the form of a model file.
TensorMap vocabulary_map(const text::Tokenizer& source, const text::Tokenizer& target);

/// The names of a classifier's classes, in the form of a model file.
TensorMap classes_map(const std::vector<std::string>& classes);

/// The origin of an imported model, in the form of a model file.
TensorMap origin_map(const std::string& origin);

/// The provenance of a trained model, in the form of a model file.
TensorMap provenance_map(const std::string& provenance);

/// The content of a model file. `vocabularies` is a vocabulary_map (without tensors: a model without text)
/// with the maps above; its root attribute history becomes the model's; `training`: the metrics under
/// model/training/.
TensorMap model_map(const Model<float>& model, const TensorMap& vocabularies, const TensorMap& training);
/// A line for each parameter and tensor of the vocabularies, in a fixed order: path, shape, SHA-256 of the
/// values. `left_out`: lines of parameters that the model lacks, by their place among all.
using LinesLeftOut = std::map<std::size_t, std::string>;
std::string content_digests(const Model<float>& model, const TensorMap& vocabularies,
                            const LinesLeftOut& left_out = {});
/// The line of a parameter whose dense values have this SHA-256.
std::string digest_line(const Parameter& parameter, const std::string& sha256);
/// The digest in model_map. `config` is the JSON as stated in the file, so a file from before a field existed
/// keeps its digest.
std::string model_digest(const std::string& config, const std::string& digests);
std::string model_digest(const std::string& config, const Model<float>& model, const TensorMap& vocabularies);

/// Writes model_map(...) to `path`, and returns its digest.
std::string save_model(const std::string& path, const Model<float>& model, const TensorMap& vocabularies,
                       const TensorMap& training, const io::WriteOptions& options = {});

/// Reads a model file, a checkpoint, or a model of another program (models/foreign/import.h), which is
/// treated like a model file made from it. Throws Error on a file that is not a model, an unknown
/// architecture, a missing, misshapen or non-finite parameter, a vocabulary of another size, and content that
/// does not match its digest. Parameters that are not `needed` are left out (ParameterSet::leave_out) if the
/// file has a digest of each.
LoadedModel load_model(const std::string& path, Needed needed = Needed::everything);
/// Leaves them out of a model that has no values yet.
void leave_out_unneeded(Model<float>& model, Needed needed);
/// Reads only the vocabulary of a side, from a model or a vocabulary file.
text::Tokenizer load_tokenizer(const std::string& path, Side side);
/// Checks that the vocabularies fit the model, and completes it: special ids and digest. `path` is for
/// messages, `config` as in model_digest; `digests`: content_digests of the whole model, computed if empty.
void complete(LoadedModel& loaded, const std::string& path, const std::string& config,
              const std::string& digests = {});
/// Gives a model its vocabularies: the special ids, whether it reads text as given, and the ends of sentences
/// in documents. Throws Error beginning with `path` if a decoder alone would read text between bos and eos,
/// which is neither its input nor its output; and if no piece ends a sentence of a document.
void set_vocabularies(Model<float>& model, const text::Tokenizer& source, const text::Tokenizer& target,
                      const std::string& path);
/// The vocabularies and names of classes in the form of a model file.
TensorMap texts_of(const LoadedModel& loaded);

/// Reads only the parameters, for a model like `model`, into `flat`; throws Error unless the file's digest is
/// `digest`.
void load_parameters(const std::string& path, const std::string& digest, const Model<float>& model,
                     const TensorMap& vocabularies, std::span<float> flat);

}  // namespace heed
