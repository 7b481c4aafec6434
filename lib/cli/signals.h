// Signal handling of tools: temporary files are removed, and the process ends by the signal itself, so that
// its exit status is 128 + n, as shells expect.
#pragma once

#include <atomic>

namespace heed::cli {

/// Installs handlers for SIGINT, SIGTERM and SIGHUP (unless the parent ignores them, as nohup does), ignores
/// SIGXFSZ so that an exceeded quota is an ordinary error, and leaves SIGPIPE alone so that `| head` ends
/// silently.
void install_signal_handlers();

/// If a library crashes, aborts or exits because memory or threads are exhausted, ends the process with one
/// line and status 1, like an error that reaches run_tool. Other crashes stay crashes, unless an allocation
/// has failed before or a library known to crash then is in use (base/exhausted.h).
void install_last_resort();
/// Ends the process with one line and status 1, unless its work is done or it is the process that reads a
/// file for a tool.
void end_without_memory();
inline constexpr char kOutOfMemory[] = "out of memory; smaller batches or fewer threads need less";
/// From now on the process may exit: the tool has finished its work or reported its error.
void expect_exit();

/// From now on the first signal, including SIGUSR1, only sets the returned flag.
std::atomic<bool>& request_stop_flag();

/// Ends the process by the signal that set the stop flag, if one did.
void reraise_pending_signal();

}  // namespace heed::cli
