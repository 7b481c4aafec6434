#include "base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace heed {

namespace {

/// The tasks of one parallel_for, which several threads take in turn.
class Work {
 public:
  Work(std::int64_t count, const std::function<void(std::int64_t)>& task)
      : failures_(static_cast<std::size_t>(count)), task_(task) {}

  void run() {
    for (std::size_t i; (i = next_++) < failures_.size();) {
      try {
        task_(static_cast<std::int64_t>(i));
      } catch (...) {
        failures_[i] = std::current_exception();
      }
    }
  }
  void rethrow() const {
    for (const std::exception_ptr& failure : failures_) {
      if (failure) std::rethrow_exception(failure);
    }
  }

 private:
  std::vector<std::exception_ptr> failures_;
  const std::function<void(std::int64_t)>& task_;
  std::atomic<std::size_t> next_{0};
};

/// A thread that serves one parallel_for after another: starting a thread takes as long as a short call, and its scratch
/// memory would be new each time. It is never joined: when the process ends, it waits.
class Helper {
 public:
  Helper() {
    std::thread([this] { serve(); }).detach();
  }
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;

  void give(Work& work) {
    work_ = &work;
    state_ = State::given;
    state_.notify_one();
  }
  /// Waits until the work is done or, if it has not begun, takes it back.
  void finish() {
    State state = State::given;
    if (!state_.compare_exchange_strong(state, State::idle)) await_change(State::taken);
  }

 private:
  enum class State : int { idle, given, taken };

  void serve() {
    for (;;) {
      await_change(State::idle);
      State state = State::given;
      if (!state_.compare_exchange_strong(state, State::taken)) continue;
      work_->run();
      state_ = State::idle;
      state_.notify_one();
    }
  }

  /// At first awake, on an idle core for some 50 us, as the next work often comes at once; then asleep.
  void await_change(State from) const {
    constexpr int kTimes = 100;
    for (int i = 0; i < kTimes; ++i) {
      if (state_ != from) return;
      std::this_thread::yield();
    }
    state_.wait(from);
  }

  Work* work_ = nullptr;
  std::atomic<State> state_{State::idle};
};

/// Helpers without work. The process ends without destroying them, as they are waiting.
class IdleHelpers {
 public:
  /// Null if no further thread can be created.
  Helper* take() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) {
      try {
        idle_.reserve(created_ + 1);
        Helper* const helper = new Helper;
        ++created_;
        return helper;
      } catch (const std::exception&) {
        return nullptr;
      }
    }
    Helper* const last = idle_.back();
    idle_.pop_back();
    return last;
  }
  void put_back(Helper* helper) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(helper);
  }

 private:
  std::mutex mutex_;
  std::vector<Helper*> idle_;  ///< has room for all
  std::size_t created_ = 0;
};

IdleHelpers& idle_helpers() {
  static auto* const helpers = new IdleHelpers;
  return *helpers;
}

}  // namespace

void parallel_for(std::int64_t count, int threads, const std::function<void(std::int64_t)>& task) {
  Work work(count, task);
  const std::int64_t wanted = std::min<std::int64_t>(count, threads) - 1;
  std::vector<Helper*> helpers;
  helpers.reserve(static_cast<std::size_t>(std::max<std::int64_t>(wanted, 0)));
  for (std::int64_t i = 0; i < wanted; ++i) {
    Helper* const helper = idle_helpers().take();
    if (!helper) break;  // those that there are do the work
    helpers.push_back(helper);
    helper->give(work);
  }
  work.run();
  for (Helper* const helper : helpers) {
    helper->finish();
    idle_helpers().put_back(helper);
  }
  work.rethrow();
}

struct Aside::Impl {
  std::function<void(std::int64_t)> task;
  Work work{1, task};
  Helper* helper = idle_helpers().take();
};

Aside::Aside(std::function<void()> task)
    : impl_(new Impl{[task = std::move(task)](std::int64_t) { task(); }}) {
  if (impl_->helper)
    impl_->helper->give(impl_->work);
  else
    impl_->work.run();
}

Aside::~Aside() {
  try {
    wait();
  } catch (...) {  // nobody asks for it any longer
  }
}

void Aside::wait() {
  if (!impl_) return;
  const std::unique_ptr<Impl> done = std::move(impl_);
  if (done->helper) {
    done->helper->finish();
    idle_helpers().put_back(done->helper);
  }
  done->work.run();  // if it has not begun
  done->work.rethrow();
}

int usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  // More processors than a cpu_set_t holds.
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace heed
