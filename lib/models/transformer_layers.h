// One layer of the Transformer, shared by the whole-sentence pass and the step-by-step decoder, which differ
// only in where the keys and values come from.
#pragma once

#include <string>

#include "autograd/ops.h"
#include "models/transformer.h"
#include "nn/attention/multi_head_attention.h"
#include "nn/feed_forward.h"

namespace heed {

/// A sublayer with its residual connection and layer normalisation (section 3.1; dropout on the sublayer's
/// output, section 5.4):   post-norm LayerNorm(x + Dropout(sublayer(x))),   pre-norm x +
/// Dropout(sublayer(LayerNorm(x))),   norm = none x + Dropout(sublayer(x)); each without its x + when there
/// is no residual. `sublayer` maps a Var [rows, d] to a Var [rows, d] under the scope layer/<name>.
template <class T, class Sublayer>
Var<T> residual(const Scope<T>& layer, const std::string& name, Var<T> x, const Packing& rows,
                const TransformerConfig& config, Sublayer&& sublayer) {
  Scope<T> norm = layer / (name + "_norm");
  const T eps = static_cast<T>(config.norm_epsilon);
  auto normed = [&](Var<T> sum, Var<T> sub, const Dropout& drop) {
    return add_layer_norm(sum, sub, drop, norm.parameter("gamma"), norm.parameter("beta"), eps);
  };
  auto drop = [&] { return norm.dropout(config.dropout); };  // drawn behind the sublayer's own
  auto sum = [&](Var<T> output) {
    return config.residual ? add_dropped(x, output, drop()) : drop_out(output, drop());
  };
  if (config.norm == "post") {
    Var<T> output = sublayer(layer / name, x);
    if (config.residual && !norm.edits("sum")) {
      SumAndNorm<T> result = normed(x, output, drop());
      norm.name("sum", result.sum, rows);
      return norm.name("output", result.output, rows);
    }
    Var<T> added = norm.name("sum", sum(output), rows);
    return norm.name("output", normed(added, Var<T>(), Dropout{}).output, rows);
  }
  Var<T> input = config.norm == "pre" ? norm.name("output", normed(x, Var<T>(), Dropout{}).output, rows) : x;
  Var<T> output = sublayer(layer / name, input);
  return norm.name("sum", sum(output), rows);
}

template <class T>
Var<T> feed_forward_block(const Scope<T>& layer, Var<T> x, const Packing& rows,
                          const TransformerConfig& config) {
  return residual(layer, "feed_forward", x, rows, config, [&](const Scope<T>& scope, Var<T> y) {
    return feed_forward(scope, y, rows, config.activation_dropout);
  });
}

/// Section 3.1, encoder: self-attention, then the feed-forward network. [rows, d] -> [rows, d].
template <class T>
Var<T> encoder_layer(const Scope<T>& layer, Var<T> x, const Packing& rows, const TransformerConfig& config) {
  const HeadConfig heads{config.n_heads, config.attention_dropout};
  x = residual(layer, "self_attention", x, rows, config,
               [&](const Scope<T>& scope, Var<T> y) { return self_attention(scope, y, rows, false, heads); });
  return layer.name("output", feed_forward_block(layer, x, rows, config), rows);
}

/// Section 3.1, decoder: causal self-attention, attention over the encoder's output, feed-forward network.
/// The two attentions are given as functions (scope, Var [rows, d]) -> Var [rows, d].
template <class T, class SelfAttend, class CrossAttend>
Var<T> decoder_layer(const Scope<T>& layer, Var<T> x, const Packing& rows, const TransformerConfig& config,
                     SelfAttend&& self_attend, CrossAttend&& cross_attend) {
  x = residual(layer, "self_attention", x, rows, config, self_attend);
  x = residual(layer, "cross_attention", x, rows, config, cross_attend);
  return layer.name("output", feed_forward_block(layer, x, rows, config), rows);
}

}  // namespace heed
