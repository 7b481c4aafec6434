// The list of cells, in the order in which --cell names them; each is defined in <name>.cpp.
#pragma once

#include "tensor/cells/cell.h"

#define HEED_CELLS(X) \
  X(gru)              \
  X(gru_reset_after)  \
  X(lstm)             \
  X(rnn)

namespace heed {

#define HEED_DECLARE(name) Cell name##_cell();
HEED_CELLS(HEED_DECLARE)
#undef HEED_DECLARE

}  // namespace heed
