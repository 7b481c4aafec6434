#include "train/train_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/error.h"

namespace heed {

namespace {

void require(bool holds, const char* option, double got, const char* wanted) {
  if (!holds) fail<UsageError>(option, ": got ", got, ", wanted ", wanted);
}

void require_at_least(double low, const char* option, double got) {
  if (!(got >= low) || !std::isfinite(got)) {
    fail<UsageError>(option, ": got ", got, ", wanted a number of at least ", low);
  }
}

}  // namespace

void check(const TrainConfig& c) {
  require_at_least(1, "--batch-tokens", static_cast<double>(c.batch_tokens));
  require(c.shards >= 1 && c.shards <= 1024, "--shards", static_cast<double>(c.shards), "1 to 1024");
  require(c.label_smoothing >= 0 && c.label_smoothing < 1, "--label-smoothing", c.label_smoothing,
          "0 <= x < 1");
  require(c.beta1 >= 0 && c.beta1 < 1, "--beta1", c.beta1, "0 <= x < 1");
  require(c.beta2 >= 0 && c.beta2 < 1, "--beta2", c.beta2, "0 <= x < 1");
  require(c.eps > 0 && std::isfinite(c.eps), "--eps", c.eps, "a number above 0");
  require_at_least(0, "--weight-decay", c.weight_decay);
  require_at_least(0, "--clip", c.clip);
  require(c.learning_rate > 0 && std::isfinite(c.learning_rate), "--learning-rate", c.learning_rate,
          "a number above 0");
  require_at_least(0, "--halve-after", c.halve_after);
  require(c.halve_every > 0 && std::isfinite(c.halve_every), "--halve-every", c.halve_every,
          "a number above 0");
  require_at_least(0, "--warmup", static_cast<double>(c.warmup));
  require_at_least(0, "--validate-every", static_cast<double>(c.validate_every));
  require_at_least(0, "--patience", static_cast<double>(c.patience));
  require(c.average >= 0 && c.average <= 1000, "--average", static_cast<double>(c.average), "0 to 1000");
  require_at_least(0, "--max-epochs", static_cast<double>(c.max_epochs));
  require_at_least(0, "--max-updates", static_cast<double>(c.max_updates));
  require_at_least(0, "--max-minutes", c.max_minutes);
  require_at_least(0, "--checkpoint-every", static_cast<double>(c.checkpoint_every));
  require_at_least(0, "--checkpoint-minutes", c.checkpoint_minutes);
  require_at_least(0, "--log-every", c.log_every);
  if (kStopOn(c.stop_on) == StopOn::bleu && !c.valid_bleu) {
    fail<UsageError>("--stop-on bleu: needs --valid-bleu, which computes it");
  }
}

bool part_of_identity(const std::string& train_field) {
  static constexpr std::array<std::string_view, 7> free_to_change = {
      "patience",         "max_epochs",         "max_updates", "max_minutes",
      "checkpoint_every", "checkpoint_minutes", "log_every"};
  return std::find(free_to_change.begin(), free_to_change.end(), train_field) == free_to_change.end();
}

}  // namespace heed
