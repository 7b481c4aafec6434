// How a tool reacts to signals: temporary files vanish, and the process ends by the signal itself, so that
// its status is 128 + n and shells see what happened.
#pragma once

#include <atomic>

namespace heed::cli {

/// Installs handlers for SIGINT, SIGTERM and SIGHUP (unless the parent had them ignored, as nohup does),
/// ignores SIGXFSZ so that a full quota is an error like any other, and leaves SIGPIPE alone so that `| head`
/// ends quietly.
void install_signal_handlers();

/// From now on the first signal only sets the returned flag.
std::atomic<bool>& request_stop_flag();

/// Ends the process by the signal that set the stop flag, if one did.
void reraise_pending_signal();

}  // namespace heed::cli
