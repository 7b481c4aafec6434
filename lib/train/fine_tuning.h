// A model that starts from another one: what the two have in common is taken, a new head is drawn.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/model_file.h"

namespace heed {

/// Gives `model`, whose config is that of `initial` but for its head, the parameters of `initial`, which loses its own. What that has none
/// for is drawn by the seed; so is what tells the classes unless they are those of `initial`, pooled as there. `classes`: the names of
/// those to learn, none for other models; they get the order in which `initial` has them where they are its own. Returns
/// what became of the head, for users: "new, 2 classes (from --labels), pooling = first; drawn: classes; left out: masked_word"; empty
/// where there are no classes.
std::string start_from(LoadedModel& initial, std::unique_ptr<Model<float>>& model,
                       std::vector<std::string>& classes, std::uint64_t seed);

}  // namespace heed
