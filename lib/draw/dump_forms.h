// The forms in which viz-dump shows its input, one function each; dump() chooses.
#pragma once

#include <vector>

#include "draw/choice.h"
#include "draw/dump.h"

namespace heed::draw {

void dump_chart(const DumpOptions& options);  ///< --curves, --bars
void dump_page(const DumpOptions& options);   ///< --html

/// What --sentence, --layer, --head and --slice say.
std::vector<Choice> choices_of(const DumpOptions& options);

}  // namespace heed::draw
