// Attention over tensors from anywhere, without a model, one stage after the other:
//   scores = q . k                     Luong et al. 2015, eq. 8 (dot)
//   scaled = scores / sqrt(key_dim)    Vaswani et al. 2017, eq. 1 (scaled-dot; dot: unchanged), / temperature
//   masked = scaled, -infinity where the mask is 0
//   weights = softmax(masked) over the keys, or 1 at the largest (hard argmax)
//   context = sum over the keys of weights * values
#pragma once

#include <optional>
#include <string>

#include "tensor/tensor_map.h"

namespace heed {

struct AttendConfig {
  std::string query = "/embeddings/values";
  std::string key;
  std::string value;
  std::string score = "scaled-dot";
  std::int64_t heads = 1;
  std::string mask = "auto";
  double temperature = 1;
  std::string hard;
  bool allow_masked_rows = false;
  bool allow_nonfinite = false;
  bool steps = false;

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("query", self.query, "tensor [n, d] or [batch, n, d]: FILE:PATH, or /PATH inside INPUT");
    field("key", self.key, "likewise [m, d]; by default the query");
    field("value", self.value, "likewise [m, d_v]; by default the key");
    field("score", self.score, "score of a query and a key", {"dot", "scaled-dot"});
    field("heads", self.heads,
          "split the widths into N heads; tensors [batch, heads, n, d] have them already");
    field("mask", self.mask,
          "none, causal, lengths, or FILE:PATH of zeros and ones; auto: lengths when the tensors have them");
    field("temperature", self.temperature, "divide the scores; 0.01 is all but a lookup of the best key");
    field("hard", self.hard, "look at one key only", {"argmax"});
    field("allow_masked_rows", self.allow_masked_rows, "a query that may look at no key gets zeros");
    field("allow_nonfinite", self.allow_nonfinite, "let NaN and infinity in the tensors pass");
    field("steps", self.steps, "also write every stage, and queries, keys and values head by head");
  }

  /// Throws UsageError naming the option and what it must be.
  void check() const;
  bool mask_is_tensor() const { return mask.find(':') != std::string::npos || mask.starts_with('/'); }
};

/// A tensor handed in (f32 or f64, [n, d], [batch, n, d] or, head by head, [batch, heads, n, head_dim]; a
/// dimension `layer` of size 1 may stand behind batch) and what messages call it ("memory.h5:/keys").
struct Operand {
  std::string name;
  const Tensor* tensor = nullptr;
  std::string length_name;
  const Tensor* length = nullptr;  ///< i32 (sentence), or none: all rows count
};

struct AttendOperands {
  Operand query, key, value;
  std::optional<Operand> mask;  ///< u8, i32 or i64 of 0 and 1: [n, m], [batch, n, m], [m], (sentence, key)
};

/// The group /attention (attention_group.h): scores, weights, context, with `steps` everything. A tensor of
/// rank 2 serves every sentence of the others. Float64 in any operand gives float64 throughout. Throws Error
/// on shapes that do not fit, values that are not finite, and queries that may look at no key.
TensorMap attend(const AttendConfig& config, const AttendOperands& operands, int threads);

}  // namespace heed
