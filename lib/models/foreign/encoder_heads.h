// What transformers puts on top of BERT and its kin, and what their layers have in common.
#pragma once

#include <functional>
#include <string>

#include "models/encoder_only.h"
#include "models/foreign/family.h"

namespace heed::foreign {

/// Which heads the weights have; none: states alone.
struct EncoderHeads {
  bool words = false;         ///< masked words
  bool classes = false;       ///< of sentences or tokens
  bool of_tokens = false;     ///< the classes are of tokens
  bool of_sentences = false;  ///< a folder of sentence-transformers (sentence_modules.h)
  bool pooler = false;
  std::string dense{};  ///< the folder of the layer on vectors of sentences; empty: none

  /// Those of a model to export.
  static EncoderHeads of(const EncoderOnlyConfig& config);
  /// "BertForMaskedLM" of "Bert".
  std::string class_of(const std::string& name) const;
};

/// "BertForTokenClassification" of "Bert".
std::string token_classifier(const std::string& name);
/// What these heads say of the config, of which the layers are known; `name`: as transformers' classes begin.
void read_heads(ConfigFields& fields, const EncoderHeads& heads, const std::string& name,
                EncoderOnlyConfig& config);
/// The model, of which all fields but those of classes and those without effect have been read; `mappings`: of the config and the
/// heads, when the folder's other files have completed them.
ForeignModel finish_encoder(
    const Source& source, ConfigFields& fields, EncoderOnlyConfig config, EncoderHeads heads,
    const SpecialIds& special,
    const std::function<Mappings(const EncoderOnlyConfig&, const EncoderHeads&)>& mappings);
/// The layers that all have, and what is wanted of the config for these heads.
void want_encoder(Requirements& require, const EncoderOnlyConfig& config, const EncoderHeads& heads,
                  const std::string& pooler_activation);
/// What an export ends in: special ids, names of classes, and what makes vectors of sentences. `pooler_dropout`: whether
/// what the pooler reads has dropout there in training; no field says so, so another choice is lost, which a note says.
void finish_encoder(const LoadedModel& loaded, const EncoderOnlyConfig& config, const EncoderHeads& heads,
                    bool pooler_dropout, Exported& out);

}  // namespace heed::foreign
