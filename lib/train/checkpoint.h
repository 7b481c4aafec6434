// The complete state of a training run, and the checkpoint that holds it: a model file (so every tool can use
// it) with these additions:
//   checkpoint/identity/{field,value}   must agree to resume: configs, seed, digests of the texts
//   checkpoint/state/<name>             counters and sums, [1] each
//   checkpoint/snapshots/{name,digest,epoch}   files beside the checkpoint that belong to it
//   checkpoint/<optimizer>/{first,second}/<parameter> moments
//   checkpoint/metrics/...              the metrics so far
// A resumed run gives the same bits: dropout and shuffling are functions of seed and counters
// (tensor/philox.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "models/model.h"
#include "tensor/tensor_map.h"
#include "train/metrics.h"
#include "train/run_files.h"

namespace heed {

/// A model file in the snapshot folder; empty name: none.
struct Snapshot {
  std::string name, digest;
  std::int64_t epoch = 0;
};

struct TrainState {
  std::int64_t step = 0;            ///< updates done
  std::int64_t epoch = 0;           ///< epochs completed
  std::int64_t position = 0;        ///< batches of the current epoch done
  std::int64_t validated_step = 0;  ///< the update after which the last validation ran
  std::int64_t without_gain = 0;    ///< validations since the best one
  double best_score = 0;            ///< larger is better; meaningless before the first validation
  double plateau_factor = 1;
  double baseline =
      0;  ///< b_k = 0.9 b_(k-1) + 0.1 log p of a target token in update k, from 0 (Xu et al. 2015)
  double learning_rate = 0, gradient_norm = 0;  ///< of the last update
  double loss_sum = 0;                          ///< smoothed loss since the last validation, over tokens
  std::int64_t tokens = 0;                      ///< target tokens since the last validation
  double seconds = 0;                           ///< wall time spent on these: not reproducible
  Snapshot best;
  std::vector<Snapshot> epochs;  ///< of the last epochs, oldest first, as many as are averaged
  Metrics metrics;
};

/// The values that a resumed run must share, in a fixed order.
struct IdentityField {
  std::string field, value;
  bool by_default = false;  ///< an option at its default: older checkpoints without it agree
  std::string if_older{};   ///< message about a checkpoint without the field, with advice
};
using Identity = std::vector<IdentityField>;

/// Adds the checkpoint's content besides the model (model_map) and the moments to `map`.
void add_checkpoint(const TrainState& state, const Identity& identity, TensorMap& map);
/// Adds a moment of all parameters: `name` is <optimizer>/first or <optimizer>/second.
void add_moment(const std::string& name, std::span<const float> moment, const Model<float>& model,
                TensorMap& map);

/// Writes `map` to files.checkpoint; the previous one becomes files.previous_checkpoint. Once there is a
/// checkpoint, a complete one exists at every moment.
void save_checkpoint(const RunFiles& files, const TensorMap& map);

/// Serializes the state for the other ranks of a run, and back.
std::string packed(const TrainState& state);
TrainState unpacked(const std::string& bytes);

/// The checkpoint belongs to another run: an older checkpoint would not help.
class OtherRunError : public Error {
 public:
  using Error::Error;
};

/// Reads a checkpoint into state and the model's parameters. Returns all of it, for read_moment(). Throws
/// Error if it is damaged, and OtherRunError if its identity is not `identity`, naming the field and both
/// values.
TensorMap load_checkpoint(const std::string& path, const Identity& identity, TrainState& state,
                          Model<float>& model);
/// The inverse of add_moment(), from the checkpoint `path`. Throws Error if it is damaged.
void read_moment(const std::string& path, const TensorMap& checkpoint, const std::string& name,
                 const Model<float>& model, std::span<float> moment);

}  // namespace heed
