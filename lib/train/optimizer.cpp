#include "train/optimizer.h"

#include <cmath>

#include "tensor/kernels.h"
#include "train/ranges.h"

namespace heed {

namespace {

AdamStep adam_step(const TrainConfig& config, std::int64_t step, double rate, double gradient_scale) {
  const auto t = static_cast<double>(step);
  AdamStep adam;
  adam.beta1 = config.beta1;
  adam.beta2 = config.beta2;
  adam.eps = config.eps;
  adam.step_size = rate / (1 - std::pow(config.beta1, t));
  adam.v_scale = 1 / (1 - std::pow(config.beta2, t));
  adam.gradient_scale = gradient_scale;
  adam.weight_decay = config.weight_decay * rate;
  return adam;
}

}  // namespace

Optimizer::Optimizer(const TrainConfig& config, std::size_t parameters, int threads)
    : config_(config), method_(kMethods(config.optimizer)), threads_(threads) {
  moments_.optimizer = config.optimizer;
  if (method_ == Method::sgd) return;
  moments_.first.resize(parameters);
  moments_.second.resize(parameters);
}

void Optimizer::apply(std::int64_t step, double rate, double norm, std::span<float> gradient,
                      std::span<float> parameters) {
  const double scale = config_.clip > 0 && norm > config_.clip ? config_.clip / norm : 1.0;
  const AdamStep adam = adam_step(config_, step, rate, scale);
  const AdadeltaStep adadelta{config_.beta2, config_.eps, rate, scale};
  const auto size = static_cast<std::int64_t>(parameters.size());
  for_ranges(size, threads_, [&](std::int64_t, std::size_t first, std::size_t count) {
    const std::span<float> g = gradient.subspan(first, count);
    const std::span<float> p = parameters.subspan(first, count);
    auto moment = [&](std::vector<float>& all) {
      return all.empty() ? std::span<float>() : std::span(all).subspan(first, count);
    };
    const std::span<float> m = moment(moments_.first), v = moment(moments_.second);
    if (method_ == Method::adam) {
      adam_update<float>(adam, p, g, m, v);
    } else if (method_ == Method::adadelta) {
      adadelta_update<float>(adadelta, p, g, m, v);
    } else {
      scale_by<float>(static_cast<float>(-rate * scale), g);
      add_to<float>(g, p);
    }
    fill<float>(g, 0.0f);
  });
}

}  // namespace heed
