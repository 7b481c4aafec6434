#include "stages/frame_flow.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <string_view>
#include <utility>

#include "base/sentence_error.h"
#include "inspect/patch_file.h"
#include "io/provenance.h"
#include "stages/frames.h"

namespace heed {

namespace {

/// A frame on its way from the reader to the writer.
struct Flight {
  TensorMap frame;
  std::string name;                        ///< of its input
  std::int64_t sentences = 0, before = 0;  ///< its own, and those of its text before it
  std::unique_ptr<FrameWork> work;
  std::int64_t parts = 0, taken = 0, done = 0;  ///< no parts yet: it is being read
  std::int64_t bytes = 0;                       ///< when it is finished
  bool is_finished = false;
  std::exception_ptr error;  ///< of the first part that failed
  std::int64_t failed_part = 0;

  /// Runs something that concerns the frame; a SentenceError gets the number in the text.
  template <class Task>
  void numbering(const Task& task) const {
    try {
      task();
    } catch (const SentenceError& e) {
      fail(name, ": sentence ", before + e.sentence + 1, ": ", e.what());
    }
  }
  /// Other errors get the input's name as well, except those about options and other files.
  template <class Task>
  void naming(const Task& task) const {
    numbering([&] {
      try {
        task();
      } catch (const UsageError&) {
        throw;
      } catch (const PatchError&) {
        throw;
      } catch (const FileError&) {
        throw;
      } catch (const SentenceError&) {
        throw;
      } catch (const Error& e) {
        fail(placed(name, e.what()));
      }
    });
  }
};

/// The threads take what there is to be done: writing comes first, as it frees memory, and reading last.
class FrameFlow {
 public:
  FrameFlow(io::FrameReader& reader, const Claim& claim, const BeginFrame& begin, const WriteFrame& write,
            bool one_at_a_time)
      : reader_(reader),
        claim_(claim),
        begin_(begin),
        write_(write),
        one_at_a_time_(one_at_a_time),
        progress_(reader.sentences()),
        name_(reader.name()) {
    reader_.set_around_open([&](const auto& open) { alone(open); });
  }
  ~FrameFlow() {
    reader_.set_around_open([](const auto& open) { open(); });
  }
  FrameFlow(const FrameFlow&) = delete;
  FrameFlow& operator=(const FrameFlow&) = delete;

  void run(int threads) {
    parallel_for(threads, threads, [&](std::int64_t) {
      try {
        serve();
      } catch (...) {  // no memory for a further frame
        const Lock lock(mutex_);
        if (!error_) error_ = std::current_exception();
        stop();
      }
    });
    if (error_) std::rethrow_exception(error_);
    progress_.finish();
  }

 private:
  using Lock = std::unique_lock<std::mutex>;

  /// Finished frames wait for the writer up to this size: writers join small ones, and are then busy for longer.
  static constexpr std::int64_t kWaitingBytes = std::int64_t{1} << 20;
  static constexpr std::int64_t kFrameBytes = 1 << 12;  ///< of names and attributes, roughly

  void serve() {
    Lock lock(mutex_);
    while (!error_ && !(is_read_ && flights_.empty())) {
      if (is_alone_)
        changed_.wait(lock);
      else if (!is_writing_ && !flights_.empty() && flights_.front()->is_finished)
        write_first(lock);
      else if (Flight* const flight = with_part())
        compute(*flight, lock);
      else if (!is_reading_ && !is_read_ && has_room())
        read(lock);
      else
        changed_.wait(lock);
    }
  }

