// Heads: what maps a model's states to words or classes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "autograd/ops.h"
#include "base/choice.h"
#include "nn/feed_forward.h"
#include "nn/norm.h"
#include "nn/scope.h"
#include "tensor/logits.h"

namespace heed {

/// A layer between states and scores of words, as in BERT: LayerNorm(f(x W + b)). Parameters:
/// <scope>/inner/{weight [d, e], bias}, <scope>/norm/{gamma, beta}; e is the width of the embeddings.
struct WordTransform {
  std::string scope;
  Activation activation = Activation::gelu;
  NormSettings norm;
  bool bias = true;

  template <class T>
  void declare(ParameterSet<T>& parameters, std::int64_t d, std::int64_t e) const;
  /// [n, d] -> [n, e].
  template <class T>
  Var<T> operator()(Pass<T>& pass, Var<T> states) const;
};

/// The scores of words before the softmax: logit_scale * states [n, d] W + b -> [n, V].
struct WordsHead {
  std::string weight;  ///< path of the parameter W [d, V], or of an embedding table [V, d] when tied
  bool tied = false;
  std::string bias{};  ///< path of the parameter b [V]; empty: none
  double logit_scale = 1;
  std::optional<WordTransform> transform{};  ///< applied to the states first

  /// Without gradients.
  template <class T>
  Var<T> logits(Pass<T>& pass, Var<T> states) const;
  /// By the packed weights of the pass's tape, which must have some: for search.
  template <class T>
  Logits<T> next_words(Pass<T>& pass, Var<T> states) const;
  /// Adds the label-smoothed cross-entropy of `targets` given states, times `scale`, to the tape if it takes
  /// gradients. `nll`, unless null, receives -log p of each target.
  template <class T>
  CrossEntropySums loss(Pass<T>& pass, Var<T> states, std::span<const std::int32_t> targets, double smoothing,
                        T scale, std::vector<double>* nll = nullptr) const;
  /// The loss of two passes over the same targets, one after the other, that are to agree
  /// (consistent_cross_entropy).
  template <class T>
  CrossEntropySums consistent_loss(Pass<T>& pass, Var<T> states, std::span<const std::int32_t> targets,
                                   double smoothing, double consistency, T scale) const;
};

/// How the states of a sentence become one vector; none: each state is classified.
enum class Pooling { first, mean, last, attention, none };
inline const Choice<Pooling> kPoolings{"pooling", {"first", "mean", "last", "attention", "none"}};

/// The meaning of class scores: softmax over all classes; sigmoid for each class; numbers.
enum class ProblemType { single_label, multi_label, regression };
inline const Choice<ProblemType> kProblemTypes{"problem_type", {"single_label", "multi_label", "regression"}};

/// A layer that a pooled vector v passes: f(v W + b), where f is tanh in BERT and ReLU in DistilBERT, or
/// LayerNorm(f(v W + b)), as in ModernBERT. Parameters: encoder/pooler/{weight [d, d], bias},
/// encoder/pooler_norm/{gamma, beta}.
struct Pooler {
  Activation activation = Activation::tanh;
  bool bias = true;
  std::optional<NormSettings> norm{};

  bool operator==(const Pooler&) const = default;
  template <class T>
  void declare(ParameterSet<T>& parameters, std::int64_t d) const;
  /// v [n, d] -> [n, d].
  template <class T>
  Var<T> operator()(Pass<T>& pass, Var<T> v) const;
};

/// Classification of whole sentences: pooled states [sentences, d] W + b -> [sentences, classes]; without
/// pooling, of each token. Pooling by attention is that of nn/attention/pooling.h. Parameters: classes/weight
/// [d, classes], classes/bias; those of the attention and the pooler. Named values: those of the attention;
/// classes/pooled, the classified vector before dropout, one row per sentence (none without pooling).
struct ClassesHead {
  Pooling pooling = Pooling::mean;
  std::optional<Pooler> pooler{};
  std::string attention = "classes/attention";  ///< its scope
  ProblemType problem = ProblemType::single_label;
  double dropout = 0;         ///< on the classified vector
  double pooler_dropout = 0;  ///< on the pooler's input

  /// Whether the same parameters compute the same in both; dropout may differ.
  bool tells_like(const ClassesHead& other) const {
    return pooling == other.pooling && pooler == other.pooler && attention == other.attention &&
           problem == other.problem;
  }
  bool of_tokens() const { return pooling == Pooling::none; }
  template <class T>
  void declare(ParameterSet<T>& parameters, std::int64_t d, std::int64_t classes) const;
  /// states [rows, d] -> [sentences, classes], or [rows, classes] without pooling.
  template <class T>
  Var<T> logits(Pass<T>& pass, Var<T> states, const Packing& rows) const;

 private:
  template <class T>
  Var<T> pooled(Pass<T>& pass, Var<T> states, const Packing& rows) const;
};

/// Maps the states of a sentence to one vector, without gradients: pooling, optionally the pooler, or one or two
/// layers f(v W + b), sentence-transformers' Dense, with the parameters sentences/dense_inner/{weight
/// [d, dense_inner_width], bias} and sentences/dense/{weight [d or dense_inner_width, dense_width], bias}.
struct SentenceVectors {
  Pooling pooling = Pooling::mean;  ///< mean, first or last
  bool normalised = false;          ///< to length 1
  std::optional<Pooler> pooler{};
  std::int64_t dense_width = 0;        ///< 0: no such layers
  std::int64_t dense_inner_width = 0;  ///< 0: one
  Activation dense_activation = Activation::tanh;
  bool dense_bias = true;

  template <class T>
  void declare(ParameterSet<T>& parameters, std::int64_t d) const;
  /// The width of the vectors from states [rows, d].
  std::int64_t width(std::int64_t d) const { return dense_width > 0 ? dense_width : d; }
  /// states [rows, d] -> [sentences, width], one row after the other.
  template <class T>
  std::vector<T> of(Pass<T>& pass, Var<T> states, const Packing& rows) const;
};

}  // namespace heed
