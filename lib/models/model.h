// A model: its parameters and its parts. Its abilities follow from them; a function that needs a missing part
// names it in its error.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/special_ids.h"
#include "models/documents.h"
#include "models/heads.h"
#include "models/image_patches.h"
#include "models/parts.h"
#include "nn/parameters.h"
#include "tensor/packed_weights.h"

namespace heed {

/// The sides of a model: the text read by the encoder, and the text read and written by the decoder.
enum class Side { source, target };
/// "source", "target"
std::string name_of(Side side);

template <class T>
struct Model {
  std::string architecture, config_json;
  ParameterSet<T> parameters;
  std::unique_ptr<Encoder<T>> encoder;  ///< or none
  std::unique_ptr<Decoder<T>> decoder;  ///< or none
  /// Weights used by passes without gradients, in lower precision than the parameters or in their place.
  /// Usually none.
  std::unique_ptr<const PackedWeights<T>> packed;
  std::optional<WordsHead> words;      ///< on the decoder's states, or on an encoder's if it is alone
  std::optional<ClassesHead> classes;  ///< on the encoder's states
  std::optional<Documents> documents;  ///< between encoder and head, in a model that reads lines as documents
  std::int64_t n_classes = 0;
  std::optional<ImagePatches> images;         ///< an encoder that reads images instead of words
  std::optional<SentenceVectors> sentences;   ///< from the encoder's states
  Pooler pooler;                              ///< if there is encoder/pooler
  SpecialIds source_special, target_special;  ///< of the vocabularies
  /// For a decoder alone: it reads /tokens as given, as in GPT-2. Otherwise /tokens are its output, with eos,
  /// and it reads bos and all but the last (text::Tokenizer::ends_sentences).
  bool reads_as_given = false;

  /// The target's special ids for a search. A model that reads its prompt as given may also produce bos, as
  /// in transformers.
  SpecialIds searched() const {
    SpecialIds special = target_special;
    if (reads_as_given) special.bos = SpecialIds::kAbsent;
    return special;
  }
  bool has(Side side) const { return side == Side::source ? encoder != nullptr : decoder != nullptr; }
  /// The sizes of the part on that side. Throws UsageError if there is none.
  const PartSizes& sizes(Side side) const;
  const Encoder<T>& needed_encoder() const;
  const Decoder<T>& needed_decoder() const;
  const WordsHead& needed_words() const;

  /// From now on passes without gradients use the complete parameters in this precision. Released: there will
  /// be no other passes, so only the packed form is kept. Throws UsageError for a precision other than
  /// float32 unless all layers are a Transformer's.
  void set_precision(Precision precision, Unpacked unpacked = Unpacked::kept);

  /// Embeddings of whole sentences.
  Var<T> embed(Pass<T>& pass, Side side, const PackedTokens& tokens) const;
  /// Embeddings and all encoder layers. `tokens` must outlive the pass.
  Encoded<T> encode(Pass<T>& pass, const PackedTokens& tokens) const;
  /// All encoder layers on embeddings.
  Encoded<T> encode(Pass<T>& pass, Var<T> embedded, const Packing& rows) const;
  /// Class scores before the softmax, for each encoded sentence [sentences, classes], or for each token
  /// (ClassesHead::of_tokens).
  Var<T> class_logits(Pass<T>& pass, const Encoded<T>& encoded) const;
  /// The cross-entropy of one label for each row of scores; see WordsHead::loss.
  CrossEntropySums class_loss(Pass<T>& pass, const Encoded<T>& encoded, std::span<const std::int32_t> labels,
                              double smoothing, T scale) const;
  /// The decoder's input for producing these sentences: each shifted right after bos. Throws Error if one is
  /// empty.
  PackedTokens shifted_right(const PackedTokens& target) const;
  /// A lone decoder's input for sentences as in /tokens. Throws Error if one is empty.
  PackedTokens read_alone(const PackedTokens& sentences) const;
  /// Teacher forcing: the decoder reads whole sentences, shifted right, onto the empty state. `memory`:
  /// null for a model without an encoder. `streams`: DecoderState::streams.
  Decoded<T> decode(Pass<T>& pass, const Encoded<T>* memory, const PackedTokens& target,
                    const std::vector<SampleStream>& streams = {}) const;
  /// Teacher forcing with the decoder's input given as embeddings.
  Decoded<T> decode(Pass<T>& pass, const Encoded<T>* memory, Var<T> embedded, const Packing& rows,
                    const std::vector<SampleStream>& streams = {}) const;
  /// The cross-entropy of `target` given the output of decode(), and in training the decoder's additional
  /// loss.
  CrossEntropySums loss(Pass<T>& pass, const Decoded<T>& decoded, const PackedTokens& target,
                        double smoothing, T scale, double baseline = 0) const;
};

/// A model of the architecture and sizes that `config_json` states, parameters at zero. Throws Error on an
/// unknown architecture or field.
template <class T>
std::unique_ptr<Model<T>> make_model(const std::string& config_json);

/// The config of an architecture with every field at its default. Throws Error on an unknown architecture.
std::string default_config_json(const std::string& architecture);

extern template struct Model<float>;
extern template struct Model<double>;

}  // namespace heed
