// Changes every byte of HDF5 files, or every STRIDE-th, four ways, reads each changed file like a tool does,
// and counts what came of it. Anything but a refusal or the same content is a failure.
//   sweep STRIDE[xCHANGES] FILE...     1x1: every byte once, each of the four ways at every fourth
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/error.h"
#include "io/frame_stream.h"

namespace heed {
namespace {

/// `died`: the process that read the file crashed, which the tool reported as an error.
enum Outcome : unsigned char {
  not_run,
  unchanged,
  same,
  refused,
  died,
  other,
  crash,
  large,
  slow,
  kOutcomes
};
constexpr const char* kHeads[kOutcomes] = {"",
                                           "that byte already",
                                           "same",
                                           "refused",
                                           "of them by a crash of HDF5",
                                           "other result",
                                           "crash",
                                           "memory",
                                           "time"};
constexpr double kSeconds = 5;      ///< of processor time
constexpr unsigned kGivenUp = 120;  ///< seconds until a run is given up
constexpr std::size_t kChanges = 4;
constexpr long kFreeKilobytes = 64 << 10;  ///< a read may take so much and eight times the file
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kJudgesMemory =
    false;  // the sanitizer keeps freed memory, and its report of a crash takes 50 MB
#else
constexpr bool kJudgesMemory = true;
#endif

unsigned char changed(unsigned char byte, std::size_t change) {
  const std::array<int, kChanges> to{byte ^ 0x01, byte ^ 0x80, 0x00, 0xff};
  return static_cast<unsigned char>(to[change]);
}

void describe(const Attributes& attributes, std::string& text) {
  for (const auto& [name, value] : attributes) {
    text += concat("\n", name, "=");
    if (auto* one = std::get_if<std::string>(&value)) text += *one;
    if (auto* list = std::get_if<std::vector<std::string>>(&value))
      for (const std::string& item : *list) text += item + "\t";
    if (auto* number = std::get_if<std::int64_t>(&value)) text += std::to_string(*number);
    if (auto* number = std::get_if<double>(&value)) text += std::to_string(*number);
  }
}

template <class T>
void add_values(const Tensor& tensor, std::string& text) {
  const auto values = tensor.values<T>();
  if constexpr (std::is_same_v<T, std::string>)
    for (const std::string& s : values) text += s + "\n";
  else
    text.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

/// Everything that a tool can see of a file or stream, as a digest.
std::string content(const std::string& path) {
  io::FrameReader reader(path);
  TensorMap frame;
  std::string text;
  while (reader.next(frame)) {
    describe(frame.attributes, text);
    for (const auto& [name, group] : frame.groups) {
      text += concat("\n", name, " ", group.signal, " ", group.title);
      for (const std::string& part : group.default_slice) text += part + "\t";
      describe(group.attributes, text);
    }
    for (const auto& [name, tensor] : frame.tensors()) {
      text += concat("\n", name, " ", static_cast<int>(tensor.dtype()), to_string(tensor.shape()));
      for (const std::string& dim : tensor.dims()) text += dim + "\t";
      describe(tensor.attributes, text);
      with_type(tensor.dtype(), [&]<class T>(T) { add_values<T>(tensor, text); });
    }
  }
  return sha256_hex(text);
}

/// What the processes took that read for this one and have ended.
struct Taken {
  long peak_kilobytes;  ///< of the largest
  double seconds;       ///< of all
};
Taken taken() {
  rusage used;
  getrusage(RUSAGE_CHILDREN, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return {used.ru_maxrss, seconds(used.ru_utime) + seconds(used.ru_stime)};
}

class Sweep {
 public:
  Sweep(const std::string& path, std::size_t stride, std::size_t changes)
      : path_(path), stride_(stride), changes_(changes) {
    std::ifstream in(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
    file_ = memfd_create("sweep", 0);
    if (bytes_.empty() || file_ < 0 || write(file_, bytes_.data(), bytes_.size()) != std::ssize(bytes_))
      fail(path, ": cannot read");
    name_ = concat("/proc/self/fd/", file_);
    runs_ = (bytes_.size() + stride - 1) / stride * changes_;
    outcomes_ = static_cast<Outcome*>(
        mmap(nullptr, runs_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    if (outcomes_ == MAP_FAILED) fail("no memory");
    wanted_ = content(path);
  }

  /// True when every change was refused or made no difference.
  bool run() {
    std::size_t at = 0;
    while (at < runs_) {
      const pid_t child = fork();
      if (child == 0) {
        content(name_);
        highest_ = taken().peak_kilobytes;
        allowed_ = highest_ + kFreeKilobytes + 8 * std::ssize(bytes_) / 1024;
        for (; at < runs_; ++at) one(at);
        _exit(0);
      }
      int status = 0;
      if (child < 0 || waitpid(child, &status, 0) < 0) fail("cannot start a process");
      while (at < runs_ && outcomes_[at] != not_run) ++at;
      if (at == runs_) break;
      outcomes_[at] = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? slow : crash;
      const char byte = bytes_[offset(at)];  // the child left the file changed
      if (pwrite(file_, &byte, 1, static_cast<off_t>(offset(at))) != 1) fail("cannot restore a byte");
      ++at;
    }
    std::array<std::size_t, kOutcomes> count{};
    for (std::size_t i = 0; i < runs_; ++i) {
      ++count[outcomes_[i]];
      if (outcomes_[i] > died && count[outcomes_[i]] <= 5)
        std::fprintf(stderr, "%s: byte %zu changed from %d to %d: %s\n", path_.c_str(), offset(i),
                     static_cast<unsigned char>(bytes_[offset(i)]), to(i), kHeads[outcomes_[i]]);
    }
    count[refused] += count[died];
    std::printf("%s: %zu changes", path_.c_str(), runs_);
    for (std::size_t i = unchanged; i < kOutcomes; ++i) std::printf(", %s %zu", kHeads[i], count[i]);
    std::printf("\n");
    std::fflush(stdout);
    return count[other] + count[crash] + count[large] + count[slow] == 0;
  }

 private:
  std::size_t offset(std::size_t run) const { return run / changes_ * stride_; }
  unsigned char to(std::size_t run) const {
    return changed(static_cast<unsigned char>(bytes_[offset(run)]),
                   (run / changes_ + run % changes_) % kChanges);
  }

  void one(std::size_t run) {
    const char old = bytes_[offset(run)], now = static_cast<char>(to(run));
    const auto place = static_cast<off_t>(offset(run));
    if (now == old) {
      outcomes_[run] = unchanged;
      return;
    }
    if (pwrite(file_, &now, 1, place) != 1) _exit(3);
    const double before = taken().seconds;
    alarm(kGivenUp);
    Outcome outcome = refused;
    try {
      outcome = content(name_) == wanted_ ? same : other;
    } catch (const std::exception& e) {
      const std::string_view message = e.what();
      if (message.find("crashed on it") != message.npos) outcome = died;
    }
    alarm(0);
    const auto [peak, seconds] = taken();
    if (seconds - before > kSeconds) outcome = slow;
    if (kJudgesMemory && peak > allowed_ && peak > highest_) outcome = large;
    highest_ = std::max(highest_, peak);
    if (pwrite(file_, &old, 1, place) != 1) _exit(3);
    outcomes_[run] = outcome;
  }

  std::string path_, name_, bytes_, wanted_;
  std::size_t stride_, changes_, runs_;
  long highest_ = 0, allowed_ = 0;  ///< kilobytes
  int file_;
  Outcome* outcomes_;
};

}  // namespace
}  // namespace heed

int main(int argc, char** argv) {
  unsigned stride = 1, changes = heed::kChanges;
  bool failed = false;
  const bool sound = argc > 2 && std::sscanf(argv[1], "%ux%u", &stride, &changes) >= 1 && stride > 0 &&
                     changes > 0 && changes <= heed::kChanges;
  for (int i = 2; sound && i < argc; ++i) failed |= !heed::Sweep(argv[i], stride, changes).run();
  return sound && !failed ? 0 : 1;
}
