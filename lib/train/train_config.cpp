#include "train/train_config.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/fields.h"

namespace heed {

void check(const TrainConfig& c) {
  check_ranges(c);
  if (kStopOn(c.stop_on) == StopOn::bleu && !c.valid_bleu) {
    fail<UsageError>("--stop-on bleu: needs --valid-bleu, which computes it");
  }
  if (kSchedules(c.schedule) == Schedule::linear && c.max_epochs == 0 && c.max_updates == 0)
    fail<UsageError>("--schedule linear: needs the end of the run: give --max-epochs or --max-updates");
}

bool part_of_identity(const std::string& train_field) {
  static constexpr std::array<std::string_view, 7> free_to_change = {
      "patience",         "max_epochs",         "max_updates", "max_minutes",
      "checkpoint_every", "checkpoint_minutes", "log_every"};
  return std::find(free_to_change.begin(), free_to_change.end(), train_field) == free_to_change.end();
}

}  // namespace heed
