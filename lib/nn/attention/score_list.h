// The list of score functions, in the order in which --score names them; each is defined in <name>.cpp,
// scaled_dot in dot.cpp.
#pragma once

#include "nn/attention/score_function.h"

#define HEED_SCORE_FUNCTIONS(X) \
  X(dot)                        \
  X(scaled_dot)                 \
  X(general)                    \
  X(additive)                   \
  X(concat)                     \
  X(location)

namespace heed {

#define HEED_DECLARE(name) ScoreFunction name##_score();
HEED_SCORE_FUNCTIONS(HEED_DECLARE)
#undef HEED_DECLARE

}  // namespace heed
