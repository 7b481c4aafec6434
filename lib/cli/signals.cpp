#include "cli/signals.h"

#include <execinfo.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <initializer_list>
#include <new>

#include "base/cleanup.h"
#include "base/exhausted.h"
#include "base/log.h"
#include "base/mapped.h"

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

pid_t tool_process = 0;

void say(std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  }
}

/// Ends with one line and status 1; if several threads come here, the first prints, and if it comes here
/// again, it ends at once.
[[noreturn]] void end_saying(std::initializer_list<const char*> parts) {
  static std::atomic<pid_t> speaker = 0;
  pid_t other = 0;
  const pid_t self = gettid();
  while (!speaker.compare_exchange_strong(other, self)) {
    if (other == self) _exit(1);
    other = 0;
    pause();
  }
  unlink_temporaries();
  say({logging::program().c_str(), ": "});
  say(parts);
  say({"\n"});
  _exit(1);
}

[[noreturn]] void end_exhausted() {
  if (const char* libraries = fragile_libraries)
    end_saying({"ended by ", libraries, ", as when memory or threads run out"});
  end_saying({"out of memory or threads; smaller batches or fewer threads need less"});
}

/// Excludes the process that reads a file, whose failures its parent reports.
bool is_tool() {
  return getpid() == tool_process;
}

/// A failed allocation sets ENOMEM, and the reason for which a library gives up follows immediately.
[[maybe_unused]] void handle_crash(int signal_number) {
  if (const char* file = mapped_file; file && signal_number == SIGBUS && is_tool()) {
    end_saying({file, ": cannot be read any more: was it cut short, or written over, meanwhile?"});
  }
  if (is_tool() && (exhausted || errno == ENOMEM || fragile_libraries)) end_exhausted();
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

bool has_ended = false;

void install_handler(int signal_number) {
  struct sigaction old {};
  sigaction(signal_number, nullptr, &old);
  if (old.sa_handler == SIG_IGN) return;
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;  // a stop flag must not turn reads and writes into EINTR errors
  sigaction(signal_number, &action, nullptr);
}

}  // namespace

void install_last_resort() {
  tool_process = getpid();
  std::set_new_handler([] {
    exhausted = true;
    throw std::bad_alloc();
  });
  static const std::terminate_handler usual = std::get_terminate();
  std::set_terminate([] {
    if (exhausted) std::abort();  // without the C++ library's own words
    usual();
  });
  std::atexit([] {
    if (!has_ended && is_tool()) end_exhausted();
  });
  // glibc loads what unwinds its own C code when that is first needed, and aborts if it cannot: load it now.
  void* frame = nullptr;
  backtrace(&frame, 1);
#if !defined(__SANITIZE_ADDRESS__)  // which explains crashes itself
  // A stack of its own, as a crash may be the end of the usual one.
  static std::array<char, 64 << 10> handler_stack;
  const stack_t stack{handler_stack.data(), 0, handler_stack.size()};
  sigaltstack(&stack, nullptr);
  for (int signal_number : {SIGABRT, SIGSEGV, SIGBUS, SIGTRAP}) {
    struct sigaction action {};
    action.sa_handler = handle_crash;
    action.sa_flags = SA_NODEFER | SA_ONSTACK;
    sigaction(signal_number, &action, nullptr);
  }
#endif
}

void end_without_memory() {
  if (!has_ended && is_tool()) end_saying({kOutOfMemory});
}

void expect_exit() {
  has_ended = true;
}

void install_signal_handlers() {
  std::signal(SIGXFSZ, SIG_IGN);
  for (int signal_number : {SIGINT, SIGTERM, SIGHUP}) install_handler(signal_number);
}

std::atomic<bool>& request_stop_flag() {
  wants_flag = true;
  install_handler(SIGUSR1);  // what launchers of several processes pass on
  return stop;
}

void reraise_pending_signal() {
  if (int signal_number = pending) end_by(signal_number);
}

}  // namespace heed::cli
