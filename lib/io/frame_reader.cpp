// Every file is read by a separate process. A malicious file structure can make HDF5 1.10 crash, run forever
// or exhaust the memory; here that becomes an error of the tool that reads. The process is asked for the next
// frame or the whole map (reading_process.h). Most values the tool fetches itself: those that a file or frame
// holds as they are in memory from there (chunked_tensor.h), others of a frame from shared memory. Each frame is
// asked for before it is needed, so that the process reads while the tool works on the frame before.

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "base/heap.h"
#include "base/paths.h"
#include "io/channel.h"
#include "io/frame_parts.h"
#include "io/frame_sequence.h"
#include "io/frame_stream.h"
#include "io/h5_file.h"
#include "io/h5_guard.h"
#include "io/h5_handle.h"
#include "io/h5_reader.h"
#include "io/layout.h"
#include "io/reading_process.h"
#include "io/shared_bytes.h"
#include "io/superblock.h"

namespace heed::io {
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
  SharedMemory memory;
  std::optional<Channel> channel;
  HeapMemory touched_pages;  ///< held since the fork
  std::atomic<bool> is_interrupted{false};
  std::uint64_t fetched = 0;  ///< bytes of the file, for the present answer

  OpenPath(const std::string& path, const ReadOptions& options);
  /// Waits until the process has opened the path; throws what it says of it.
  void await_open();
  bool ask(Wanted wanted, TensorMap& map, const std::vector<std::string>& only = {}) {
    return ask(wanted, map, only, [&](const std::string& name, Tensor t) { map.add(name, std::move(t)); });
  }
  bool ask(Wanted wanted, TensorMap& map, const std::vector<std::string>& only, const TensorSink& sink,
           const FrameReader::FloatPlace& place = {});
  void put_question(Wanted wanted, const std::vector<std::string>& only);
  std::uint64_t most_in_answer() const;
  Answer receive(const TensorSink& sink, const FrameReader::FloatPlace& place = {});
  const Descriptor& next_place();
  void fetch_stored(const std::string& path, const TensorSink& sink, const FrameReader::FloatPlace& place);
  Tensor fetch_shared(const std::string& path);
  [[noreturn]] void fail_closed(const Channel::Closed& why);
  void interrupt() {
    is_interrupted = true;
    shutdown(socket.get(), SHUT_RDWR);
  }
  std::int64_t count_sentences() { return await_open(), sentences; }

 private:
  bool is_open = false;
  bool has_asked = false;  ///< for the next frame, by the last call of ask()
  std::int64_t sentences = 0;
};

