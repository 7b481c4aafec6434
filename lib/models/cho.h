// The RNN encoder-decoder of Cho et al. (Learning phrase representations using RNN encoder-decoder for
// statistical machine translation, EMNLP 2014), as in appendix A: a recurrent layer with the paper's
// gated unit reads the source, c = tanh(V h_N) summarises it, and c enters the decoder at every step: its
// first state h'_0 = tanh(V' c), all its gates, and its output,
//   z' = s(W'_z e + U'_z h' + C_z c),   r' = s(W'_r e + U'_r h' + C_r c),
//   g' = tanh(W' e + r' * (U' h' + C c))    with e = e(y_(t-1)), h' the state before
//   p(y_t) = softmax(G max-pairs(O_h h' + O_y e + O_c c)), h' the new state.
// The reset gate of the decoder thus acts after the product, that of the encoder before it (eq. 8): two
// cells, `cell` and `decoder_cell`. C c goes where U' h' goes (nn/recurrent.h, `extra`).
// Where the paper leaves out biases "for readability", we have one in each layer but the softmax. The first
// word read is <s>, whose embedding is learned; the paper takes e(y_0) = 0. All matrices that touch a word
// are of rank d_embedding, 100 in section 4.1 (appendix A says 500): so is G.
//
// Parameters: encoder/embedding/weight [V_x, m]; encoder/layer_0/state: a recurrent layer
// (nn/recurrent.h); encoder/summary/{weight V [n, n], bias}; decoder/initial/{weight V' [n, state width],
// bias}; decoder/embedding/weight [V_y, m]; decoder/layer_0/state, with context/<gate>/weight C [n, n];
// decoder/readout (nn/maxout_readout.h); decoder/readout/projection/weight and decoder/output/weight G [l,
// m], [m, V_y]; m = d_embedding, n = d_hidden, l = d_maxout. Named values: encoder/embedded,
// encoder/layer_0/{final_h, final_c}, encoder/output [source rows, n], encoder/summary/output c,
// decoder/initial/output h'_0 [sentences, ...], decoder/embedded, decoder/layer_0/output [target rows, n],
// decoder/output [target rows, m].
#pragma once

#include <memory>
#include <string>

#include "models/recurrent_model.h"

namespace heed {

struct ChoConfig : RecurrentOptions {
  static constexpr const char* kArchitecture = "cho";

  std::int64_t d_maxout = 500;
  std::string decoder_cell = "gru-reset-after";
  bool reverse_source = false;

  ChoConfig() : RecurrentOptions(100, "gru") {}

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    size_fields(self, field);
    field("d_maxout", self.d_maxout, "width of the maxout layer before the output", up_to(65'536));
    cell_field(self, field);
    field("decoder_cell", self.decoder_cell, "the decoder's cell", cell_names());
    field("reverse_source", self.reverse_source, "the encoder reads the source backwards");
    practice_fields(self, field);
  }

  RecurrentSizes decoder() const { return layer(decoder_cell, d_hidden); }
  EncoderSizes encoder_sizes() const {
    return {recurrent_part(source_vocab_size, 1, d_embedding, d_hidden), final_widths_of(encoder())};
  }
  DecoderSizes decoder_sizes() const {
    return fixed_vector_decoder(recurrent_part(target_vocab_size, 1, d_embedding, d_hidden));
  }
};

template <class T>
std::unique_ptr<Model<T>> build(const ChoConfig& config);

}  // namespace heed
