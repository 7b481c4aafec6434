// Models after single epochs, stored as files while the result may need them: the last ones for averaging,
// the best one by validation.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "models/model.h"
#include "train/checkpoint.h"

namespace heed {

class SnapshotStore {
 public:
  /// `model` must outlive this.
  SnapshotStore(std::string folder, const Model<float>& model, TensorMap vocabularies)
      : folder_(std::move(folder)), model_(model), vocabularies_(std::move(vocabularies)) {}

  /// Writes the model as it is now under `name`.
  Snapshot save(const std::string& name, std::int64_t epoch) const;
  /// The parameters of a snapshot; throws Error if the file is not the one that was saved.
  std::vector<float> load(const Snapshot& snapshot) const;
  /// Removes the snapshots that are not in `needed`, including those of earlier runs.
  void keep_only(const std::set<std::string>& needed) const;

 private:
  std::string folder_;
  const Model<float>& model_;
  TensorMap vocabularies_;
};

/// The names of the snapshots that `state` needs.
std::set<std::string> names_needed(const TrainState& state);

/// Mean of parameter vectors, accumulated one by one in double precision.
class ParameterMean {
 public:
  void add(std::span<const float> parameters);
  std::vector<float> mean() const;

 private:
  std::vector<double> sum_;
  std::int64_t count_ = 0;
};

}  // namespace heed