  /// Runs a task without the lock. What it has thrown, or null.
  template <class Task>
  std::exception_ptr unlocked(Lock& lock, const Task& task) {
    std::exception_ptr error;
    ++running_;
    lock.unlock();
    try {
      task();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    --running_;
    changed_.notify_all();
    return error;
  }

  /// Runs a task of the reading thread as soon as the others have ended theirs. They begin nothing meanwhile, so that
  /// threads wait for one another where a further input begins.
  void alone(const std::function<void()>& task) {
    Lock lock(mutex_);
    is_alone_ = true;
    changed_.wait(lock, [&] { return running_ == 1; });
    is_alone_ = false;
    changed_.notify_all();
    if (error_) fail("nothing more is read");  // nobody asks for it
    task();
  }

  bool has_room() const { return one_at_a_time_ ? flights_.empty() : waiting_bytes_ < kWaitingBytes; }

  void read(Lock& lock) {
    flights_.push_back(std::make_unique<Flight>());
    Flight& flight = *flights_.back();
    bool is_end = false;
    is_reading_ = true;
    const std::exception_ptr error = unlocked(lock, [&] {
      is_end = !reader_.next(flight.frame);
      if (!is_end) begin(flight);
    });
    is_reading_ = false;
    if (is_end) {
      is_read_ = true;
      flights_.pop_back();
    } else if (error) {
      end(flight, error);
    } else {
      flight.parts = std::max<std::int64_t>(1, flight.work->parts());  // without sentences, finish() is one
    }
  }

  void begin(Flight& flight) {
    if (reader_.name() != name_) name_ = reader_.name(), before_ = 0;
    flight.name = name_;
    claim_(flight.frame, name_);
    flight.sentences = io::sentences_of(flight.frame);
    // heed's frames state their number, except those that begin a text; others are counted within their file.
    if (io::text_of(flight.frame.attributes, "format"))
      before_ = io::first_sentence_of(flight.frame.attributes, name_);
    flight.before = before_;
    before_ += flight.sentences;
    flight.naming([&] { flight.work = begin_(flight.frame); });
  }

  /// The first frame of which a part is left, among those that can still be written; null: there is none.
  Flight* with_part() const {
    for (const auto& flight : flights_) {
      if (flight->error) return nullptr;
      if (flight->taken < flight->parts) return flight.get();
    }
    return nullptr;
  }

  void compute(Flight& flight, Lock& lock) {
    const std::int64_t part = flight.taken++;
    const std::exception_ptr error = unlocked(lock, [&] {
      flight.naming([&] {
        if (part < flight.work->parts()) flight.work->compute(part);
      });
    });
    if (error && (!flight.error || part < flight.failed_part)) {
      flight.error = error;
      flight.failed_part = part;
      is_read_ = true;
    }
    if (++flight.done < (flight.error ? flight.taken : flight.parts)) return;
    if (flight.error) return end(flight, flight.error);
    std::int64_t bytes = 0;
    end(flight, unlocked(lock, [&] {
          flight.naming([&] { flight.work->finish(); });
          bytes = flight.frame.bytes() + flight.work->bytes() + kFrameBytes;
        }));
    waiting_bytes_ += flight.bytes = bytes;
  }

  /// The frame waits to be written; if it has failed, nothing after it is read.
  void end(Flight& flight, std::exception_ptr error) {
    flight.is_finished = true;
    flight.error = std::move(error);
    if (flight.error) is_read_ = true;
  }

  void write_first(Lock& lock) {
    const std::unique_ptr<Flight> flight = std::move(flights_.front());
    flights_.pop_front();
    waiting_bytes_ -= flight->bytes;
    changed_.notify_all();  // there is room
    if (!(error_ = flight->error)) {
      is_writing_ = true;
      error_ = unlocked(lock, [&] {
        flight->numbering([&] { write_(flight->frame, *flight->work); });
        flight->work.reset();
        flight->frame = {};
        progress_.add(flight->sentences);
      });
      is_writing_ = false;
    }
    if (error_) stop();
  }

  /// After an error.
  void stop() {
    changed_.notify_all();
    if (is_reading_) reader_.interrupt();  // input may be long in coming
  }

  io::FrameReader& reader_;
  const Claim& claim_;
  const BeginFrame& begin_;
  const WriteFrame& write_;
  const bool one_at_a_time_;
  SentenceProgress progress_;
  // Of the reading thread:
  std::string name_;
  std::int64_t before_ = 0;  ///< sentences of the text before the next frame
  // Of all threads:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Flight>> flights_;  ///< the last one may still be read
  std::int64_t waiting_bytes_ = 0;               ///< of those that are finished
  bool is_reading_ = false, is_writing_ = false;
  bool is_read_ = false;   ///< no further frame is to be read
  bool is_alone_ = false;  ///< nothing is to be begun
  int running_ = 0;        ///< tasks without the lock
  std::exception_ptr error_;
};

/// Work that is done in one piece.
class OnePart final : public FrameWork {
 public:
  OnePart(const std::function<void(TensorMap&)>& stage, TensorMap& frame) : stage_(stage), frame_(frame) {}
  std::int64_t parts() const override { return 1; }
  void compute(std::int64_t) override { stage_(frame_); }

 private:
  const std::function<void(TensorMap&)>& stage_;
  TensorMap& frame_;
};

}  // namespace

void for_each_frame(io::FrameReader& reader, const Claim& claim, const BeginFrame& begin,
                    const WriteFrame& write, int threads, bool one_at_a_time) {
  FrameFlow(reader, claim, begin, write, one_at_a_time).run(threads);
}

void for_each_frame(io::FrameReader& reader, const Claim& claim, const std::function<void(TensorMap&)>& stage,
                    const std::function<void(TensorMap&)>& write) {
  for_each_frame(
      reader, claim, [&](TensorMap& frame) { return std::make_unique<OnePart>(stage, frame); },
      [&](TensorMap& frame, FrameWork&) { write(frame); }, 1, true);
}

}  // namespace heed
