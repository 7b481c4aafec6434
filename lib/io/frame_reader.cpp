// Every file is read by a separate process. A malicious file structure can make HDF5 1.10 crash, run forever
// or exhaust the memory; here that becomes an error of the tool that reads. The process is asked for the next
// frame or the whole map, and answers with tensors, then with groups and root attributes. For a whole file it
// only sends the location of values that are stored as in memory; the tool reads them itself
// (chunked_tensor.h).

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/heap.h"
#include "base/log.h"
#include "base/paths.h"
#include "io/channel.h"
#include "io/frame_parts.h"
#include "io/frame_stream.h"
#include "io/h5_file.h"
#include "io/h5_guard.h"
#include "io/h5_handle.h"
#include "io/input.h"
#include "io/layout.h"
#include "io/provenance.h"
#include "io/superblock.h"

namespace heed::io {
namespace {

enum Wanted : std::int64_t { next_frames, whole_map, part_of_map, layout_only };
enum Answer : std::int64_t { tensor, chunked_tensor, complete, at_end, error, usage_error, out_of_memory };

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kLimitsMemory = false;  // the sanitizer reserves terabytes
#else
constexpr bool kLimitsMemory = true;
#endif
// A backstop beyond ByteBudget: memory allocated by HDF5 itself, and processor time per file or frame. A
// chunk may exist in three copies (inflated, unshuffled, as a tensor), each 64 times its stored size.
constexpr std::uint64_t kFreeBytes = std::uint64_t{64} << 20, kTimesStored = 3 * 64 + 8;
constexpr std::uint64_t kFreeSeconds = 3, kBytesPerSecond = 4 << 20;

// ---- in the reading process ----

/// A limit of this process, which can be lowered below its initial value and restored.
class Limit {
 public:
  explicit Limit(__rlimit_resource_t resource) : resource_(resource) { getrlimit(resource, &given_); }
  void set(std::uint64_t most) const {
    rlimit now = given_;
    now.rlim_cur = std::min<rlim_t>(given_.rlim_cur, most);
    setrlimit(resource_, &now);
  }

