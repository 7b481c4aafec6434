// Signal handling of tools: temporary files are removed, and the process ends by the signal itself, so that
// its status is 128 + n, as shells expect.
#pragma once

#include <atomic>

namespace heed::cli {

/// Installs handlers for SIGINT, SIGTERM and SIGHUP (unless the parent had them ignored, as nohup
/// does), ignores SIGXFSZ so that a full quota is an ordinary error, and leaves SIGPIPE alone so that
/// `| head` ends quietly.
void install_signal_handlers();

/// When a library crashes, aborts or exits because memory or threads ran out, ends the process with one line and
/// status 1, as those errors end that reach run_tool. A crash for another reason stays one, unless an allocation
/// has failed before or a library is in use that is known for it (base/exhausted.h).
void install_last_resort();
/// Ends the process with one line and status 1, unless its work is done or it is one that reads a file for a tool.
void end_without_memory();
inline constexpr char kOutOfMemory[] = "out of memory; smaller batches or fewer threads need less";
/// From now on the process may end: the tool has done its work or said why not.
void expect_exit();

/// From now on the first signal only sets the returned flag. SIGUSR1 counts as one, too.
std::atomic<bool>& request_stop_flag();

/// Ends the process by the signal that set the stop flag, if one did.
void reraise_pending_signal();

}  // namespace heed::cli
