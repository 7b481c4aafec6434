// Hierarchical attention networks: Yang, Yang, Dyer, He, Smola, Hovy: Hierarchical attention networks for
// document classification, NAACL 2016. A recurrent layer reads the words of each sentence in both directions,
// attention pools them into a vector; another layer reads the sentence vectors of the document, and attention
// pools these into the vector that is classified (eq. 1-11). A line is a document. Its sentences end with
// pieces named in the config, which any tokenized text has; a separator such as a tab would have to be
// inserted into texts first, and tokenizers treat it as a space.
//
// Parameters: encoder/embedding/weight [V, m]; encoder/layer_0/{forward, backward}: the word encoder
// (nn/recurrent.h), n in each direction; those of models/documents.h; sentence_attention
// (nn/attention/pooling.h); classes/weight [2 n, classes], classes/bias. m = d_embedding, n = d_hidden.
// Named values: encoder/embedded, those of the word encoder, encoder/layer_0/output and encoder/output h_it
// [words, 2 n]; those of models/documents.h; sentence_attention/{scores, weights}, a key for each sentence;
// classes/pooled v [documents, 2 n].
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/recurrent_model.h"

namespace heed {

struct HanConfig : RecurrentOptions {
  static constexpr const char* kArchitecture = "han";

  std::int64_t n_classes = 2;
  std::string sentence_ends = ". ! ?";

  HanConfig() : RecurrentOptions(200, "gru") {
    d_hidden = 50;
    init = "xavier";  // the paper does not say
  }

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    source_field(self, field);
    width_fields(self, field);
    field("n_classes", self.n_classes, "number of classes", between(2, 1'000'000));
    field("sentence_ends", self.sentence_ends,
          "pieces, separated by spaces, that end a sentence of a document");
    cell_field(self, field);
    practice_fields(self, field);
  }

  EncoderSizes encoder_sizes() const {
    return {recurrent_part(source_vocab_size, 1, d_embedding, 2 * d_hidden), {}};
  }
  /// The pieces named by sentence_ends.
  std::vector<std::string> ends() const;
  /// Throws UsageError naming the field and its valid values.
  void check() const;
};

template <class T>
std::unique_ptr<Model<T>> build(const HanConfig& config);

}  // namespace heed
