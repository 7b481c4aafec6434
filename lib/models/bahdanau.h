// RNNsearch (Bahdanau, Cho, Bengio: Neural machine translation by jointly learning to align and translate,
// ICLR 2015). A bidirectional recurrent encoder; a decoder whose state is computed from a context vector that
// the state before it chose. Notation of the paper: h_j annotations, s_i decoder states, e_ij energies,
// alpha_ij weights, c_i contexts; m = d_embedding, n = d_hidden (of the decoder's state:
// d_decoder), n' = d_align, l = d_maxout.
//
// Parameters, with the paper's letters: encoder/embedding/weight E [V_x, m]; encoder/layer_<l>/{forward,
// backward}: recurrent layers (nn/recurrent.h); decoder/initial/{weight W_s [n, state width], bias};
// decoder/embedding/ weight E [V_y, m]; decoder/layer_0/state: the recurrent layer f, with
// context/<gate>/weight C [2 n, n]; decoder/layer_0/cross_attention/{query/weight W_a [n, n'], key/weight U_a
// [2 n, n'], score/weight v_a [n']} and query/bias when align_bias; decoder/readout/{state/weight U_o [n, 2
// l], state/bias, embedding/weight V_o [m, 2 l], context/weight C_o [2 n, 2 l]}; decoder/output/weight W_o
// [l, V_y].
//
// The paper contradicts itself on the readout: eq. 4 reads the new state s_i, appendix A.2.2 the old s_(i-1).
// The field readout_state chooses; the default is eq. 4.
#pragma once

#include <memory>
#include <string>

#include "models/recurrent_model.h"

namespace heed {

enum class ReadoutState { current, previous };
inline const Choice<ReadoutState> kReadoutStates{"readout_state", {"current", "previous"}};

struct BahdanauConfig : RecurrentOptions {
  static constexpr const char* kArchitecture = "bahdanau";

  std::int64_t n_encoder_layers = 1;
  std::int64_t d_decoder = 0;
  std::int64_t d_align = 1000;
  std::int64_t d_maxout = 500;
  std::string readout_state = "current";
  bool align_bias = false;

  BahdanauConfig() : RecurrentOptions(620, "gru") {}

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    size_fields(self, field);
    field("n_encoder_layers", self.n_encoder_layers, "encoder layers", up_to(1'000));
    field("d_decoder", self.d_decoder, "width of the decoder's state; 0: d_hidden", between(0, 65'536));
    field("d_align", self.d_align, "inner width of the attention's score network", up_to(65'536));
    field("d_maxout", self.d_maxout, "width of the maxout layer before the output", up_to(65'536));
    cell_field(self, field);
    field("readout_state", self.readout_state, "the output reads s_i (eq. 4) or s_(i-1) (A.2.2)",
          kReadoutStates.words);
    field("align_bias", self.align_bias, "a bias in the attention's score network");
    practice_fields(self, field);
  }

  /// The decoder's f.
  RecurrentSizes decoder() const { return layer(cell, d_decoder > 0 ? d_decoder : d_hidden); }
  EncoderSizes encoder_sizes() const {
    return {recurrent_part(source_vocab_size, n_encoder_layers, d_embedding, 2 * d_hidden), {}};
  }
  DecoderSizes decoder_sizes() const {
    return attending_decoder(recurrent_part(target_vocab_size, 1, d_embedding, decoder().d_hidden),
                             {d_align, 2 * d_hidden});
  }
  /// e_ij = v_a^T tanh(W_a s_(i-1) + U_a h_j), appendix A.1.2.
  static AttentionConfig attends() { return {&score_function("additive")}; }
};

template <class T>
std::unique_ptr<Model<T>> build(const BahdanauConfig& config);

}  // namespace heed
