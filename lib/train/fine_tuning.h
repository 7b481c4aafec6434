// Fine-tuning: a model that starts from another one takes the common parameters and gets a new head.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/model_file.h"

namespace heed {

/// Moves the parameters of `initial` to `model`, whose config is that of `initial` except for its head.
/// Parameters that `initial` lacks are drawn by the seed, and so are those of the classes head unless its
/// classes and pooling are those of `initial`. `classes`: names of the classes to learn, empty for other
/// models; they get the order of `initial` if they are the same. Returns a description of the head for users:
/// "new head of 2 classes (from --labels), pooling = first; initialised at random: classes; not used:
/// masked_word"; empty if there are no classes.
std::string start_from(LoadedModel& initial, std::unique_ptr<Model<float>>& model,
                       std::vector<std::string>& classes, std::uint64_t seed);

}  // namespace heed
