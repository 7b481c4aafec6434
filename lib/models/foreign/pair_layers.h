// The encoder-decoder pairs that transformers took from fairseq and Marian: BART, mBART, M2M-100 and Marian
// name their settings and tensors alike. They differ in norms, positions and tables (marian.cpp, bart.cpp).
#pragma once

#include <string>
#include <vector>

#include "models/foreign/family.h"
#include "models/transformer.h"

namespace heed::foreign {

/// Defaults of the settings that their classes have different ones for.
struct PairDefaults {
  std::int64_t vocab_size;
  double attention_dropout;
  const char* activation;  ///< in transformers' words
  bool scales_embeddings;
};

/// The settings that they share: sizes, activation, scale, dropout, epsilon. One vocabulary for both sides.
TransformerConfig read_pair(ConfigFields& fields, const PairDefaults& defaults);
/// Writes them.
void state_pair(const TransformerConfig& config, Json& out);
/// What all of them require of a config; gives their word for its activation.
std::string require_pair(Requirements& require, const TransformerConfig& config);

/// Chooses between tied = all (`shared`: the sides have one table), decoder and none, by the settings and the
/// file.
void choose_pair_ties(const Source& source, ConfigFields& fields, bool shared, TransformerConfig& config,
                      std::vector<std::string>& notes);
/// `features`: the order of heed's features of embeddings and states in the foreign model; empty: the same.
Mappings pair_mappings(const TransformerConfig& config, bool shared, const std::vector<Slice>& features = {});
/// Whether the file has biases of the words' scores.
bool has_pair_bias(const Source& source);

}  // namespace heed::foreign
