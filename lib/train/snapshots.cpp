#include "train/snapshots.h"

#include <filesystem>

#include "models/model_file.h"

namespace heed {

Snapshot SnapshotStore::save(const std::string& name, std::int64_t epoch) const {
  return {name, save_model(folder_ + "/" + name, model_, vocabularies_, {}), epoch};
}

std::vector<float> SnapshotStore::load(const Snapshot& snapshot) const {
  std::vector<float> flat(model_.parameters.values().size());
  load_parameters(folder_ + "/" + snapshot.name, snapshot.digest, model_, vocabularies_, flat);
  return flat;
}

void SnapshotStore::keep_only(const std::set<std::string>& needed) const {
  std::error_code ignored;  // an extra snapshot does no harm
  for (const auto& entry : std::filesystem::directory_iterator(folder_, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool ours = (name.starts_with("epoch_") || name.starts_with("update_")) && name.ends_with(".h5");
    if (ours && !needed.contains(name)) std::filesystem::remove(entry.path(), ignored);
  }
}

std::set<std::string> names_needed(const TrainState& state) {
  std::set<std::string> names{state.best.name};
  for (const Snapshot& snapshot : state.epochs) names.insert(snapshot.name);
  return names;
}

void ParameterMean::add(std::span<const float> parameters) {
  sum_.resize(parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) sum_[i] += static_cast<double>(parameters[i]);
  ++count_;
}

std::vector<float> ParameterMean::mean() const {
  std::vector<float> result;
  result.reserve(sum_.size());
  for (double s : sum_) result.push_back(static_cast<float>(s / static_cast<double>(count_)));
  return result;
}

}  // namespace heed
