// The heads that transformers puts on BERT and its relatives, and what their layers have in common.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/encoder_only.h"
#include "models/foreign/family.h"

namespace heed::foreign {

/// The heads present in the weights; none: the encoder alone.
struct EncoderHeads {
  bool words = false;         ///< masked words
  bool classes = false;       ///< of sentences or tokens
  bool of_tokens = false;     ///< the classes are of tokens
  bool of_sentences = false;  ///< a folder of sentence-transformers (sentence_modules.h)
  bool pooler = false;
  std::vector<std::string> dense{};  ///< the folders of Dense layers on sentence embeddings, two at most

  /// The heads of a model to export.
  static EncoderHeads of(const EncoderOnlyConfig& config);
  /// "BertForMaskedLM" of "Bert".
  std::string class_of(const std::string& name) const;
};

/// "BertForTokenClassification" of "Bert".
std::string token_classifier(const std::string& name);
/// Reads the config fields of these heads, after those of the layers; `name`: the beginning of transformers'
/// class names.
void read_heads(ConfigFields& fields, const EncoderHeads& heads, const std::string& name,
                EncoderOnlyConfig& config);
/// Completes the model after all fields except those of classes and those without effect have been read;
/// `mappings`: made from the config and the heads, after the folder's other files have completed them.
ForeignModel finish_encoder(
    const Source& source, ConfigFields& fields, EncoderOnlyConfig config, EncoderHeads heads,
    const SpecialIds& special,
    const std::function<Mappings(const EncoderOnlyConfig&, const EncoderHeads&)>& mappings);
/// Maps the Dense layers.
void map_dense(const EncoderOnlyConfig& config, const EncoderHeads& heads, Mappings& map);
/// Requires the embeddings and heads that transformers' encoders of words have. Heads whose pooler has one activation
/// require it themselves.
void want_heads(Requirements& require, const EncoderHeads& heads);
/// Requires also the layers of BERT and its relatives, and what their heads have in common.
void want_encoder(Requirements& require, const EncoderHeads& heads, const char* pooler_activation,
                  const char* positions = "learned");
/// Completes an export: special ids, names of classes, and the modules for sentence embeddings.
/// `pooler_dropout`: whether transformers applies dropout before the pooler in training; no field states it,
/// so another choice is lost, with a note.
void finish_encoder(const LoadedModel& loaded, const EncoderOnlyConfig& config, const EncoderHeads& heads,
                    bool pooler_dropout, Exported& out);

}  // namespace heed::foreign
