// Messages for the user, all on stderr: notes, warnings and progress. stdout carries data only.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace heed::logging {

enum class Level { quiet, normal, verbose };
enum class When { automatic, always, never };

struct Settings {
  std::string program = "heed";     ///< prefix of each message
  Level level = Level::normal;      ///< quiet: errors and warnings only
  When progress = When::automatic;  ///< automatic: a bar on a terminal, else an occasional line
};

/// Called by run_tool, and again by a process that learns that it is one of several ranks.
void configure(Settings settings);
/// The prefix of each message.
const std::string& program();

/// "train: saved model.h5", unless quiet. Control characters are escaped, so a message is always one line.
void note(const std::string& text);
/// "train: warning: ...", always.
void warn(const std::string& text);
/// Like note, but only when verbose.
void verbose(const std::string& text);

/// Progress of a long computation: on a terminal (or with --progress always) one line that is redrawn,
/// elsewhere a line every `interval`; nothing when quiet or with --progress never.
class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  /// `total` in the unit of `done`; 0: unknown. `limit`: time limit in seconds, for the estimate; 0: none.
  Progress(std::string what, std::int64_t total, Clock::duration interval = std::chrono::seconds(30),
           double limit = 0);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `detail` follows the bar: "loss 3.21, 5400 tokens/s".
  void update(std::int64_t done, const std::string& detail = "");

 private:
  bool due();
  std::string line(std::int64_t done, const std::string& detail) const;

  std::string what_;
  std::int64_t total_;
  double limit_;
  bool bar_;
  bool enabled_;
  Clock::duration interval_;
  Clock::time_point start_;
  Clock::time_point last_;
};

/// "[#####---------------] 1234/5000"; `width` is the number of marks between the brackets.
std::string bar(std::int64_t done, std::int64_t total, int width = 20);

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// "42 s", "3:07 min", "1:02:09 h"
std::string duration(double seconds);

}  // namespace heed::logging
