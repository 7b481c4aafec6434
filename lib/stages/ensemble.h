// Ensembles of models that search together. Frames hold the output of the first model's encoder; the others
// read their /tokens themselves, so all must have the same vocabularies.
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
  /// Initially `first` alone, which must outlive this.
  explicit ModelEnsemble(const LoadedModel& first);

  /// Adds another model, which computes at this precision. Throws UsageError if one of them is of a kind that
  /// cannot be part of an ensemble, Error if its vocabularies differ from those of the first (from
  /// `first_path`).
  void add(const std::string& path, const std::string& first_path, Precision precision);
  std::size_t size() const { return 1 + others_.size(); }

  /// Whether in every model rows do not depend on one another.
  bool rows_apart() const;
  /// The number of parameters of the largest model.
  std::int64_t most_parameters() const;

  /// Computes what the other models' decoders continue from, for the frame whose sentences have these `rows`
  /// in the first model. Throws Error if /tokens is missing or has other lengths.
  void read(const TensorMap& frame, const Packing& rows, Values wanted, int threads);

  /// All models on that frame; `memory` is the first one's.
  std::vector<Member> members(const PackedStates& memory) const;
  /// All models on `memories`, one of each model.
  std::vector<Member> members(std::span<const PackedStates> memories) const;

 private:
  struct Other {
    Other(LoadedModel model, std::string name) : loaded(std::move(model)), path(std::move(name)) {}

    LoadedModel loaded;
    std::string path;
    PackedWeights<float> weights{loaded.model->parameters.values()};  ///< in float32
    PackedStates memory{};                                            ///< of the current frame
  };

  const LoadedModel& first_;
  PackedWeights<float> weights_;  ///< of the first, in float32
  std::vector<std::unique_ptr<Other>> others_;
};

}  // namespace heed