 private:
  __rlimit_resource_t resource_;
  rlimit given_{RLIM_INFINITY, RLIM_INFINITY};
};

/// The writable memory of this process, which RLIMIT_DATA limits. Memory only reserved by malloc, 64 MiB and
/// more per thread, does not count.
std::uint64_t writable_bytes() {
  std::ifstream sizes("/proc/self/statm");
  std::uint64_t pages = 0;
  for (int column = 1; column <= 6; ++column) sizes >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// What HDF5 may take for `stored` bytes; kNotHdf5: no limit.
class Limits {
 public:
  void set(std::uint64_t stored) const {
    if (stored == Input::kNotHdf5) return memory_.set(RLIM_INFINITY), seconds_.set(RLIM_INFINITY);
    rusage used;
    getrusage(RUSAGE_SELF, &used);
    seconds_.set(static_cast<std::uint64_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + kFreeSeconds +
                 stored / kBytesPerSecond);
    if (kLimitsMemory && stored < (UINT64_MAX >> 8))
      memory_.set(writable_bytes() + kFreeBytes + kTimesStored * stored);
  }

 private:
  Limit memory_{RLIMIT_DATA}, seconds_{RLIMIT_CPU};
};

/// Keeps only the socket and the input: other ends of pipes must close when the tool closes them, and output
/// of a dying library must not appear as a message of heed.
void drop_descriptors(int socket, int input) {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (standard != input && standard != socket) dup2(null, standard);
  const int low = std::min(socket, input), high = std::max(socket, input);
  auto close_between = [](int first, int last) {
    if (first <= last) close_range(static_cast<unsigned>(first), static_cast<unsigned>(last), 0);
  };
  close_between(3, low - 1);
  close_between(std::max(low + 1, 3), high - 1);
  close_between(std::max(high + 1, 3), ~0U >> 1);
}

void serve(Channel& channel, int socket, const std::string& path, Descriptor file,
           const ReadOptions& options) {
  const Limits limits;
  bool dropped = false;
  auto drop = [&](int descriptor) {
    if (!std::exchange(dropped, true)) drop_descriptors(socket, descriptor);
  };
  Input input(path, std::move(file), options, [&](int descriptor, std::uint64_t stored) {
    drop(descriptor);
    limits.set(stored);
  });
  drop(input.descriptor());
  channel.put(std::int64_t{complete}), channel.put(input.sentences());
  channel.flush();
  auto send = [&](const std::string& name, Tensor values) {
    channel.put(std::int64_t{tensor}), channel.put(name), channel.put(values);
  };
  auto send_place = [&](const std::string& name, const ChunkedTensor& values) {
    channel.put(std::int64_t{chunked_tensor}), channel.put(name), channel.put(values);
  };
  while (true) {
    std::int64_t wanted = 0;
    channel.get(wanted);
    std::int64_t batch = 0;
    channel.get(batch);
    std::vector<std::string> only;
    channel.get(only);
    TensorMap about;
    bool found = true;
    if (wanted == next_frames)
      input.narrow(only), found = input.next(batch, about, send);
    else if (wanted == whole_map)
      input.whole(only, about, send, send_place);
    else if (wanted == part_of_map)
      input.part(only, about, send, send_place);
    else
      input.layout(about, send);
    channel.put(std::int64_t{found ? complete : at_end});
    if (found)
      channel.put(std::int64_t{input.begins()}), channel.put(about.groups), channel.put(about.attributes);
    channel.flush();
  }
}

[[noreturn]] void run_reading_process(int socket, const std::string& path, Descriptor file,
                                      const ReadOptions& options) {
  // The tool decides when to stop, and this process ends with it.
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(signal, SIG_IGN);
  Limit(RLIMIT_CORE).set(0);
  Channel channel(socket);
  try {
    try {
      serve(channel, socket, path, std::move(file), options);
    } catch (const UsageError& e) {
      channel.put(std::int64_t{usage_error}), channel.put(std::string(e.what()));
    } catch (const std::bad_alloc&) {
      channel.put(std::int64_t{out_of_memory});
    } catch (const std::exception& e) {
      channel.put(std::int64_t{error}), channel.put(std::string(e.what()));
    }
    channel.flush();
  } catch (...) {  // the tool is gone, or there is no memory to tell it anything: it must not unwind here
  }
  _exit(0);
}

}  // namespace

// ---- in the tool ----

namespace {

/// A process of ours, killed with its owner.
class Process {
 public:
  ~Process() { stop(); }
  void stop() {
    if (id > 0) kill(id, SIGKILL);
    wait();
  }
  bool is_running() const { return id > 0; }
  /// Waits for its end; the status, or -1.
  int wait() {
    int status = -1;
    while (id > 0 && waitpid(id, &status, 0) < 0 && errno == EINTR) {
    }
    id = -1;
    return status;
  }
  pid_t id = -1;
};

}  // namespace

namespace {

/// The identity of a file, to detect one that is named twice; nothing for a pipe.
std::optional<std::pair<dev_t, ino_t>> place_of(const std::string& path) {
  struct stat info;
  if (path == "-" || stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return std::pair(info.st_dev, info.st_ino);
}

/// One path, and the process that reads it.
struct OpenPath {
  std::string name;
  std::int64_t batch;       ///< of the next frame
  std::int64_t begins = 0;  ///< whether the next frame is the first of its stream or file
  Process process;
  Descriptor socket, file;  ///< the file if it is one and not a pipe, the same as the process reads
  std::optional<Channel> channel;
  HeapMemory touched_pages;   ///< held since the fork
  std::uint64_t fetched = 0;  ///< bytes of the file, for the present answer

  OpenPath(const std::string& path, const ReadOptions& options);
  /// Waits until the process has opened the path; throws what it says of it.
  void await_open();
  bool ask(Wanted wanted, TensorMap& map, const std::vector<std::string>& only = {}) {
    return ask(wanted, map, only, [&](const std::string& name, Tensor t) { map.add(name, std::move(t)); });
  }
  bool ask(Wanted wanted, TensorMap& map, const std::vector<std::string>& only, const TensorSink& sink);
  std::uint64_t most_in_answer() const;
  Answer receive(const TensorSink& sink);
  Tensor fetch_next(const std::string& path);
  [[noreturn]] void fail_closed(const Channel::Closed& why);
  std::int64_t count_sentences() { return await_open(), sentences; }

 private:
  bool is_open = false;
  std::int64_t sentences = 0;
};

OpenPath::OpenPath(const std::string& path, const ReadOptions& options)
    : name(name_of_input(path)), batch(options.batch) {
  reserve_standard_streams();
  start_hdf5();
  register_driver();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail_errno(name, "cannot read");
  socket = Descriptor(ends[0]);
  channel.emplace(ends[0]);
  Descriptor other(ends[1]);
  if (path == "-")
    file = Descriptor(STDIN_FILENO, false);
  else if (place_of(path))
    file = open_for_reading(path);
  const pid_t tool = getpid();
  const bool is_main_thread = gettid() == tool;
  touched_pages = take_touched_pages();
  process.id = fork();
  if (process.id < 0) fail_errno(name, "cannot start the process that reads it");
  if (process.id == 0) {
    // The signal is tied to the thread, and other threads than the main one may end before the tool.
    if (is_main_thread) prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != tool) _exit(0);
    run_reading_process(other.get(), path, std::move(file), options);
  }
  // Its end of the socket closes here, so that the process's death is an end.
}

void OpenPath::await_open() {
  if (std::exchange(is_open, true)) return;
  receive([](const std::string&, const Tensor&) { throw Channel::Closed{.is_nonsense = true}; });
  try {
    channel->get(sentences);
  } catch (const Channel::Closed& why) {
    fail_closed(why);
  }
}

void OpenPath::fail_closed(const Channel::Closed& why) {
  if (why.is_nonsense) {
    process.stop();
    fail(name,
         ": damaged HDF5 data: the HDF5 library returned impossible values: too much for the file's size, or "
         "not a tensor");
  }
  shutdown(socket.get(), SHUT_RDWR);  // should it still be there, and wait for a question
  const int status = process.wait();
  const int signal = status >= 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signal == SIGXCPU) fail(name, ": takes too long to read: damaged or malicious");
  if (signal == SIGKILL) fail(name, ": the process that reads it was killed: too little memory?");
  fail(name, ": damaged HDF5 data: the HDF5 library crashed on it",
       signal ? concat(" (", strsignal(signal), ")") : "");
}

/// The maximal size of an answer, so that a small hostile file that has misled the process cannot make the
/// tool use much memory: ByteBudget's limit, plus names and attributes. For frames in pipes and arrays of
/// other programs, only the process knows the size.
std::uint64_t OpenPath::most_in_answer() const {
  struct stat info;
  std::array<std::byte, 8> head;
  if (file.get() < 0 || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return UINT64_MAX;
  if (pread(file.get(), head.data(), head.size(), 0) != std::ssize(head) || !looks_like_hdf5(head))
    return UINT64_MAX;
  return kFreeBytes + static_cast<std::uint64_t>(ByteBudget(static_cast<std::uint64_t>(info.st_size)).left());
}

/// Gives `sink` what is sent, up to the answer's end.
Answer OpenPath::receive(const TensorSink& sink) {
  channel->allow(most_in_answer());
  fetched = 0;
  try {
    while (true) {
      std::int64_t answer = 0;
      channel->get(answer);
      if (answer == complete || answer == at_end) return static_cast<Answer>(answer);
      if (answer < tensor || answer > out_of_memory) throw Channel::Closed{.is_nonsense = true};
      std::string text;
      if (answer != out_of_memory) channel->get(text);
      if (answer == chunked_tensor) {
        sink(text, fetch_next(text));
        continue;
      }
      if (answer != tensor) process.stop();  // it ends after an error
      if (answer == out_of_memory) fail(name, ": reading it needs more memory than is plausible or allowed");
      if (answer == usage_error) fail<UsageError>(text);
      if (answer != tensor) fail(text);
      Tensor values;
      channel->get(values);
      sink(text, std::move(values));
    }
  } catch (const Channel::Closed& why) {
    fail_closed(why);
  } catch (...) {
    process.stop();  // what it sends still is no answer to a further question
    throw;
  }
}

/// Reads the values at the location sent by the process, if that location is possible beside the earlier
/// ones.
Tensor OpenPath::fetch_next(const std::string& path) {
  ChunkedTensor stored;
  channel->get(stored);
  const std::string where = concat(name, ":/", escaped(path));
  struct stat info;
  if (fstat(file.get(), &info) != 0) fail_errno(where, "cannot read its values");
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (!is_possible(stored, size) || (fetched += stored_bytes(stored)) > size)
    fail(where, ": its values cannot lie in a file of ", size,
         " bytes: damaged, or cut short while it was read");
  return fetch(std::move(stored), file.get(), where);
}

bool OpenPath::ask(Wanted wanted, TensorMap& map, const std::vector<std::string>& only,
                   const TensorSink& sink) {
  await_open();
  map = TensorMap();
  if (!process.is_running()) fail(name, ": cannot continue reading after an error");
  try {
    channel->put(std::int64_t{wanted}), channel->put(batch), channel->put(only);
    channel->flush();
    if (receive(sink) == at_end) return false;
    channel->get(begins), channel->get(map.groups), channel->get(map.attributes);
    return true;
  } catch (const Channel::Closed& why) {
    fail_closed(why);
  }
}

}  // namespace

namespace {

/// The first line of `now` that differs from that of `before`.
std::string other_line(std::string_view now, std::string_view before) {
  const auto line_at = [](std::string_view text, std::size_t at) {
    return text.substr(at, text.find('\n', at) - at);
  };
  for (std::size_t at = 0; at < now.size();) {
    const std::string_view line = line_at(now, at);
    if (at >= before.size() || line_at(before, at) != line) return escaped(line);
    at += line.size() + 1;
  }
  return "nothing";
}

/// Checks that frames are consecutive parts of one text, or whole texts, and made alike; frames without
/// sentences are ignored.
class Sequence {
 public:
  /// `begins`: the frame is the first of its stream or file.
  void add(const TensorMap& frame, const std::string& name, bool begins) {
    begins_ = begins_ || begins;
    const std::int64_t count = sentences_of(frame);
    if (count == 0) return;
    const std::int64_t begin = first_sentence_of(frame.attributes, name);
    const bool is_first = name_.empty();
    if (!is_first) {
      expect_place(begin, name);
      expect_alike(frame.attributes, name, begin > 0);
    }
    if (std::exchange(begins_, false) && begin > 0) has_parts_ = true;
    end_ = begin + count;
    name_ = name;
    for (const char* which : kAlike)
      if (const std::string* text = text_of(frame.attributes, which)) seen_[which] = *text;
  }

