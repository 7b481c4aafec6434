// The Transformer encoder-decoder (Vaswani, Shazeer, Parmar, Uszkoreit, Jones, Gomez, Kaiser, Polosukhin:
// Attention is all you need, 2017). Post-norm, LayerNorm(x + Sublayer(x)), as in the paper; pre-norm, x +
// Sublayer(LayerNorm(x)) with a final norm, by choice. To see what each is good for, the norm or the residual
// x + can be left out. Notation: d = d_model, rows = packed tokens.
//
// Parameters: embedding/weight [V, d] (tied = all) or encoder/embedding, decoder/embedding and, untied,
// decoder/output/weight [d, V]; encoder/layer_<i>/{self_attention, self_attention_norm, feed_forward,
// feed_forward_norm}; decoder/layer_<i>/ likewise with cross_attention, cross_attention_norm; no norms when
// norm = none;
// {encoder,decoder}/final_norm for pre-norm; {encoder,decoder}/positions/weight [max_length, d] when
// positions are learned.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/model.h"

namespace heed {

struct TransformerConfig {
  std::int64_t source_vocab_size = 0;
  std::int64_t target_vocab_size = 0;
  std::int64_t n_encoder_layers = 6;
  std::int64_t n_decoder_layers = 6;
  std::int64_t d_model = 512;
  std::int64_t d_ff = 2048;
  std::int64_t n_heads = 8;
  std::int64_t max_length = 1024;
  std::string norm = "post";
  bool residual = true;
  std::string positions = "sinusoidal";
  std::string tied = "all";
  double dropout = 0.1;
  double embedding_dropout = -1;
  double attention_dropout = 0;
  double activation_dropout = 0;
  double norm_epsilon = 1e-5;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("source_vocab_size", self.source_vocab_size, "size of the source vocabulary");
    field("target_vocab_size", self.target_vocab_size, "size of the target vocabulary");
    field("n_encoder_layers", self.n_encoder_layers, "encoder layers");
    field("n_decoder_layers", self.n_decoder_layers, "decoder layers");
    field("d_model", self.d_model, "width of embeddings and layers");
    field("d_ff", self.d_ff, "inner width of the feed-forward network");
    field("n_heads", self.n_heads, "attention heads; must divide d_model");
    field("max_length", self.max_length, "longest sentence in tokens");
    field("norm", self.norm, "layer normalisation after each sublayer (the paper), before, or not at all",
          {"post", "pre", "none"});
    field("residual", self.residual, "transformer: add each sublayer's input to its output");
    field("positions", self.positions, "position vectors", {"sinusoidal", "learned", "none"});
    field("tied", self.tied, "one matrix for source, target and output; for target and output; or none",
          {"all", "decoder", "none"});
    field("dropout", self.dropout, "dropout on each sublayer's output");
    field("embedding_dropout", self.embedding_dropout, "dropout on the embeddings; -1: same as dropout");
    field("attention_dropout", self.attention_dropout, "dropout on the attention weights");
    field("activation_dropout", self.activation_dropout, "dropout behind the ReLU");
    field("norm_epsilon", self.norm_epsilon, "epsilon inside the root of layer normalisation");
  }

  /// Throws UsageError naming the field and what it must be.
  void check() const;
};

template <class T>
class Transformer final : public Model<T> {
 public:
  explicit Transformer(const TransformerConfig& config);

  const std::string& architecture() const override;
  std::string config_json() const override;
  std::int64_t d_embedding() const override { return config_.d_model; }
  std::int64_t d_model() const override { return config_.d_model; }
  std::int64_t n_encoder_layers() const override { return config_.n_encoder_layers; }
  std::int64_t n_decoder_layers() const override { return config_.n_decoder_layers; }
  std::int64_t n_heads() const override { return config_.n_heads; }
  HeadWidths head_widths() const override {
    return {config_.d_model / config_.n_heads, config_.d_model / config_.n_heads};
  }
  bool self_attends() const override { return true; }
  std::int64_t max_length(Side) const override { return config_.max_length; }
  std::int64_t vocabulary_size(Side side) const override {
    return side == Side::source ? config_.source_vocab_size : config_.target_vocab_size;
  }
  const TransformerConfig& config() const { return config_; }

  Var<T> embed(Pass<T>& pass, Side side, const PackedTokens& tokens) const override;
  using Model<T>::encode;
  Encoded<T> encode(Pass<T>& pass, const Encoded<T>& input, std::int64_t first,
                    std::int64_t last) const override;
  Var<T> decode(Pass<T>& pass, const Encoded<T>& memory, const PackedTokens& target) const override;
  CrossEntropySums loss(Pass<T>& pass, Var<T> states, const PackedTokens& target, double smoothing,
                        T scale) const override;
  Var<T> logits(Pass<T>& pass, Var<T> states) const override;
  std::unique_ptr<Stepper<T>> stepper(const Encoded<T>& memory, const Editor<T>* editor) const override;

 private:
  template <class>
  friend class TransformerStepper;

  void declare_parameters();
  /// Embeddings of `ids`, each at its own position: the decoder's steps start anywhere.
  Var<T> embed_at(Pass<T>& pass, Side side, std::span<const std::int32_t> ids,
                  std::span<const std::int32_t> position) const;
  Scope<T> embedding_scope(Pass<T>& pass, Side side) const;
  /// The output matrix: an embedding table [V, d] when `tied` is set to true, else [d, V].
  Var<T> output_weight(Pass<T>& pass, bool& tied) const;
  Var<T> final_norm(const Scope<T>& stack, Var<T> x, const Packing& rows) const;

  TransformerConfig config_;
  std::vector<T> sinusoids_;  ///< [max_length, d_model] or empty
};

}  // namespace heed
