// Attention-based translation after Luong, Pham, Manning (Effective approaches to attention-based neural
// machine translation, EMNLP 2015). A stack of recurrent layers reads the source, another, which starts from
// the first one's last states, writes the target; attention comes after the recurrence: the decoder's
// CURRENT state s_t (h_t in the paper) chooses the context c_t, and both make the attentional state h~_t.
// Notation: h_s (h-bar in the paper) the encoder's upper states, a_t weights, p_t the middle of local
// attention's window; positions count from 0. m = d_embedding; n = d_hidden; k the width of s_t and h_s, n
// or, of a bidirectional encoder, 2 n; d the width of h~_t.
//
// Parameters: encoder/embedding/weight [V_x, m]; encoder/layer_<l>/state, or {forward, backward}: recurrent
// layers (nn/recurrent.h); decoder/embedding/weight [V_y, m]; decoder/layer_<l>/state, the lowest with
// feed/<gate>/weight [d, k] under input feeding; attention follows the top layer:
// decoder/layer_<l>/cross_attention/: nn/attention/step_attention.h;
// decoder/attentional/{context, state}/weight [k, d]: the halves of W_c; decoder/output/weight W_s [d, V_y].
// Named values: {encoder, decoder}/embedded, encoder/layer_<l>/{output, final_h, final_c}, encoder/output,
// decoder/layer_<l>/output; below cross_attention nn/attention/step_attention.h, value being h_s;
// decoder/output h~_t.
#pragma once

#include <memory>
#include <string>

#include "models/recurrent_model.h"

namespace heed {

struct LuongConfig : RecurrentOptions {
  static constexpr const char* kArchitecture = "luong";

  std::int64_t n_layers = 4;
  std::int64_t d_attentional = 0;
  bool bidirectional = false;
  bool reverse_source = true;
  bool input_feeding = true;
  std::string score = "dot";
  std::int64_t d_align = 1000;
  std::int64_t max_source_positions = 50;
  std::string attention = "global";
  std::int64_t window = 10;
  double output_dropout = 0;

  LuongConfig() : RecurrentOptions(1000, "lstm") {}

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    size_fields(self, field);
    field("n_layers", self.n_layers, "layers of the encoder and of the decoder", up_to(1'000));
    field("d_attentional", self.d_attentional, "width of the attentional state; 0: that of the decoder state",
          between(0, 65'536));
    cell_field(self, field);
    field("bidirectional", self.bidirectional, "the encoder reads in both directions");
    field("reverse_source", self.reverse_source, "the encoder reads the source backwards");
    field("input_feeding", self.input_feeding, "feed the previous attentional state into the decoder");
    field("score", self.score, "score function that compares the decoder's state with the source",
          score_function_names());
    field("d_align", self.d_align, "inner width of the attention's score network", up_to(65'536));
    field("max_source_positions", self.max_source_positions, "longest source sentence with --score location",
          up_to(1'000'000));
    field("attention", self.attention,
          "attend to the whole source (global), or to a window that moves with the target (local-m) or is "
          "predicted (local-p)",
          kWindows.words);
    field("window", self.window, "D of local attention, whose window is 2 D + 1 positions", up_to(1'000'000));
    practice_fields(self, field);
    field("output_dropout", self.output_dropout, "dropout on the attentional state", share()).of_training =
        true;
  }

  /// A layer of the decoder, as wide as the encoder's states.
  RecurrentSizes decoder() const { return layer(cell, bidirectional ? 2 * d_hidden : d_hidden); }
  std::int64_t attentional_width() const { return d_attentional > 0 ? d_attentional : decoder().d_hidden; }
  EncoderSizes encoder_sizes() const {
    EncoderSizes sizes{recurrent_part(source_vocab_size, n_layers, d_embedding, decoder().d_hidden),
                       final_widths_of(decoder())};
    if (attends().score->knows_positions()) sizes.max_length = max_source_positions;
    return sizes;
  }
  DecoderSizes decoder_sizes() const {
    const std::int64_t k = decoder().d_hidden;
    return attending_decoder(recurrent_part(target_vocab_size, n_layers, d_embedding, k),
                             {attends().score->compares_inside() ? d_align : k, k});
  }
  /// The attention of sections 3.1 and 3.2.
  AttentionConfig attends() const { return {&score_function(score), kWindows(attention), window}; }
  /// Throws UsageError naming the field and its valid values.
  void check() const;
};

template <class T>
std::unique_ptr<Model<T>> build(const LuongConfig& config);

}  // namespace heed
