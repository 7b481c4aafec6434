// Sequence to sequence learning with neural networks (Sutskever, Vinyals, Le, NIPS 2014). One deep LSTM reads
// the source into a vector of fixed size v, its last states; another one, a language model that starts from
// v, writes the translation: p(y | x) = prod_t p(y_t | v, y_1 .. y_(t-1)), eq. 1. Layer l of the decoder
// starts from the last (h, c) of layer l of the encoder. The source is read backwards (section 3.3): x_T ..
// x_1, </s> first; the files keep the states in the order of the words.
//
// Parameters: encoder/embedding/weight [V_x, m], decoder/embedding/weight [V_y, m], {encoder, decoder}/
// layer_<l>/state (nn/recurrent_stack.h), decoder/output/weight [n, V_y]; m = d_embedding, n = d_hidden.
// Named values: encoder/embedded, encoder/layer_<l>/{final_h, final_c} [sentences, n], encoder/output [source
// rows, n], decoder/embedded, decoder/output [target rows, n].
#pragma once

#include <memory>
#include <string>

#include "models/recurrent_model.h"
#include "models/recurrent_options.h"

namespace heed {

struct SutskeverConfig : RecurrentOptions {
  static constexpr const char* kArchitecture = "sutskever";
  std::int64_t d_embedding = 1000;
  std::int64_t d_hidden = 1000;
  std::int64_t n_layers = 4;
  std::string cell = "lstm";
  bool reverse_source = true;
  std::string init = "paper";
  double dropout = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    recurrent_sizes(self, field);
    field("n_layers", self.n_layers, "recurrent models: layers of the encoder and as many of the decoder");
    field("cell", self.cell, "recurrent models: the cell", cell_names());
    field("reverse_source", self.reverse_source, "recurrent models: the encoder reads the source backwards");
    recurrent_practice(self, field);
  }

  /// A layer of the encoder.
  RecurrentSizes encoder() const { return starting_layer(cell, d_hidden); }
  /// A layer of the decoder.
  RecurrentSizes state() const { return layer(cell, d_hidden); }
  /// Throws UsageError naming the field and what it must be.
  void check() const;
};

template <class T>
class Sutskever final : public RecurrentModel<T, SutskeverConfig> {
 public:
  explicit Sutskever(const SutskeverConfig& config);

  std::int64_t d_model() const override { return this->config_.d_hidden; }
  std::int64_t n_encoder_layers() const override { return this->config_.n_layers; }
  std::int64_t n_decoder_layers() const override { return this->config_.n_layers; }
  std::int64_t n_heads() const override { return 0; }
  HeadWidths head_widths() const override { return {}; }
  FinalWidths final_widths() const override { return final_widths_of(this->config_.state()); }
  bool attends() const override { return false; }

  using Model<T>::encode;
  Encoded<T> encode(Pass<T>& pass, const Encoded<T>& input, std::int64_t first,
                    std::int64_t last) const override;
  Var<T> decode(Pass<T>& pass, const Encoded<T>& memory, const PackedTokens& target) const override;
  std::unique_ptr<Stepper<T>> stepper(const Encoded<T>& memory, const Editor<T>* editor) const override;
};

}  // namespace heed
