// Show, attend and tell (Xu, Ba, Kiros, Cho, Courville, Salakhutdinov, Zemel, Bengio, ICML 2015), for images
// and for text. For an image, the annotations a_i belong to its L places: patches, or features from another
// program's network (models/image_patches.h, without a class token),
//   a_i = relu(relu(p_i W + b + e_i) W_a + b_a),
// where e_i, which the paper does not have, distinguishes the places. For text, they are the states of a
// bidirectional recurrent encoder, one per source word. The decoder follows the paper: an LSTM whose gates
// read the previous word, its previous state and a context z_t (eq. 1-3); e_ti = f_att(a_i, h_(t-1)), alpha_t
// = softmax(e_t) (eq. 4, 5); h_0 and c_0 from the mean annotation by two networks; p(y_t) = softmax(L_o (E
// y_(t-1) + L_h h_t + L_z z_t)) (eq. 7). f_att is Bahdanau's network with a bias.
//
//   soft  z_t = beta_t sum_i alpha_ti a_i, beta_t = sigmoid(f_beta(h_(t-1))) with `context_gate` (section
//         4.2.1); the loss of a sentence gets doubly_stochastic * sum_i (1 - sum_t alpha_ti)^2 (eq. 14)
//   hard  z_t = beta_t a_(s_t), s_t drawn from alpha_t in training; the derivatives of log p(s) are weighted
//         by how much better the translation became than expected (REINFORCE, section 4.1, eq. 11):
//           d L = -d log p(y | s) - reinforce (log p(y | s) - b) d log p(s) - entropy d H[s],
//         b the moving average of log p(y) over earlier updates. With probability expected_share a sentence
//         uses the expectation of soft attention instead. The moving average is kept per target word, and the
//         b of a sentence is this average times its number of words: batches contain sentences of similar
//         length, so a single number per sentence would fit no batch. Outside training s_t is the most likely
//         position, in a search as in a forced pass, whose score is log p(y | that s), not log p(y); in a
//         sampled translation (DecoderState::streams) it is drawn from alpha_t, and its score is
//         log p(y | s drawn).
//
// Parameters: encoder/embedding/weight [V_x, m]; encoder/layer_0/{forward, backward}: recurrent layers
// (nn/recurrent.h); of images instead encoder/patches, encoder/positions/weight e [L, m] and
// encoder/layer_0/annotation/{weight W_a [m, 2 n], bias}; decoder/initial/{weight [2 n, state width], bias}:
// h_0 and c_0 side by side; decoder/embedding/weight E [V_y, m]; decoder/layer_0/state: the recurrent layer,
// with context/<gate>/weight [2 n, n]; decoder/layer_0/cross_attention/{query/{weight [n, n'], bias},
// key/weight [2 n, n'], score/weight [n'], gate/{weight f_beta [n, 1], bias}}; decoder/readout/{state/weight
// L_h [n, m], context/weight L_z [2 n, m]}; decoder/output/weight L_o [m, V_y]; m = d_embedding, n =
// d_hidden, n' = d_align. Named values: those of Bahdanau's model (models/bahdanau.h) and
// decoder/layer_0/cross_attention/{probabilities, gate}: alpha, beta. `weights` are those that make
// the context: alpha, or 1 at one position.
#pragma once

#include <memory>
#include <string>

#include "models/image_patches.h"
#include "models/recurrent_model.h"

namespace heed {

enum class AttendedTo { drawn, mean };
inline const Choice<AttendedTo> kAttendedTo{"attend_to", {"drawn", "mean"}};

struct XuConfig : RecurrentOptions, ImageOptions {
  static constexpr const char* kArchitecture = "xu";

  std::int64_t d_align = 512;
  std::string attend_to = "drawn";
  bool context_gate = true;
  double doubly_stochastic = 0;
  double reinforce = 1;
  double entropy = 0.002;
  double expected_share = 0.5;

  XuConfig() : RecurrentOptions(512, "lstm") {
    init = "xavier";
    dropout = 0.5;
  }

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    size_fields(self, field);
    field("d_align", self.d_align, "inner width of the attention's score network", up_to(65'536));
    cell_field(self, field);
    field("attend_to", self.attend_to,
          "hard attention to one drawn position, or soft attention, the weighted mean", kAttendedTo.words)
        .of_training = true;
    field("context_gate", self.context_gate, "scale the context by a gate computed from the previous state");
    field("doubly_stochastic", self.doubly_stochastic,
          "weight of the penalty on positions whose attention over all steps is not 1", at_least(0))
        .of_training = true;
    field("reinforce", self.reinforce,
          "hard attention: weight of the REINFORCE gradient of the drawn positions", at_least(0))
        .of_training = true;
    field("entropy", self.entropy, "hard attention: weight of the entropy bonus", at_least(0)).of_training =
        true;
    field("expected_share", self.expected_share,
          "hard attention: share of sentences trained with soft attention instead", between(0, 1))
        .of_training = true;
    practice_fields(self, field);
    image_fields(self, field);
  }
  /// Throws UsageError if the fields of images contradict each other.
  void check() const;
  /// For a model that reads images.
  ImagePatches patches() const {
    ImagePatches images = ImagePatches::of(*this);
    images.class_token = false;
    images.dropout = dropout;
    return images;
  }

  bool hard() const { return kAttendedTo(attend_to) == AttendedTo::drawn; }
  /// The attention of eq. 4 and 5, and section 4.
  AttentionConfig attends() const {
    AttentionConfig attends{&score_function("additive")};
    attends.hard = hard();
    attends.expected_share = expected_share;
    attends.names_probabilities = true;
    return attends;
  }
  /// The decoder's layer.
  RecurrentSizes state() const { return layer(cell, d_hidden); }
  EncoderSizes encoder_sizes() const {
    return {recurrent_part(source_vocab_size, 1, d_embedding, 2 * d_hidden), {}};
  }
  DecoderSizes decoder_sizes() const {
    DecoderSizes sizes = attending_decoder(recurrent_part(target_vocab_size, 1, d_embedding, d_hidden),
                                           {d_align, 2 * d_hidden});
    sizes.picks_positions = hard();
    return sizes;
  }
};

template <class T>
std::unique_ptr<Model<T>> build(const XuConfig& config);

}  // namespace heed
