// Keeps attention weights of chosen scopes while a model runs.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "nn/scope.h"
#include "tensor/tensor_map.h"

namespace heed {

class AttentionRecorder final : public Recorder<float> {
 public:
  /// `names`: the wanted values' full names, such as "decoder/layer_0/cross_attention/weights".
  explicit AttentionRecorder(std::set<std::string> names) : names_(std::move(names)) {}

  bool wants(const std::string& name) const override { return names_.count(name) != 0; }
  void record(const std::string&, Matrix<const float>, const Packing&) override {}
  void record_attention(const std::string& name, std::span<const float> blocks, std::int64_t n_heads,
                        const Packing& queries, const Packing& keys) override {
    kept_[name] = {{blocks.begin(), blocks.end()}, n_heads, queries, keys};
  }

  /// Calls visit(sentence, head, query, row of weights over the keys) for everything kept under `name`.
  template <class Visit>
  void each_row(const std::string& name, Visit&& visit) const {
    const Kept& kept = kept_.at(name);
    const float* row = kept.blocks.data();
    for (std::int64_t s = 0; s < kept.queries.sentences(); ++s) {
      for (std::int64_t h = 0; h < kept.n_heads; ++h) {
        for (std::int64_t q = 0; q < kept.queries.length(s); ++q, row += kept.keys.length(s)) {
          visit(s, h, q, std::span<const float>(row, static_cast<std::size_t>(kept.keys.length(s))));
        }
      }
    }
  }

 private:
  struct Kept {
    std::vector<float> blocks;
    std::int64_t n_heads;
    Packing queries, keys;
  };
  std::set<std::string> names_;
  std::map<std::string, Kept> kept_;
};

}  // namespace heed
