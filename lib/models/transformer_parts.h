// The two stacks of the Transformer (Vaswani, Shazeer, Parmar, Uszkoreit, Jones, Gomez, Kaiser, Polosukhin:
// Attention is all you need, 2017), as parts of a model: a pair has both, GPT-like models the decoder,
// BERT-like ones the encoder. Post-norm, LayerNorm(x + Sublayer(x)), as in the paper; optionally pre-norm, x
// + Sublayer(LayerNorm(x)) with a final norm, both, x + LayerNorm(Sublayer(LayerNorm(x))), likewise (sandwich;
// Ding et al.: CogView, 2021), x + LayerNorm(Sublayer(x)), likewise (output; Liu et al.: Swin Transformer V2, 2022), or
// in parallel, x + Attention(LayerNorm(x)) + FeedForward(LayerNorm(x)) (Wang,
// Komatsuzaki: GPT-J-6B, 2021). For ablations the norm or the residual x + can be omitted. Further options give
// the layers of later models: BERT, MPNet, BART, T5, GPT-2, GPT-NeoX, Phi, Llama, Qwen, Gemma, OLMo. Notation: d =
// d_model, rows = packed tokens.
//
// Parameters of a stack <s>: <s>/embedding/weight [V, d], or embedding/weight of both sides; those of
// positions (nn/positional_encoding.h); optionally <s>/embedding_norm, <s>/embedding_projection;
// <s>/layer_<i>/{self_attention, self_attention_norm, feed_forward, feed_forward_norm}; in a decoder that
// reads a memory also cross_attention, cross_attention_norm; optionally, in place of a decoder's
// self_attention, recurrence (nn/simple_recurrence.h) and recurrence_norm; no norms if norm = none,
// only the first in a layer if parallel_residual = one_norm, and if norm = sandwich of each sublayer a second
// one, self_attention_post_norm, ..., which is the only one if norm = output; <s>/final_norm if it is neither post
// nor none, or by final_norm.
// A norm has gamma [d] and, if norm_kind = layer, beta [d]. Without first_norm layer 0 begins without one.
// Named values: <s>/embedded, those of the layers under the parameters' paths
// (nn/attention/multi_head_attention.h, nn/feed_forward.h; of a norm sum and output), <s>/layer_<i>/output,
// <s>/output.
#pragma once

#include <span>
#include <string>
#include <vector>
#include "base/range.h"

#include "models/heads.h"
#include "models/parts.h"
#include "nn/attention/multi_head_attention.h"
#include "nn/feed_forward.h"
#include "nn/norm.h"
#include "nn/positional_encoding.h"

namespace heed {

enum class Norm { post, pre, none, sandwich, output };
inline const Choice<Norm> kNorms{"norm", {"post", "pre", "none", "sandwich", "output"}};
/// Whether a sublayer reads its input through a norm.
constexpr bool norms_input(Norm norm) {
  return norm == Norm::pre || norm == Norm::sandwich;
}
/// Whether what a sublayer gives is normalised before it is added.
constexpr bool norms_output(Norm norm) {
  return norm == Norm::sandwich || norm == Norm::output;
}
/// Whether all sublayers of a layer read its input, rather than each the sum so far, and whether each has a
/// norm of its own for it.
enum class ParallelResidual { no, two_norms, one_norm };
inline const Choice<ParallelResidual> kParallelResiduals{"parallel_residual",
                                                         {"no", "two_norms", "one_norm"}};
/// Which embedding tables and output matrices are shared.
enum class Tied { all, decoder, none };
inline const Choice<Tied> kTied{"tied", {"all", "decoder", "none"}};
/// Queries and keys are normalised head by head, or all heads together.
enum class QkNormOver { head, all };
inline const Choice<QkNormOver> kQkNormOver{"qk_norm_over", {"head", "all"}};
/// Whether a stack ends in a norm; by_norm: if its layers have norms and do not end in one.
enum class FinalNorm { by_norm, yes, no };
inline const Choice<FinalNorm> kFinalNorms{"final_norm", {"by_norm", "yes", "no"}};
/// The factor of the embeddings.
enum class EmbeddingScale { sqrt_d, one };
inline const Choice<EmbeddingScale> kEmbeddingScales{"embedding_scale", {"sqrt_d", "1"}};
/// The factor of the scores.
enum class ScoreScale { by_sqrt_d_head, one };
inline const Choice<ScoreScale> kScoreScales{"score_scale", {"1/sqrt_d_head", "1"}};

/// Whether a layer has the sliding window of this width, 0 if there is none, by the letters of window_layers.
inline bool has_window(std::int64_t width, const std::string& window_layers, std::int64_t layer) {
  return width > 0 && window_layers[static_cast<std::size_t>(layer) % window_layers.size()] == 'w';
}

/// The config fields that all Transformers share.
struct TransformerOptions : PositionOptions {
  std::int64_t d_model = 512;
  std::int64_t d_ff = 2048;
  std::int64_t n_heads = 8;
  std::int64_t max_length = 1024;
  std::string norm = "post";
  bool residual = true;
  double dropout = 0.1;
  double embedding_dropout = -1;
  double attention_dropout = 0;
  double activation_dropout = 0;
  double norm_epsilon = 1e-5;
  // Later additions: optional config fields.
  std::string activation = "relu";
  bool gated = false;
  bool feed_forward_bias = true;
  std::string norm_kind = "layer";
  std::string final_norm = "by_norm";
  std::string parallel_residual = "no";
  bool embedding_norm = false;
  std::string embedding_scale = "sqrt_d";
  std::int64_t d_head = 0;
  std::int64_t n_kv_heads = 0;
  bool qk_norm = false;
  std::string qk_norm_over = "head";
  std::string score_scale = "1/sqrt_d_head";
  std::int64_t score_width = 0;
  std::string attention_bias = "all";
  std::int64_t sliding_window = 0;
  std::string window_layers = "w";
  bool output_bias = false;
  double logit_scale = 1;

