// The options of attention without a model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/choice.h"
#include "base/fields.h"
#include "nn/attention/score_function.h"
#include "nn/attention/window.h"
#include "tensor/padding.h"

namespace heed {

enum class HardChoice : std::uint8_t { largest, drawn, none };
inline const std::vector<std::string> kHardChoices{"argmax", "sample"};

enum class QkvOrder : std::uint8_t { head_major, part_major };
inline const std::vector<std::string> kQkvOrders{"head-major", "part-major"};

/// Window without "global", which is the default.
inline const std::vector<std::string> kLocalWindows{kWindows.words.begin() + 1, kWindows.words.end()};

struct AttendConfig {
  std::string query = "/embeddings/values";
  std::string key;
  std::string value;
  std::string past_key, past_value;
  bool self = false;
  std::string score = "scaled-dot";
  double score_scale = 0;
  double rotary = 0;
  std::string parameters;
  std::string qkv_order;
  bool out_in = false;
  std::int64_t hidden = 0;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 0;
  double softcap = 0;
  std::string bias;
  std::string mask = "auto";
  std::string local;
  std::int64_t window = 10;
  double temperature = 1;
  std::string hard;
  bool allow_masked_rows = false;
  bool allow_nonfinite = false;
  bool steps = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("query", self.query,
          "queries, tensor [n, d] or [batch, n, d]: FILE:PATH, FILE with one array (.npy, or rows of numbers "
          "as text), or /PATH inside INPUT");
    field("key", self.key, "keys, tensor [m, d] or [batch, m, d]; default: the query");
    field("value", self.value, "values, tensor [m, d_v] or [batch, m, d_v]; default: the key");
    field("past_key", self.past_key,
          "past keys, prepended to the keys, as key_vector written by --steps: [batch, kv-heads, past, d] or "
          "[past, d]");
    field("past_value", self.past_value, "past values, as value_vector written by --steps");
    field("self", self.self, "self-attention: refuse another key or value");
    field("score", self.score, "score of a query and a key", score_function_names());
    field("score_scale", self.score_scale,
          "multiply the scores by X; scaled-dot then is X q . k; 0: unchanged", at_least(0));
    field("rotary", self.rotary,
          "rotate queries and keys by rotary positions with this base (Su et al. 2021: 10000), the last "
          "query like the last key; 0: off",
          at_least(0));
    field("parameters", self.parameters,
          "FILE or FILE:GROUP with projections and parameters of the score, listed above; without it, "
          "parameters of the score are random, from the seed");
    field("qkv_order", self.qkv_order,
          "order of the columns of qkv/weight. head-major: by head, each with q, k, v; part-major: q of all "
          "heads, then k, then v (PyTorch's in_proj_weight)",
          kQkvOrders);
    field("out_in", self.out_in, "projections are stored [d_out, d_in], as in PyTorch's Linear");
    field("hidden", self.hidden,
          "width of random additive, concat and local-p networks, or number of positions of location; 0: the "
          "width of the query, or the number of keys",
          between(0, 1'000'000));
    field("heads", self.heads,
          "split the widths into N heads; tensors [batch, heads, n, d] are already split", up_to(65'536));
    field("kv_heads", self.kv_heads,
          "heads of key and value, each shared by a group of query heads; 0: as many as heads",
          between(0, 65'536));
    field("softcap", self.softcap, "cap scores softly to (-X, X): X tanh(score / X); 0: unchanged",
          at_least(0));
    field("bias", self.bias,
          "tensor added to the scores: FILE:PATH of [n, m], [heads, n, m] or [batch, heads, n, m]; sizes of "
          "1 are broadcast, -inf hides a key");
    field("mask", self.mask,
          "none, causal, causal-start, band=L:R (keys from L before a query to R after it, either of which "
          "may be negative), lengths, a tensor of zeros and ones, given as for --query, or several of these, "
          "separated by commas or by repeating --mask, all of which a key must pass; auto applies the "
          "tensors' lengths, if any; FILE must not contain a comma");
    field("local", self.local,
          "attend only around one position: query t around key t, or around a predicted one", kLocalWindows);
    field("window", self.window, "with --local: number of keys to each side", up_to(1'000'000));
    field("temperature", self.temperature,
          "divide the input of the softmax; 0.01 is close to selecting the best key", above(0));
    field("hard", self.hard, "attend to a single key: the best, or one sampled by its weight, from the seed",
          kHardChoices);
    field("allow_masked_rows", self.allow_masked_rows,
          "the output of a query whose keys are all masked is zero, not an error");
    field("allow_nonfinite", self.allow_nonfinite, kAllowNonfinite);
    field("steps", self.steps, "also write every step, head by head, and the parameters");
  }

  /// Throws UsageError naming the option and what it must be.
  void check() const;

  /// The parsed qkv_order, if given.
  QkvOrder order() const { return chosen<QkvOrder>("--qkv-order", kQkvOrders, qkv_order); }
  Window window_kind() const { return local.empty() ? Window::global : kWindows(local); }
  HardChoice hard_choice() const {
    return hard.empty() ? HardChoice::none : chosen<HardChoice>("--hard", kHardChoices, hard);
  }
};

/// The parts of --mask.
struct MaskWords {
  bool causal = false;        ///< query i of n attends to keys 0 .. i + m - n of m: the last to all
  bool causal_start = false;  ///< query i attends to keys 0 .. i
  /// Query i of n attends to keys i + m - n - before .. i + m - n + after of m.
  struct Band {
    std::int64_t before = 0, after = 0;
  };
  std::optional<Band> band;
  bool lengths = false;  ///< keys beyond the given lengths are hidden; lengths must be present
  bool ignore_lengths = false;
  std::vector<std::string> tensors;  ///< FILE:PATH, FILE or /PATH
};
/// Throws UsageError on an unknown word.
MaskWords mask_words(const std::string& mask);

}  // namespace heed
