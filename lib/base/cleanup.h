// Temporary files that must vanish when a signal ends the program. lib/io registers the temporary file behind
// each output; the signal handler of lib/cli unlinks whatever is still registered.
#pragma once

#include <string>

namespace heed {

/// Notes that `path` is a temporary file. Returns its slot, or -1 when the table is full or the path too long
/// (the file then merely outlives a signal).
int register_temporary(const std::string& path) noexcept;

/// Forgets the slot once its file is renamed or removed; -1 is ignored.
void unregister_temporary(int slot) noexcept;

/// Unlinks every registered file. Safe to call in a signal handler.
void unlink_temporaries() noexcept;

}  // namespace heed
