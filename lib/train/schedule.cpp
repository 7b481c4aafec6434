#include "train/schedule.h"

#include <algorithm>
#include <cmath>

namespace heed {

namespace {

constexpr double kRateBeforeWarmup = 1e-7;

double warming_up(double peak, double s, double warmup) {
  return kRateBeforeWarmup + (peak - kRateBeforeWarmup) * s / warmup;
}

/// The share of the run before this update.
double done(const TrainConfig& config, double s, double epochs) {
  const auto share = [](double of, std::int64_t all) { return all > 0 ? of / static_cast<double>(all) : 0; };
  return std::clamp(std::max(share(epochs, config.max_epochs), share(s - 1, config.max_updates)), 0.0, 1.0);
}

}  // namespace

double learning_rate(const TrainConfig& config, std::int64_t d_model, std::int64_t step, double epochs,
                     double plateau_factor) {
  const double s = static_cast<double>(std::max<std::int64_t>(step, 1));
  const double warmup = static_cast<double>(std::max<std::int64_t>(config.warmup, 1));
  const Schedule schedule = kSchedules(config.schedule);
  const double peak = config.learning_rate * (schedule == Schedule::linear ? 1 - done(config, s, epochs) : 1);
  if (schedule == Schedule::noam) {
    const double width = 1 / std::sqrt(static_cast<double>(d_model));
    return peak * width * std::min(1 / std::sqrt(s), s / (warmup * std::sqrt(warmup)));
  }
  if (s < warmup) return warming_up(peak, s, warmup);
  if (schedule == Schedule::inverse_sqrt) return peak * std::sqrt(warmup / s);
  if (schedule == Schedule::halving && epochs >= config.halve_after)
    return peak * std::exp2(-1 - std::floor((epochs - config.halve_after) / config.halve_every));
  return schedule == Schedule::plateau ? peak * plateau_factor : peak;
}

}  // namespace heed