OpenPath::OpenPath(const std::string& path, const ReadOptions& options)
    : name(name_of_input(path)), batch(options.batch) {
  reserve_standard_streams();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail_errno(name, "cannot read");
  socket = Descriptor(ends[0]);
  channel.emplace(ends[0]);
  Descriptor other(ends[1]);
  if (path == "-")
    file = Descriptor(STDIN_FILENO, false);
  else if (place_of(path))
    file = open_for_reading(path);
  memory = {new_shared_memory(), new_shared_memory()};
  const pid_t tool = getpid();
  {
    const auto hdf5 = use_hdf5();
    register_driver();
    touched_pages = take_touched_pages();
    process.id = fork();
  }
  if (process.id < 0) fail_errno(name, "cannot start the process that reads it");
  if (process.id == 0) {
    // The signal comes when the forking thread ends, which is the main one or one that parallel_for keeps.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != tool) _exit(0);
    run_reading_process(other.get(), memory, path, std::move(file), options);
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
  if (is_interrupted) {
    process.stop();  // it may be waiting for input
    fail(name, ": is not read any further");
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
Answer OpenPath::receive(const TensorSink& sink, const FrameReader::FloatPlace& place) {
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
      if (answer == stored_tensor || answer == shared_tensor) {
        answer == stored_tensor ? fetch_stored(text, sink, place) : sink(text, fetch_shared(text));
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

const Descriptor& OpenPath::next_place() {
  std::int64_t place = 0;
  channel->get(place);
  if (place < in_file || place > in_values) throw Channel::Closed{.is_nonsense = true};
  return place == in_file ? file : place == in_image ? memory.image : memory.values;
}

std::uint64_t size_of(const Descriptor& file, const std::string& where) {
  struct stat info;
  if (fstat(file.get(), &info) != 0) fail_errno(where, "cannot read its values");
  return static_cast<std::uint64_t>(info.st_size);
}

/// Reads the values at the location sent by the process, if that location is possible beside the earlier
/// ones, into their place or for `sink`.
void OpenPath::fetch_stored(const std::string& path, const TensorSink& sink,
                            const FrameReader::FloatPlace& place) {
  const Descriptor& from = next_place();
  ChunkedTensor stored;
  channel->get(stored);
  const std::string where = concat(name, ":/", escaped(path));
  const std::uint64_t size = size_of(from, where);
  if (!is_possible(stored, size) || (fetched += stored_bytes(stored)) > size)
    fail(where, ": its values cannot lie in a file of ", size,
         " bytes: damaged, or cut short while it was read");
  if (&from != &file) channel->spend(stored_bytes(stored));  // the process chooses the size of what it shares
  if (place && stored.dtype == DType::f32 && !stored.shape.empty())
    if (const Matrix<float> own = place(path, stored.shape); own.data) {
      Shape memory = stored.shape;
      memory.back() = own.row_stride;
      const std::span values(own.data, static_cast<std::size_t>((own.rows - 1) * own.row_stride + own.cols));
      return fetch_values(stored, from.get(), std::as_writable_bytes(values), memory, where);
    }
  sink(path, fetch(std::move(stored), from.get(), where));
}

/// Reads the values that the process has put into shared memory.
Tensor OpenPath::fetch_shared(const std::string& path) {
  const Descriptor& from = next_place();
  std::int64_t at = 0;
  channel->get(at);
  const std::string where = concat(name, ":/", escaped(path));
  const std::uint64_t size = size_of(from, where), begin = static_cast<std::uint64_t>(at);
  return channel->get_numbers(size - std::min(begin, size), [&](std::span<std::byte> values) {
    read_at(from.get(), begin, values, where);
  });
}

bool OpenPath::ask(Wanted wanted, TensorMap& map, const std::vector<std::string>& only,
                   const TensorSink& sink, const FrameReader::FloatPlace& place) {
  await_open();
  map = TensorMap();
  if (!process.is_running()) fail(name, ": cannot continue reading after an error");
  if (has_asked && wanted != next_frames)
    throw std::logic_error("FrameReader: only next() may follow next()");
  try {
    if (!std::exchange(has_asked, false)) put_question(wanted, only);
    if (receive(sink, place) == at_end) return false;
    channel->get(begins), channel->get(map.groups), channel->get(map.attributes);
  } catch (const Channel::Closed& why) {
    fail_closed(why);
  }
  if (wanted != next_frames) return true;
  try {
    has_asked = true;
    put_question(wanted, only);
  } catch (const Channel::Closed&) {  // it has crashed since, which is the next frame's error
  }
  return true;
}

void OpenPath::put_question(Wanted wanted, const std::vector<std::string>& only) {
  channel->put(std::int64_t{wanted}), channel->put(batch), channel->put(only);
  channel->flush();
}

}  // namespace

struct FrameReader::Impl {
  std::vector<std::string> paths;
  ReadOptions options;
  std::size_t at = 0;  ///< of the path that is open
  std::string name;    ///< of that
  std::optional<OpenPath> file;
  std::vector<std::string> only{};  ///< the tensors of frames; empty: all
  std::function<void(const std::function<void()>&)> around_open = [](const auto& open) { open(); };
  FrameCutter cutter{};  ///< what was read and has not been returned
  FrameSequence sequence{};

  bool read_further() {
    TensorMap frames;
    if (!file->ask(next_frames, frames, only)) return false;
    cutter.begin(std::move(frames), name);
    return true;
  }

  bool open_next() {
    if (at + 1 >= paths.size()) return false;
    name = name_of_input(paths[++at]);  // should it not open
    around_open([&] {
      file.reset();
      file.emplace(paths[at], options);
    });
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

void FrameReader::set_around_open(std::function<void(const std::function<void()>& open)> around) {
  impl_->around_open = std::move(around);
}

void FrameReader::interrupt() {
  if (impl_->file) impl_->file->interrupt();
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

void FrameReader::whole(const std::vector<std::string>& only, const TensorSink& sink,
                        const FloatPlace& place) {
  TensorMap about;
  impl_->file->ask(whole_map, about, only, sink, place);
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
