// Follows the metrics of a running training.
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <tuple>

#include "base/error.h"
#include "draw/terminal/terminal.h"
#include "io/text_writer.h"

namespace heed::draw {
namespace {

constexpr int kPause = 500;  // milliseconds between checks
constexpr std::string_view kMetrics = ".metrics.tsv";

/// What changes when the file is written or the window is resized.
using State = std::tuple<ino_t, off_t, time_t, long, unsigned short, unsigned short>;

bool exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

State state_of(const std::string& path) {
  struct stat file {};
  winsize window{};
  stat(path.c_str(), &file);
  ioctl(STDOUT_FILENO, TIOCGWINSZ, &window);
  return {file.st_ino, file.st_size, file.st_mtim.tv_sec, file.st_mtim.tv_nsec, window.ws_col, window.ws_row};
}

/// Whether the process named in MODEL.lock is running (train/run_files.h). Probing the lock itself could
/// disturb a trainer.
bool is_training(const std::string& metrics) {
  std::ifstream lock(metrics.substr(0, metrics.size() - kMetrics.size()) + ".lock");
  pid_t owner = 0;
  return lock >> owner && owner > 0 && (kill(owner, 0) == 0 || errno == EPERM);
}

/// Overwrites the last drawing: clears the end of each line, and the rest of the screen.
std::string over_the_last(const std::string& text) {
  std::string out = "\x1b[H";
  for (char c : text) out += c == '\n' ? std::string("\x1b[K\n") : std::string(1, c);
  return out + "\x1b[J";
}

}  // namespace

void follow(const std::string& path, const std::function<bool()>& stop,
            const std::function<std::string()>& draw) {
  const bool ends_by_itself = path.ends_with(kMetrics);
  const bool is_terminal = isatty(STDOUT_FILENO) == 1;
  io::TextWriter output("-");
  State shown{};
  for (bool first = true, running = true; running && !stop(); first = false) {
    running = !ends_by_itself || is_training(path);  // checked before the last read, so that no row is missed
    const State state = state_of(path);  // before reading: what changes meanwhile is drawn next time
    const bool is_there = exists(path);
    if (!is_there && !(running && ends_by_itself)) {
      fail(escaped(path), ": no such file", ends_by_itself ? " and no training that will write it" : "");
    }
    if (first || state != shown) {
      if (first && is_terminal) output.write("\x1b[2J");
      const std::string text = is_there ? draw() : escaped(path) + ": not there yet\n";
      output.write(is_terminal ? over_the_last(text) : (first ? "" : "\n") + text);
      shown = state;
    }
    if (running) poll(nullptr, 0, kPause);  // a signal ends it early
  }
  output.finish();
}

}  // namespace heed::draw