  std::int64_t head_width() const { return d_head > 0 ? d_head : d_model / n_heads; }
  std::int64_t key_heads() const { return n_kv_heads > 0 ? n_kv_heads : n_heads; }

  template <class Self, class Visit>
  static void size_fields(Self& self, Visit&& field) {
    field("d_model", self.d_model, "width of embeddings and layers", up_to(65'536));
    field("d_ff", self.d_ff, "inner width of the feed-forward network", up_to(1'000'000));
    field("n_heads", self.n_heads, "attention heads; must divide d_model, unless d_head is given",
          up_to(65'536));
    field("max_length", self.max_length, "longest sentence in tokens", up_to(1'000'000));
    field("norm", self.norm,
          "layer normalisation after each sublayer (as in the paper), before it, none, before it and on its "
          "output (sandwich), or on its output before that is added",
          kNorms.words);
    field("residual", self.residual, "add each sublayer's input to its output");
    position_scheme(self, field);
  }
  /// Fields of the layers: further choices of what they compute.
  template <class Self, class Visit>
  static void layer_fields(Self& self, Visit&& field) {
    const auto optional = optional_fields(field);
    optional("activation", self.activation, "activation of the feed-forward network",
             kFeedForwardActivations);
    optional("gated", self.gated, "gate the feed-forward network: f(x W_g) * (x W_1) instead of f(x W_1)");
    optional("feed_forward_bias", self.feed_forward_bias, "biases in the feed-forward network");
    optional("norm_kind", self.norm_kind,
             "normalise by mean and variance, or by root mean square, with factor gamma or 1 + gamma",
             kNormKinds.words);
    optional("final_norm", self.final_norm,
             "norm after the last layer; by_norm: when norm is pre, sandwich or output", kFinalNorms.words);
    optional("parallel_residual", self.parallel_residual,
             "all sublayers of a layer read its input, each through a norm of its own (GPT-NeoX) or all "
             "through one (Phi), and their outputs are added",
             kParallelResiduals.words);
    optional("embedding_norm", self.embedding_norm, "normalise the embeddings, as in BERT");
    optional("embedding_scale", self.embedding_scale, "factor of the embeddings", kEmbeddingScales.words);
    optional("d_head", self.d_head, "width of a head; 0: d_model / n_heads", between(0, 65'536));
    optional("n_kv_heads", self.n_kv_heads,
             "key-value heads, each shared by a group of query heads; 0: n_heads", between(0, 65'536));
    optional("qk_norm", self.qk_norm, "divide queries and keys by their root mean square");
    optional("qk_norm_over", self.qk_norm_over, "with qk_norm: head by head, or all heads together",
             kQkNormOver.words);
    optional("score_scale", self.score_scale, "factor of the attention scores", kScoreScales.words);
    optional("score_width", self.score_width,
             "width in place of d_head in the factor of the scores; 0: d_head", between(0, 65'536));
    optional("attention_bias", self.attention_bias, "attention projections with biases",
             kAttentionBiases.words);
    optional(
        "sliding_window", self.sliding_window,
        "self-attention sees only positions less than this far away, in a decoder the last so many; 0: all",
        between(0, 1'000'000));
    optional("window_layers", self.window_layers,
             "for each layer w, if it has the sliding window, or f, if it sees all positions; repeated from "
             "the first on: wwwwwf");
    position_settings(self, optional);
    optional("output_bias", self.output_bias, "add a bias to the output scores");
    optional("logit_scale", self.logit_scale, "factor of the output scores, before the bias", above(0));
  }
  template <class Self, class Visit>
  static void practice_fields(Self& self, Visit&& field) {
    field("dropout", self.dropout, "dropout after each layer or sublayer", share()).of_training = true;
    field("embedding_dropout", self.embedding_dropout, "dropout on the embeddings; -1: same as dropout",
          from_below(-1, 1))
        .of_training = true;
    field("attention_dropout", self.attention_dropout, "dropout on the attention weights", share())
        .of_training = true;
    field("activation_dropout", self.activation_dropout, "dropout after the activation", share())
        .of_training = true;
    field("norm_epsilon", self.norm_epsilon, "epsilon inside the root of layer normalisation", at_least(0));
  }
  /// Throws UsageError naming the field and its valid values. `n_layers`: of the larger stack.
  void check_options(std::int64_t n_layers) const;
};

/// The settings of a stack, parsed.
struct StackSettings {
  std::string name;             ///< its scope: "encoder" or "decoder"
  std::string embedding_table;  ///< path of the parameter
  std::int64_t vocab_size = 0, n_layers = 0, d_model = 0, d_ff = 0, max_length = 0;
  HeadConfig heads;           ///< of all layers, but for the window, which some may not have
  std::string window_layers;  ///< has_window()
  FeedForwardSettings feed_forward;
  bool causal = false;        ///< self-attention sees only the past
  bool reads_memory = false;  ///< has cross-attention
  bool recurrent = false;     ///< layers begin with a recurrence in place of self-attention
  bool zero_start = false;    ///< the token at position 0 has a zero embedding
  Norm norm = Norm::post;
  NormSettings norms;
  bool final_norm = false, embedding_norm = false;
  bool first_norm = true;  ///< with norm = pre: the first sublayer begins with one, too
  ParallelResidual parallel = ParallelResidual::no;
  bool residual = true;
  double embedding_scale = 1;
  double dropout = 0, embedding_dropout = 0;
  PositionSettings positions;
  std::int64_t n_token_types = 0;
  std::int64_t embedding_width = 0;  ///< of tables whose rows are projected to d_model; 0: they have d_model

  static StackSettings encoder(const TransformerOptions& options, std::int64_t n_layers,
                               std::int64_t vocab_size, const std::string& embedding_table);
  static StackSettings decoder(const TransformerOptions& options, std::int64_t n_layers,
                               std::int64_t vocab_size, const std::string& embedding_table,
                               bool reads_memory);
  /// Whether the self-attention of a layer has the window.
  bool has_window(std::int64_t layer) const { return heed::has_window(heads.window, window_layers, layer); }
};

/// Declares the parameters of positions and layers.
template <class T>
void declare_stack(ParameterSet<T>& parameters, const StackSettings& settings);
/// Declares an embedding table [rows, d]: deviation 1 / sqrt(d), so that the scaled embeddings have deviation
/// 1.
template <class T>
void declare_table(ParameterSet<T>& parameters, const std::string& path, std::int64_t rows, std::int64_t d);

/// Declares <scope>/weight [d, V], unless the output is tied to the embedding table, and optionally
/// <scope>/bias [V]; returns the head with their paths.
template <class T>
WordsHead declare_words(ParameterSet<T>& parameters, Tied tied, const std::string& table,
                        const TransformerOptions& options, std::int64_t words, const std::string& scope);

/// The common part of both stacks.
template <class T>
class TransformerStack {
 public:
  explicit TransformerStack(const StackSettings& settings);
  const StackSettings& settings() const { return settings_; }

  /// sqrt(d) E + positions (section 3.4), optionally without the factor, with a vector for the token's type
  /// (BERT), normalised, and projected (ELECTRA); token j of sequence i has position first[i] + j, or j if
  /// `first` is empty.
  Var<T> embed(Pass<T>& pass, const PackedTokens& tokens, std::span<const std::int64_t> first) const;
  const PositionalEncoding<T>& positions() const { return positions_; }
  /// The final norm, if there is one; names the output.
  Var<T> finish(Pass<T>& pass, Var<T> x, const Packing& rows) const;

 private:
  StackSettings settings_;
  PositionalEncoding<T> positions_;
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
  Var<T> finish(Pass<T>& pass, Var<T> output, const Packing& rows) const override;

 private:
  TransformerStack<T> stack_;
};

extern template class TransformerEncoder<float>;
extern template class TransformerEncoder<double>;
extern template class TransformerDecoder<float>;
extern template class TransformerDecoder<double>;

}  // namespace heed
