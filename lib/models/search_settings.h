// The search settings of the program that a model comes from: the defaults of decode. They are in the model's
// origin (model_file.h), because no number that the model computes depends on them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/range.h"
#include "base/special_ids.h"

namespace heed {

struct SearchSettings {
  static constexpr const char* kArchitecture = "search";

  // Defaults for heed's own models.
  std::int64_t beam = 5;
  double length_penalty = 1;
  std::int64_t max_length = 0;
  double length_factor = 0;
  bool seeks_best = false;
  bool forced_eos = false;
  bool renormalized = false;
  std::string more_ends;
  std::int64_t first_token = SpecialIds::kAbsent;

  /// Named like decode's options, where it has them.
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("beam", self.beam, "hypotheses kept per sentence", up_to(1000));
    field("length_penalty", self.length_penalty, "scores are divided by length^X", between(-10, 10));
    field("max_length", self.max_length, "longest result in new tokens; 0: by length_factor",
          between(0, 1'000'000));
    field("length_factor", self.length_factor, "longest result in lengths of the source; 0: not stated",
          between(0, 1000));
    field("seeks_best", self.seeks_best, "StopRule::kBest");
    field("forced_eos", self.forced_eos, "BeamOptions::forced_eos");
    field("renormalized", self.renormalized, "BeamOptions::renormalized");
    field("more_ends", self.more_ends, "BeamOptions::more_ends, in digits between spaces").optional = true;
    field("first_token", self.first_token, "BeamOptions::first", between(SpecialIds::kAbsent, INT32_MAX))
        .optional = true;
  }
};

/// The settings that an origin states under "search", if any. Throws Error if they are damaged.
std::optional<SearchSettings> search_settings_of(const std::string& origin);
/// The parsed more_ends. Throws Error if they are not ids.
std::vector<std::int32_t> more_ends(const SearchSettings& settings);

}  // namespace heed