 private:
  static constexpr const char* kAlike[] = {kModelDigest, kVocabularyDigest, "history"};

  /// Texts that all begin at 0 may follow each other, and so may parts of one text; not both, because a part
  /// may be duplicated.
  void expect_place(std::int64_t begin, const std::string& name) {
    const bool is_text = begin == 0 && end_ > 0;
    if (begin != end_ && !(is_text && !has_parts_))
      fail(name, ": begins with sentence ", begin, " of its text, but ", name_,
           " before it ended with sentence ", end_ - 1,
           begin > end_ ? ": is a part missing or misplaced?" : ": is a part duplicated or misplaced?");
    if (begins_ && begin > 0 && has_texts_)
      fail(name, ": begins with sentence ", begin,
           " of its text, but the files before it begin with sentence 0: is a part duplicated?");
    has_texts_ = has_texts_ || is_text;
  }

  /// Frames of other programs lack these attributes.
  void expect_alike(const Attributes& root, const std::string& name, bool is_part) {
    for (const auto& [which, before] : seen_) {
      const std::string* now = text_of(root, which);
      if (!now || *now == before) continue;
      if (which == "history") {
        const std::string what =
            concat(name, ": made by other commands than ", name_, " before it: ", other_line(*now, before),
                   ", not ", other_line(before, *now));
        if (is_part) fail(what, ": make all parts of a text with the same options");
        if (!std::exchange(has_warned_, true)) logging::warn(what);
        continue;
      }
      fail(name, ": made with another ", which == kModelDigest ? "model" : "vocabulary", " than ", name_,
           " before it (", which, " ", escaped(*now, 12), ", not ", escaped(before, 12), ")");
    }
  }

