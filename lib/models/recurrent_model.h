// What all recurrent translation models share: word embeddings of both sides, a softmax layer without bias,
// and what follows from their config. Parameters: encoder/embedding/weight [V_x, d_embedding],
// decoder/embedding/weight [V_y, d_embedding], decoder/output/weight [d_out, V_y].
#pragma once

#include <string>

#include "autograd/ops.h"
#include "autograd/ops_recurrent.h"
#include "base/error.h"
#include "models/config_json.h"
#include "models/model.h"
#include "nn/recurrent.h"

namespace heed {

/// What encode() hands on of a unidirectional layer.
inline FinalWidths final_widths_of(const RecurrentSizes& layer) {
  return {layer.d_hidden, layer.state_width() - layer.d_hidden};
}

/// Names what a layer hands on to the decoder: final_h and, of an LSTM, final_c [sentences, ...].
template <class T>
Var<T> name_final(const Scope<T>& layer, FinalWidths widths, Var<T> state) {
  if (!layer.watched("final_h") && !layer.watched("final_c")) return state;
  Tape<T>& tape = layer.tape();
  Var<T> h = layer.name_sentences("final_h", tape.columns(state, 0, widths.h));
  if (widths.c == 0) return h;
  return side_by_side(h, layer.name_sentences("final_c", tape.columns(state, widths.h, widths.c)));
}

/// Config has the fields source_vocab_size, target_vocab_size, d_embedding and dropout, a check() and the
/// name kArchitecture.
template <class T, class ConfigOf>
class RecurrentModel : public Model<T> {
 public:
  explicit RecurrentModel(const ConfigOf& config) : config_(config) { config_.check(); }

  const std::string& architecture() const override {
    static const std::string name = ConfigOf::kArchitecture;
    return name;
  }
  std::string config_json() const override {
    ConfigOf copy = config_;
    return to_json(architecture(), fields_of(copy));
  }
  std::int64_t d_embedding() const override { return config_.d_embedding; }
  std::int64_t max_length(Side) const override { return 0; }
  bool self_attends() const override { return false; }
  std::int64_t vocabulary_size(Side side) const override {
    return side == Side::source ? config_.source_vocab_size : config_.target_vocab_size;
  }
  const ConfigOf& config() const { return config_; }

  Var<T> embed(Pass<T>& pass, Side side, const PackedTokens& tokens) const override {
    Scope<T> stack = Scope<T>(pass) / (side == Side::source ? "encoder" : "decoder");
    Var<T> x = embedding((stack / "embedding").parameter("weight"),
                         pass.tape->arena().template keep<std::int32_t>(tokens.ids), T{1}, Var<T>(), {},
                         stack.dropout(config_.dropout));
    return stack.name("embedded", x, tokens.rows);
  }
  CrossEntropySums loss(Pass<T>& pass, Var<T> states, const PackedTokens& target, double smoothing,
                        T scale) const override {
    std::vector<double> nll;
    CrossEntropySums sums = projected_cross_entropy(states, output_weight(pass), false, target.ids, smoothing,
                                                    scale, pass.extra_loss ? &nll : nullptr);
    if (pass.extra_loss) sums.loss += pass.extra_loss(nll, static_cast<double>(scale));
    return sums;
  }
  Var<T> logits(Pass<T>& pass, Var<T> states) const override {
    return logits_of(states, output_weight(pass), false);
  }

 protected:
  Var<T> output_weight(Pass<T>& pass) const {
    return (Scope<T>(pass) / "decoder" / "output").parameter("weight");
  }
  void expect_layers(std::int64_t first, std::int64_t last) const {
    if (first < 0 || first > last || last > this->n_encoder_layers())
      fail<UsageError>("layers ", first, ":", last, " are not within the encoder's ",
                       this->n_encoder_layers());
  }
  static void expect_same_sentences(const Encoded<T>& memory, const PackedTokens& target) {
    if (memory.rows->sentences() == target.rows.sentences()) return;
    fail("decode: ", memory.rows->sentences(), " source and ", target.rows.sentences(), " target sentences");
  }

  ConfigOf config_;
};

}  // namespace heed
