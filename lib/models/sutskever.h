// Sequence to sequence learning with neural networks (Sutskever, Vinyals, Le, NIPS 2014). One deep LSTM reads
// the source into a vector of fixed size v, its last states; another one, a language model that starts from
// v, writes the translation: p(y | x) = prod_t p(y_t | v, y_1 .. y_(t-1)), eq. 1. Layer l of the decoder
// starts from the last (h, c) of layer l of the encoder. The source is read backwards (section 3.3): x_T ..
// x_1, </s> first; the files keep the states in the order of the words.
//
// Parameters: encoder/embedding/weight [V_x, m], decoder/embedding/weight [V_y, m], {encoder, decoder}/
// layer_<l>/state (nn/recurrent.h), decoder/output/weight [n, V_y]; m = d_embedding, n = d_hidden.
// Named values: encoder/embedded, encoder/layer_<l>/{final_h, final_c} [sentences, n], encoder/output [source
// rows, n], decoder/embedded, decoder/output [target rows, n].
#pragma once

#include <memory>
#include <string>

#include "models/recurrent_model.h"

namespace heed {

struct SutskeverConfig : RecurrentOptions {
  static constexpr const char* kArchitecture = "sutskever";

  std::int64_t n_layers = 4;
  bool reverse_source = true;

  SutskeverConfig() : RecurrentOptions(1000, "lstm") {}

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    size_fields(self, field);
    field("n_layers", self.n_layers, "layers of the encoder and of the decoder", up_to(1'000));
    cell_field(self, field);
    field("reverse_source", self.reverse_source, "the encoder reads the source backwards");
    practice_fields(self, field);
  }

  /// A layer of the decoder.
  RecurrentSizes state() const { return layer(cell, d_hidden); }
  EncoderSizes encoder_sizes() const {
    return {recurrent_part(source_vocab_size, n_layers, d_embedding, d_hidden), final_widths_of(encoder())};
  }
  DecoderSizes decoder_sizes() const {
    return fixed_vector_decoder(recurrent_part(target_vocab_size, n_layers, d_embedding, d_hidden));
  }
};

template <class T>
std::unique_ptr<Model<T>> build(const SutskeverConfig& config);

}  // namespace heed
