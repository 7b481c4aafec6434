// An encoder alone, as in Devlin, Chang, Lee, Toutanova: BERT, 2019: the encoder of
// models/transformer_parts.h with learned positions, trained to fill in masked words (a words head tied to
// the embeddings), or to classify sentences (models/heads.h). Parameters: encoder/embedding/weight [V, d];
// optionally encoder/token_types/weight [n_token_types, d]; those of the stack; optionally masked_word/bias
// [V], masked_word/inner and masked_word/norm (WordTransform), encoder/pooler and encoder/pooler_norm
// (Pooler), sentences/dense_inner and sentences/dense (SentenceVectors); those of the classes head, if any.
// With embedding_width e (ELECTRA) the tables of words, positions and types have e columns, and
// encoder/embedding_projection {weight [e, d], bias} follows their norm. A model of images
// (models/image_patches.h) or image features has no words: source_vocab_size is 1 and there is no embedding
// table. A causal encoder reads as a language model does: its last state is the one that has read the whole
// text (Radford et al. 2018 classify by it).
#pragma once

#include <memory>
#include <string>

#include "models/model.h"
#include "models/transformer_parts.h"

namespace heed {

inline const std::vector<std::string> kDenseActivations{"none", "tanh", "relu", "sigmoid", "gelu", "silu"};

struct EncoderOnlyConfig : TransformerOptions, ImageOptions {
  static constexpr const char* kArchitecture = "encoder";

  std::int64_t source_vocab_size = 0;
  std::int64_t n_encoder_layers = 12;
  std::int64_t n_classes = 0;
  std::string pooling = "mean";
  std::int64_t n_token_types = 0;
  bool word_transform = false;
  bool pooler = false;
  std::string pooler_activation = "tanh";
  bool masked_words = true;
  bool normalised = false;
  std::string problem_type = "single_label";
  std::int64_t dense_width = 0;
  std::int64_t dense_inner_width = 0;
  std::string dense_activation = "tanh";
  bool dense_bias = true;
  double classifier_dropout = 0;
  bool pooler_dropout = false;
  std::int64_t embedding_width = 0;
  bool pooler_norm = false;
  bool head_bias = true;
  bool first_norm = true;
  bool causal = false;

  EncoderOnlyConfig();

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("source_vocab_size", self.source_vocab_size, "size of the source vocabulary", up_to(10'000'000));
    field("n_encoder_layers", self.n_encoder_layers, "encoder layers", up_to(1'000));
    size_fields(self, field);
    field("n_classes", self.n_classes,
          "number of classes of a classifier; 0: the model fills in masked words", between(0, 1'000'000));
    field("pooling", self.pooling,
          "how the states of a sentence are pooled for classification; none: each token is classified",
          kPoolings.words);
    practice_fields(self, field);
    layer_fields(self, field);
    const auto optional = optional_fields(field);
    optional("n_token_types", self.n_token_types,
             "number of segment embeddings, one of which is added to each token; 0: none",
             between(0, 65'536));
    optional("word_transform", self.word_transform, "a layer before the output scores, as in BERT");
    optional("pooler", self.pooler, "a layer before the classifier, as in BERT");
    optional("masked_words", self.masked_words,
             "without classes: predict words; false: sentence embeddings (encode --pool)");
    image_fields(self, field);
    optional("normalised", self.normalised, "scale sentence embeddings to length 1");
    optional("problem_type", self.problem_type,
             "meaning of class scores: one class per sentence, several, or numbers", kProblemTypes.words);
    optional("dense_width", self.dense_width, "width of a final layer for sentence embeddings; 0: none",
             between(0, 1'000'000));
    optional("dense_inner_width", self.dense_inner_width,
             "width of a further layer before it, with the same activation; 0: none", between(0, 1'000'000));
    optional("dense_activation", self.dense_activation, "activation of these layers", kDenseActivations);
    optional("dense_bias", self.dense_bias, "biases in these layers");
    optional("pooler_activation", self.pooler_activation,
             "activation of the pooler; relu: as in DistilBERT, gelu: ELECTRA",
             std::vector<std::string>{"tanh", "relu", "gelu", "gelu_tanh", "silu"});
    optional("embedding_width", self.embedding_width,
             "width of the embeddings before a linear layer to d_model, as in ELECTRA; 0: d_model, no layer",
             between(0, 65'536));
    optional("pooler_norm", self.pooler_norm, "a norm after the pooler, as in ModernBERT");
    optional("head_bias", self.head_bias, "bias in the layer before the output scores, and in the pooler");
    optional(
        "first_norm", self.first_norm,
        "with norm = pre: a norm before the first sublayer; false: it reads the embeddings as they are, as "
        "in ModernBERT");
    optional("causal", self.causal,
             "no position sees those after it, as in a language model; not with masked words");
    auto of_training = [&](const char* name, auto& value, const char* help, auto... valid) {
      auto& added = field(name, value, help, valid...);
      added.optional = added.of_training = true;
    };
    of_training("classifier_dropout", self.classifier_dropout,
                "dropout on the classifier's input; -1: same as dropout, as in BERT", from_below(-1, 1));
    of_training("pooler_dropout", self.pooler_dropout,
                "dropout on the input of a classifier's pooler, as in RoBERTa");
  }

  /// Columns of the embedding tables.
  std::int64_t table_width() const { return embedding_width > 0 ? embedding_width : d_model; }
  ImagePatches patches() const {
    ImagePatches images = ImagePatches::of(*this);
    images.dropout = embedding_dropout < 0 ? dropout : embedding_dropout;
    return images;
  }
  double head_dropout() const { return classifier_dropout < 0 ? dropout : classifier_dropout; }
  /// Makes it the config of a classifier of sentences or images with the same encoder and these classes.
  /// `how`: the pooling; "": unchanged, or as in BERT if it classified each token. If there was no such head,
  /// or `how` changes the pooling, the first state of a sentence gets a pooler, and with pooler_norm so does what
  /// else is pooled.
  void classify(std::int64_t classes, const std::string& how = {});
  /// Throws UsageError naming the field and its valid values.
  void check() const;

 private:
  void check_images() const;
  void check_embeddings() const;
  void check_classes() const;
};

template <class T>
std::unique_ptr<Model<T>> build(const EncoderOnlyConfig& config);

}  // namespace heed
