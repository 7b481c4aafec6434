// Tapes for tasks that run on several threads: as many as run at the same time, so memory does not grow with
// the number of shards.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "autograd/tape.h"

namespace heed {

class TapePool {
 public:
  /// A tape, empty and without gradients, until the lease ends.
  class Lease {
   public:
    Lease(TapePool& pool, std::unique_ptr<Tape<float>> tape) : pool_(pool), tape_(std::move(tape)) {}
    ~Lease() { pool_.give_back(std::move(tape_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    Tape<float>& operator*() const { return *tape_; }

   private:
    TapePool& pool_;
    std::unique_ptr<Tape<float>> tape_;
  };

  Lease lease() {
    std::unique_ptr<Tape<float>> tape = take();
    tape->reset();
    tape->set_with_gradients(false);
    tape->set_precision(Precision::float32);
    return {*this, std::move(tape)};
  }

 private:
  std::unique_ptr<Tape<float>> take() {
    const std::lock_guard guard(mutex_);
    if (free_.empty()) return std::make_unique<Tape<float>>();
    std::unique_ptr<Tape<float>> tape = std::move(free_.back());
    free_.pop_back();
    return tape;
  }
  void give_back(std::unique_ptr<Tape<float>> tape) {
    const std::lock_guard guard(mutex_);
    free_.push_back(std::move(tape));
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<Tape<float>>> free_;
};

}  // namespace heed
