// Temporary files to be removed when a signal ends the program. lib/io registers the temporary file of each
// output; the signal handler of lib/cli unlinks those still registered.
#pragma once

#include <string>

namespace heed {

/// Registers the temporary file `path`. Returns its slot, or -1 when the table is full or the path too long
/// (a signal then leaves the file behind).
int register_temporary(const std::string& path) noexcept;

/// Frees the slot once its file has been renamed or removed; -1 is ignored.
void unregister_temporary(int slot) noexcept;

/// Unlinks every registered file. Async-signal-safe.
void unlink_temporaries() noexcept;

}  // namespace heed
