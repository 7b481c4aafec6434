// The fields that every recurrent model's config has, those of its layers (nn/recurrent.h) among them.
#pragma once

#include "base/fields.h"
#include "nn/recurrent.h"

namespace heed {

struct RecurrentOptions {
  std::int64_t source_vocab_size = 0;
  std::int64_t target_vocab_size = 0;
  bool peepholes = false;
  bool layer_norm = false;
  bool learned_start = false;
  double recurrent_dropout = 0;

  template <class Self, class Visit>
  static void option_fields(Self& self, Visit&& field) {
    field("peepholes", self.peepholes,
          "peephole connections: the gates of an lstm also read its memory cell");
    field("layer_norm", self.layer_norm, "layer normalisation of the gates' sums");
    field("learned_start", self.learned_start, "learn the encoder's initial states instead of zeros");
    field("recurrent_dropout", self.recurrent_dropout,
          "dropout on the states that the gates read, one mask for each sentence", share());
  }

  /// A layer that starts from given states.
  RecurrentSizes layer(const std::string& cell, std::int64_t width) const {
    return {cell, width, peepholes, layer_norm, false, recurrent_dropout};
  }
  /// A layer that starts by itself.
  RecurrentSizes starting_layer(const std::string& cell, std::int64_t width) const {
    return {cell, width, peepholes, layer_norm, learned_start, recurrent_dropout};
  }
};

/// Deviation of the word embeddings' initial values beside Glorot's matrices: wide enough that states, and so
/// scores and logits, do not start next to zero. With 0.1 Luong's system learns an epoch later.
inline constexpr double kWordDeviation = 1;

/// The fields that the configs of all recurrent models begin with.
template <class Self, class Visit>
void recurrent_sizes(Self& self, Visit&& field) {
  field("source_vocab_size", self.source_vocab_size, "size of the source vocabulary", up_to(10'000'000));
  field("target_vocab_size", self.target_vocab_size, "size of the target vocabulary", up_to(10'000'000));
  field("d_embedding", self.d_embedding, "width of the embeddings", up_to(65'536));
  field("d_hidden", self.d_hidden, "width of a layer's state, in each direction", up_to(65'536));
}
/// The fields near their end: initial values, the options of the layers and dropout.
template <class Self, class Visit>
void recurrent_practice(Self& self, Visit&& field) {
  field("init", self.init, "initial parameters: as in the paper, or uniform by width (Glorot)",
        {"paper", "xavier"});
  Self::option_fields(self, field);
  field("dropout", self.dropout, "dropout after each layer or sublayer", share());
}

}  // namespace heed
