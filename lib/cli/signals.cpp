#include "cli/signals.h"

#include <csignal>
#include <initializer_list>

#include "base/cleanup.h"

namespace heed::cli {
namespace {

std::atomic<bool> wants_flag{false};
std::atomic<bool> stop{false};
std::atomic<int> pending{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void end_by(int signal_number) {
  unlink_temporaries();
  std::signal(signal_number, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal_number);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  std::raise(signal_number);
}

void handle(int signal_number) {
  if (wants_flag && !stop) {
    pending = signal_number;
    stop = true;
  } else {
    end_by(signal_number);
  }
}

}  // namespace

void install_signal_handlers() {
  std::signal(SIGXFSZ, SIG_IGN);
  for (int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction old {};
    sigaction(signal_number, nullptr, &old);
    if (old.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = handle;
    action.sa_flags = SA_RESTART;  // a stop flag must not turn reads and writes into EINTR errors
    sigaction(signal_number, &action, nullptr);
  }
}

std::atomic<bool>& request_stop_flag() {
  wants_flag = true;
  return stop;
}

void reraise_pending_signal() {
  if (int signal_number = pending) end_by(signal_number);
}

}  // namespace heed::cli
