#include "base/log.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "base/error.h"

namespace heed::logging {
namespace {

constexpr const char* kEraseLine = "\r\x1b[K";

Settings settings;
std::mutex mutex;        // serialises the messages of several threads
std::string shown_line;  // the current progress line, redrawn below each message

// A closed or full stderr must change neither data nor exit status, so failures to write are ignored.
void put(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void message(const std::string& text) {
  std::string line = settings.program + ": " + escaped(text, std::string::npos) + "\n";
  std::lock_guard lock(mutex);
  put(shown_line.empty() ? line : kEraseLine + line + shown_line);
}

void show(const std::string& line) {
  std::lock_guard lock(mutex);
  put(kEraseLine + line);
  shown_line = line;
}

}  // namespace

void configure(Settings s) {
  settings = std::move(s);
}

const std::string& program() {
  return settings.program;
}

void note(const std::string& text) {
  if (settings.level != Level::quiet) message(text);
}

void warn(const std::string& text) {
  message("warning: " + text);
}

void verbose(const std::string& text) {
  if (settings.level == Level::verbose) message(text);
}

Progress::Progress(std::string what, std::int64_t total, Clock::duration interval, double limit)
    : what_(std::move(what)),
      total_(total),
      limit_(limit),
      bar_(settings.progress == When::always || (settings.progress == When::automatic && isatty(2))),
      enabled_(settings.level != Level::quiet && settings.progress != When::never),
      interval_(bar_ ? std::chrono::milliseconds(100) : interval),
      start_(Clock::now()),
      last_(start_) {}

Progress::~Progress() {
  if (!shown_line.empty()) show("");
}

void Progress::update(std::int64_t done, const std::string& detail) {
  if (!enabled_ || !due()) return;
  if (bar_) {
    show(line(done, detail));
  } else {
    note(line(done, detail));
  }
}

bool Progress::due() {
  auto now = Clock::now();
  if (now - last_ < interval_) return false;
  last_ = now;
  return true;
}

std::string Progress::line(std::int64_t done, const std::string& detail) const {
  double elapsed = seconds_since(start_);
  std::string text = what_ + " ";
  text += total_ > 0 && bar_ ? bar(done, total_) : std::to_string(done);
  if (total_ > 0 && !bar_) text += "/" + std::to_string(total_);
  if (!detail.empty()) text += ", " + detail;
  const bool foreseen = total_ > 0 && done > 0 && done <= total_;
  double left = limit_ - elapsed;
  if (foreseen) {
    const double work = elapsed * static_cast<double>(total_ - done) / static_cast<double>(done);
    left = limit_ > 0 ? std::min(left, work) : work;
  }
  if (foreseen || limit_ > 0) text += ", " + duration(std::max(left, 0.0)) + " left";
  return text;
}

std::string bar(std::int64_t done, std::int64_t total, int width) {
  double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0;
  auto filled = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * width);
  std::string marks = std::string(filled, '#') + std::string(static_cast<std::size_t>(width) - filled, '-');
  return concat("[", marks, "] ", done, "/", total);
}

std::string duration(double seconds) {
  auto s = static_cast<long long>(seconds + 0.5);
  if (s < 60) return concat(s, " s");
  char text[32];
  if (s < 3600) {
    std::snprintf(text, sizeof text, "%lld:%02lld min", s / 60, s % 60);
  } else {
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld h", s / 3600, s / 60 % 60, s % 60);
  }
  return text;
}

}  // namespace heed::logging
