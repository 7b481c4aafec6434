#include "attend/attend.h"

#include <algorithm>

#include "attend/pass.h"
#include "base/error.h"
#include "base/log.h"

namespace heed {

namespace {

/// More terms than this (64 MB of floats) are more than anyone reads.
constexpr std::int64_t kMostTerms = std::int64_t{1} << 24;

}  // namespace

Attention::Attention(const AttendConfig& config, std::int64_t seed) : config_(config), seed_(seed) {
  config_.check();
  parameters_ = read_parameters(config_);
}

TensorMap Attention::run(const AttendOperands& operands, int threads, AttendResult result) {
  auto in = [&]<class T>(T) {
    AttendPass<T> pass(config_, operands, parameters_, threads, seed_, sentences_);
    std::vector<std::string> names{"context"};
    if (result == AttendResult::all) {
      if (sentences_ == 0 && !parameters_.drawn.empty())
        logging::note(concat("no --parameters: drew ", parameters_.drawn, " from seed ", seed_));
      names.insert(names.end(), {"scores", "weights", "output"});
      if (config_.steps) {
        const std::int64_t terms = pass.weighted_values();
        if (!weighted_values_) {
          weighted_values_ = terms <= kMostTerms;
          if (!*weighted_values_) logging::note(concat("left out weighted_values: ", terms, " terms"));
        }
        for (const std::string& name : pass.step_names()) names.push_back(name);
        if (*weighted_values_) names.push_back("weighted_values");
      }
    }
    TensorMap group = pass.run(names);
    sentences_ += pass.sentences();
    return group;
  };
  const Operand* list[] = {&operands.query, &operands.key, &operands.value};
  const bool wide =
      std::any_of(std::begin(list), std::end(list), [](auto* o) { return o->tensor->dtype() == DType::f64; });
  TensorMap group = wide ? in(double()) : in(float());
  if (config_.steps && result == AttendResult::all) {
    for (const auto& [path, tensor] : parameters_.tensors.tensors())
      group.add("attention/parameters/" + path, tensor);
  }
  return group;
}

TensorMap attend(const AttendConfig& config, const AttendOperands& operands, int threads) {
  return Attention(config).run(operands, threads);
}

}  // namespace heed
