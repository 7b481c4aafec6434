// Follows the metrics of a running training.
#pragma once

#include <functional>
#include <string>

#include "draw/terminal/terminal.h"

namespace heed::draw {

/// Writes the lines of `draw` whenever the file at `path` or the window's size changes, in place when
/// stdout is a terminal. Returns when `stop` is true, or when the training that writes MODEL.metrics.tsv
/// has released MODEL.lock; a file of another name is followed until `stop`. Throws Error when there is no
/// such file and no training that will create it.
void follow(const std::string& path, const std::function<bool()>& stop,
            const std::function<std::string()>& draw);

}  // namespace heed::draw
