// Watching the metrics of a training that still runs.
#pragma once

#include <functional>
#include <string>

#include "draw/terminal/terminal.h"

namespace heed::draw {

/// Draws again whenever the file at `path` changes or the window does, over the last drawing when stdout is a
/// terminal. Returns when `stop` is true, or when the training that writes MODEL.metrics.tsv has let go of
/// MODEL.lock; a file of another name is followed until `stop`. `draw` gives the lines for a terminal. Throws
/// Error when there is no such file and no training that will make it.
void follow(const std::string& path, const std::function<bool()>& stop,
            const std::function<std::string()>& draw);

}  // namespace heed::draw
