// The forms in which viz-dump shows its input, one function each; dump() chooses.
#pragma once

#include "draw/dump.h"

namespace heed::draw {

void dump_chart(const DumpOptions& options);  ///< --curves, --bars

}  // namespace heed::draw