  std::string name_;  ///< of the last frame's file; empty: there was none
  std::map<std::string, std::string> seen_;
  std::int64_t end_ = 0;    ///< of the last frame
  bool begins_ = false;     ///< the present frame, or one without sentences before it
  bool has_parts_ = false;  ///< a file that does not begin its text
  bool has_texts_ = false;  ///< a second text
  bool has_warned_ = false;
};

}  // namespace

struct FrameReader::Impl {
  std::vector<std::string> paths;
  ReadOptions options;
  std::size_t at = 0;  ///< of the path that is open
  std::string name;    ///< of that
  std::optional<OpenPath> file;
  std::vector<std::string> only{};  ///< the tensors of frames; empty: all
  FrameCutter cutter{};             ///< what was read and has not been returned
  Sequence sequence{};

  bool read_further() {
    TensorMap frames;
    if (!file->ask(next_frames, frames, only)) return false;
    cutter.begin(std::move(frames), name);
    return true;
  }

  bool open_next() {
    if (at + 1 >= paths.size()) return false;
    file.reset();
    name = name_of_input(paths[++at]);  // should it not open
    file.emplace(paths[at], options);
    return true;
  }

  void expect_end() {
    TensorMap more;
    while (open_next())
      if (file->ask(next_frames, more)) fail(name, ": a further file where one map was expected");
  }
};

FrameReader::FrameReader(const std::string& path, ReadOptions options)
    : FrameReader(std::vector{path}, std::move(options)) {}

FrameReader::FrameReader(const std::vector<std::string>& paths, ReadOptions options)
    : FrameReader(begin(paths, std::move(options))) {
  impl_->file->await_open();
}

FrameReader FrameReader::begin(const std::vector<std::string>& paths, ReadOptions options) {
  // A misspelt name is an error now, not after the files before it.
  for (const std::string& path : paths)
    if (path != "-" && access(path.c_str(), R_OK) != 0) fail_errno(escaped(path), "cannot read");
  std::map<std::pair<dev_t, ino_t>, std::string> places;
  for (const std::string& path : paths) {
    const auto place = place_of(path);
    if (!place) continue;
    const auto [before, is_new] = places.emplace(*place, path);
    if (!is_new) fail(escaped(path), ": is given twice, as ", escaped(before->second), " before");
  }
  FrameReader reader(std::unique_ptr<Impl>(new Impl{
      .paths = paths, .options = std::move(options), .name = name_of_input(paths.front()), .file = {}}));
  reader.impl_->file.emplace(paths.front(), reader.impl_->options);
  return reader;
}

FrameReader::FrameReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

FrameReader::~FrameReader() = default;
FrameReader::FrameReader(FrameReader&&) noexcept = default;
FrameReader& FrameReader::operator=(FrameReader&&) noexcept = default;

const std::string& FrameReader::name() const {
  return impl_->name;
}

void FrameReader::set_batch(std::int64_t sentences) {
  impl_->options.batch = impl_->file->batch = sentences;
}

void FrameReader::set_only(std::vector<std::string> paths) {
  impl_->only = std::move(paths);
}

std::int64_t FrameReader::sentences() const {
  const std::int64_t of_file = impl_->file->count_sentences();
  return impl_->paths.size() == 1 ? of_file : 0;
}

bool FrameReader::next(TensorMap& frame) {
  frame = TensorMap();  // before another is read
  do {
    if (impl_->cutter.next(impl_->file->batch, frame) ||
        (impl_->read_further() && impl_->cutter.next(impl_->file->batch, frame))) {
      impl_->sequence.add(frame, name(), std::exchange(impl_->file->begins, 0) != 0);
      return true;
    }
  } while (impl_->open_next());
  return false;
}

TensorMap FrameReader::part(const std::vector<std::string>& only) {
  TensorMap map;
  impl_->file->ask(part_of_map, map, only);
  return map;
}

TensorMap FrameReader::whole(const std::vector<std::string>& only) {
  TensorMap map;
  impl_->file->ask(whole_map, map, only);
  impl_->expect_end();
  return map;
}

void FrameReader::whole(const std::vector<std::string>& only, const TensorSink& sink) {
  TensorMap about;
  impl_->file->ask(whole_map, about, only, sink);
  impl_->expect_end();
}

TensorMap FrameReader::layout() {
  TensorMap map;
  impl_->file->ask(layout_only, map);
  return map;
}

TensorMap read_map(const std::string& path, ReadOptions options) {
  return FrameReader(path, std::move(options)).whole();
}

}  // namespace heed::io
