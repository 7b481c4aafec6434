// The two stacks of the Transformer (Vaswani, Shazeer, Parmar, Uszkoreit, Jones, Gomez, Kaiser, Polosukhin:
// Attention is all you need, 2017), as parts of a model: a pair has both, GPT-like models the decoder,
// BERT-like ones the encoder. Post-norm, LayerNorm(x + Sublayer(x)), as in the paper; pre-norm, x +
// Sublayer(LayerNorm(x)) with a final norm, by choice. For ablations the norm or the residual x + can be
// left out. Notation: d = d_model, rows = packed tokens.
//
// Parameters of a stack <s>: <s>/embedding/weight [V, d], or embedding/weight of both sides;
// <s>/positions/weight [max_length, d] when positions are learned; <s>/layer_<i>/{self_attention,
// self_attention_norm, feed_forward, feed_forward_norm}, of a decoder that reads a memory also
// cross_attention, cross_attention_norm; no norms when norm = none; <s>/final_norm for pre-norm.
// Named values: <s>/embedded, those of the layers under the parameters' paths (nn/multi_head_attention.h,
// nn/feed_forward.h; of a norm sum and output), <s>/layer_<i>/output, <s>/output.
#pragma once

#include <string>
#include <vector>
#include "base/range.h"

#include "models/heads.h"
#include "models/parts.h"
#include "nn/attention/multi_head_attention.h"
#include "nn/positional_encoding.h"

namespace heed {

enum class Norm { post, pre, none };
inline const Choice<Norm> kNorms{"norm", {"post", "pre", "none"}};
/// Which embedding tables and output matrices are one.
enum class Tied { all, decoder, none };
inline const Choice<Tied> kTied{"tied", {"all", "decoder", "none"}};

/// The config fields that all Transformers share.
struct TransformerOptions {
  std::int64_t d_model = 512;
  std::int64_t d_ff = 2048;
  std::int64_t n_heads = 8;
  std::int64_t max_length = 1024;
  std::string norm = "post";
  bool residual = true;
  std::string positions = "sinusoidal";
  double dropout = 0.1;
  double embedding_dropout = -1;
  double attention_dropout = 0;
  double activation_dropout = 0;
  double norm_epsilon = 1e-5;

  template <class Self, class Visit>
  static void size_fields(Self& self, Visit&& field) {
    field("d_model", self.d_model, "width of embeddings and layers", up_to(65'536));
    field("d_ff", self.d_ff, "inner width of the feed-forward network", up_to(1'000'000));
    field("n_heads", self.n_heads, "attention heads; must divide d_model", up_to(65'536));
    field("max_length", self.max_length, "longest sentence in tokens", up_to(1'000'000));
    field("norm", self.norm, "layer normalisation after each sublayer (the paper), before, or not at all",
          kNorms.words);
    field("residual", self.residual, "add each sublayer's input to its output");
    field("positions", self.positions, "position vectors", kPositions.words);
  }
  template <class Self, class Visit>
  static void practice_fields(Self& self, Visit&& field) {
    field("dropout", self.dropout, "dropout after each layer or sublayer", share());
    field("embedding_dropout", self.embedding_dropout, "dropout on the embeddings; -1: same as dropout",
          from_below(-1, 1));
    field("attention_dropout", self.attention_dropout, "dropout on the attention weights", share());
    field("activation_dropout", self.activation_dropout, "dropout after the ReLU", share());
    field("norm_epsilon", self.norm_epsilon, "epsilon inside the root of layer normalisation", at_least(0));
  }
  /// Throws UsageError naming the field and what it must be.
  void check_options() const;
};

/// What a stack computes, parsed.
struct StackSettings {
  std::string name;             ///< of its scope: "encoder" or "decoder"
  std::string embedding_table;  ///< path of the parameter
  std::int64_t vocab_size = 0, n_layers = 0, d_model = 0, d_ff = 0, max_length = 0;
  HeadConfig heads;
  bool causal = false;        ///< self-attention attends to the past only
  bool reads_memory = false;  ///< has cross-attention
  Norm norm = Norm::post;
  bool residual = true;
  double dropout = 0, embedding_dropout = 0, activation_dropout = 0, norm_epsilon = 0;

  static StackSettings encoder(const TransformerOptions& options, std::int64_t n_layers,
                               std::int64_t vocab_size, const std::string& embedding_table);
  static StackSettings decoder(const TransformerOptions& options, std::int64_t n_layers,
                               std::int64_t vocab_size, const std::string& embedding_table,
                               bool reads_memory);
};

/// Adds the parameters of positions and layers.
template <class T>
void declare_stack(ParameterSet<T>& parameters, const StackSettings& settings);
/// An embedding table [rows, d]: deviation 1 / sqrt(d), which the scaling of embeddings makes 1.
template <class T>
void declare_table(ParameterSet<T>& parameters, const std::string& path, std::int64_t rows, std::int64_t d);

/// Adds decoder/output/weight [d, V] unless the words' scores come from the table of embeddings; says which.
template <class T>
WordsHead declare_words(ParameterSet<T>& parameters, Tied tied, const std::string& table, std::int64_t d,
                        std::int64_t words);

/// What both stacks have in common.
template <class T>
class TransformerStack {
 public:
  explicit TransformerStack(const StackSettings& settings);
  const StackSettings& settings() const { return settings_; }

  /// sqrt(d) E + positions (section 3.4); token j of sequence i stands at position first[i] + j, from 0 where
  /// `first` is empty.
  Var<T> embed(Pass<T>& pass, const PackedTokens& tokens, std::span<const std::int64_t> first) const;
  /// The final norm of pre-norm stacks; names the output.
  Var<T> finish(const Scope<T>& stack, Var<T> x, const Packing& rows) const;

 private:
  StackSettings settings_;
  std::vector<T> sinusoids_;  ///< [max_length, d_model] or empty
};

template <class T>
class TransformerEncoder final : public Encoder<T> {
 public:
  explicit TransformerEncoder(const StackSettings& settings);
  Var<T> embed(Pass<T>& pass, const PackedTokens& tokens) const override;
  Encoded<T> encode(Pass<T>& pass, const Encoded<T>& input, std::int64_t first,
                    std::int64_t last) const override;

 private:
  TransformerStack<T> stack_;
};

template <class T>
class TransformerDecoder final : public Decoder<T> {
 public:
  explicit TransformerDecoder(const StackSettings& settings);
  Var<T> embed(Pass<T>& pass, const PackedTokens& tokens, const Continuation& at) const override;
  DecoderState<T> start(Pass<T>& pass, std::int64_t sentences, const Encoded<T>* memory) const override;
  Decoded<T> read(Pass<T>& pass, DecoderState<T>& state, Var<T> embedded, const Packing& rows) const override;

 private:
  TransformerStack<T> stack_;
};

extern template class TransformerEncoder<float>;
extern template class TransformerEncoder<double>;
extern template class TransformerDecoder<float>;
extern template class TransformerDecoder<double>;

}  // namespace heed
