// Models that search together. Frames hold what the first one's encoder says; the others read their /tokens themselves, so all
// have the same vocabularies.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/model_file.h"
#include "models/packed_states.h"
#include "stages/translate.h"
#include "tensor/packed_weights.h"

namespace heed {

class ModelEnsemble {
 public:
  /// Alone at first. `first` must outlive this.
  explicit ModelEnsemble(const LoadedModel& first);

  /// Reads another model, which computes at this precision. Throws UsageError when one of them is of a kind that cannot
  /// search with others, Error when its vocabularies are not the first one's (that from `first_path`).
  void add(const std::string& path, const std::string& first_path, Precision precision);
  std::size_t size() const { return 1 + others_.size(); }

  /// Whether in every model rows do not depend on those beside them.
  bool rows_apart() const;

  /// What the decoders of the others continue from, of the frame whose sentences have these `rows` for the first.
  /// Throws Error when /tokens is missing or of other lengths.
  void read(const TensorMap& frame, const Packing& rows, Values wanted, int threads);

  /// All models on that frame; `memory` is the first one's.
  std::vector<Member> members(const PackedStates& memory) const;
  /// The same on what `memories`, one of each model, hold.
  std::vector<Member> members(std::span<const PackedStates> memories) const;

 private:
  struct Other {
    Other(LoadedModel model, std::string name) : loaded(std::move(model)), path(std::move(name)) {}

    LoadedModel loaded;
    std::string path;
    PackedWeights<float> weights{loaded.model->parameters.values()};  ///< in float32
    PackedStates memory{};                                            ///< of the frame
  };

  const LoadedModel& first_;
  PackedWeights<float> weights_;  ///< likewise
  std::vector<std::unique_ptr<Other>> others_;
};

}  // namespace heed
