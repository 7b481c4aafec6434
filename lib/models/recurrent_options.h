// The fields that every recurrent model's config has: the options of its layers (nn/recurrent.h).
#pragma once

#include "base/check.h"
#include "nn/recurrent.h"

namespace heed {

struct RecurrentOptions {
  bool peepholes = false;
  bool layer_norm = false;
  bool learned_start = false;
  double recurrent_dropout = 0;

  template <class Self, class Visit>
  static void option_fields(Self& self, Visit&& field) {
    field("peepholes", self.peepholes, "recurrent models: an lstm's gates also see its memory cell");
    field("layer_norm", self.layer_norm, "recurrent models: layer normalisation of the gates' sums");
    field("learned_start", self.learned_start, "recurrent models: the encoder's first states are learned");
    field("recurrent_dropout", self.recurrent_dropout,
          "recurrent models: dropout on the states that the gates read, one mask a sentence");
  }

  /// A layer that starts from given states.
  RecurrentSizes layer(const std::string& cell, std::int64_t width) const {
    return {cell, width, peepholes, layer_norm, false, recurrent_dropout};
  }
  /// A layer that starts by itself.
  RecurrentSizes starting_layer(const std::string& cell, std::int64_t width) const {
    return {cell, width, peepholes, layer_norm, learned_start, recurrent_dropout};
  }
  /// Throws UsageError naming the field and what it must be.
  void check_options() const { check_probability("recurrent_dropout", recurrent_dropout); }
};

}  // namespace heed
