// A model: its parameters and the parts that it has. What it can do follows from them; a function that
// needs a missing part names it in its error.
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

/// The side of a text: what an encoder reads, or what a decoder reads and writes.
enum class Side { source, target };
/// "source", "target"
std::string name_of(Side side);

template <class T>
struct Model {
  std::string architecture, config_json;
  ParameterSet<T> parameters;
  std::unique_ptr<Encoder<T>> encoder;  ///< or none
  std::unique_ptr<Decoder<T>> decoder;  ///< or none
  /// What passes without gradients multiply by, of less precision than the parameters or in their place. Usually none.
  std::unique_ptr<const PackedWeights<T>> packed;
  std::optional<WordsHead> words;      ///< of the decoder's states, or of an encoder's alone
  std::optional<ClassesHead> classes;  ///< of the encoder's states
  std::optional<Documents> documents;  ///< between the two, of a model that reads lines as documents
  std::int64_t n_classes = 0;
  std::optional<ImagePatches> images;         ///< an encoder that reads these, and no words
  std::optional<SentenceVectors> sentences;   ///< of the encoder's states
  Activation pooler = Activation::tanh;       ///< f of encoder/pooler, where there is that layer
  SpecialIds source_special, target_special;  ///< of the vocabularies
  /// Of a decoder alone: /tokens are what it reads, as in GPT-2. Else they are what it produces, with eos, and it reads bos and
  /// all but the last (text::Tokenizer::ends_sentences).
  bool reads_as_given = false;

  /// The target's as search takes them. What reads its prompt as it is may also produce bos, which then is a piece like others
  /// (transformers does the same).
  SpecialIds searched() const {
    SpecialIds special = target_special;
    if (reads_as_given) special.bos = SpecialIds::kAbsent;
    return special;
  }
  bool has(Side side) const { return side == Side::source ? encoder != nullptr : decoder != nullptr; }
  /// The part of that side. Throws UsageError when there is none.
  const PartSizes& sizes(Side side) const;
  const Encoder<T>& needed_encoder() const;
  const Decoder<T>& needed_decoder() const;
  const WordsHead& needed_words() const;

  /// From now on passes without gradients multiply by the parameters, which are complete, in this precision. Released: there
  /// will be no other passes, and what they multiply by is held once, as products read it. Throws UsageError
  /// unless it is float32, or all layers are a Transformer's.
  void set_precision(Precision precision, Unpacked unpacked = Unpacked::kept);

  /// Embeddings of whole sentences.
  Var<T> embed(Pass<T>& pass, Side side, const PackedTokens& tokens) const;
  /// Embeddings and all encoder layers. `tokens` must outlive the pass.
  Encoded<T> encode(Pass<T>& pass, const PackedTokens& tokens) const;
  /// All encoder layers on embeddings.
  Encoded<T> encode(Pass<T>& pass, Var<T> embedded, const Packing& rows) const;
  /// Scores of the classes, before the softmax, of each sentence that was encoded [sentences, classes], or of each token
  /// (ClassesHead::of_tokens).
  Var<T> class_logits(Pass<T>& pass, const Encoded<T>& encoded) const;
  /// The cross-entropy of a label for each, as in WordsHead::loss.
  CrossEntropySums class_loss(Pass<T>& pass, const Encoded<T>& encoded, std::span<const std::int32_t> labels,
                              double smoothing, T scale) const;
  /// What the decoder reads to produce these: every sentence shifted right after bos. Throws Error when one
  /// is empty.
  PackedTokens shifted_right(const PackedTokens& target) const;
  /// What a decoder alone reads of sentences as /tokens has them. Throws Error when one is empty.
  PackedTokens read_alone(const PackedTokens& sentences) const;
  /// Teacher forcing: the decoder reads whole sentences, shifted right, onto the empty state. `memory`:
  /// null for a model without an encoder. `streams`: DecoderState::streams.
  Decoded<T> decode(Pass<T>& pass, const Encoded<T>* memory, const PackedTokens& target,
                    const std::vector<SampleStream>& streams = {}) const;
  /// Likewise of what it reads, as embeddings.
  Decoded<T> decode(Pass<T>& pass, const Encoded<T>* memory, Var<T> embedded, const Packing& rows,
                    const std::vector<SampleStream>& streams = {}) const;
  /// The cross-entropy of `target` given what decode() read, and in training what the decoder adds to it.
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
