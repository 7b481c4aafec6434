// All architectures there are: what make_model and train choose from.
#pragma once

#include <string>
#include <tuple>

#include "base/error.h"
#include "models/bahdanau.h"
#include "models/cho.h"
#include "models/luong.h"
#include "models/sutskever.h"
#include "models/transformer.h"
#include "models/xu.h"

namespace heed {

template <template <class> class ModelOf, class ConfigOf>
struct Architecture {
  const char* name;  ///< "architecture" in the model's JSON
  using Config = ConfigOf;
  template <class T>
  using Model = ModelOf<T>;
};

inline constexpr std::tuple kArchitectures{
    Architecture<Transformer, TransformerConfig>{"transformer"},
    Architecture<Bahdanau, BahdanauConfig>{"bahdanau"},
    Architecture<Cho, ChoConfig>{"cho"},
    Architecture<Sutskever, SutskeverConfig>{"sutskever"},
    Architecture<Xu, XuConfig>{"xu"},
    Architecture<Luong, LuongConfig>{"luong"},
};

/// Calls visit(architecture) for the one of that name. Throws Error that lists all when there is none.
template <class Visit>
void with_architecture(const std::string& name, Visit&& visit) {
  bool found = false;
  std::string known;
  auto consider = [&](const auto& architecture) {
    known += (known.empty() ? "" : ", ") + std::string(architecture.name);
    if (name != architecture.name) return;
    found = true;
    visit(architecture);
  };
  std::apply([&](const auto&... each) { (consider(each), ...); }, kArchitectures);
  if (!found) fail("model config: architecture ", escaped(name), " is unknown; known: ", known);
}

}  // namespace heed
