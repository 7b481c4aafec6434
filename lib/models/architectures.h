// The list of architectures, used by make_model and train.
#pragma once

#include <string>
#include <tuple>

#include "base/error.h"
#include "models/bahdanau.h"
#include "models/cho.h"
#include "models/decoder_only.h"
#include "models/encoder_only.h"
#include "models/han.h"
#include "models/luong.h"
#include "models/sutskever.h"
#include "models/transformer.h"
#include "models/xu.h"

namespace heed {

/// The architecture with this config: config.kArchitecture is the "architecture" in the model's JSON,
/// build<T>(config) makes the model.
template <class ConfigOf>
struct Architecture {
  using Config = ConfigOf;
};

inline constexpr std::tuple<Architecture<TransformerConfig>, Architecture<BahdanauConfig>,
                            Architecture<ChoConfig>, Architecture<SutskeverConfig>, Architecture<XuConfig>,
                            Architecture<LuongConfig>, Architecture<DecoderOnlyConfig>,
                            Architecture<EncoderOnlyConfig>, Architecture<HanConfig>>
    kArchitectures;

/// Calls visit(architecture) for the one of that name. Throws Error listing all if there is none.
template <class Visit>
void with_architecture(const std::string& name, Visit&& visit) {
  bool found = false;
  std::string known;
  auto consider = [&]<class Config>(const Architecture<Config>& architecture) {
    known += (known.empty() ? "" : ", ") + std::string(Config::kArchitecture);
    if (name != Config::kArchitecture) return;
    found = true;
    visit(architecture);
  };
  std::apply([&](const auto&... each) { (consider(each), ...); }, kArchitectures);
  if (!found) fail("model config: architecture ", escaped(name), " is unknown; known: ", known);
}

}  // namespace heed
