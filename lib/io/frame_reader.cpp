// Every file is read by a process of its own. HDF5 1.10 can be made to crash, to run for ever or to take all
// memory by a file whose structure lies; here that ends in an error of the tool that reads. The process is
// asked for the next frame or the whole map, and answers with tensors, then with groups and root attributes.

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <optional>
#include <utility>

#include "base/error.h"
#include "io/channel.h"
#include "io/frame_stream.h"
#include "io/h5_handle.h"
#include "io/input.h"

namespace heed::io {
namespace {

enum Wanted : std::int64_t { next_frame, whole_map };
enum Answer : std::int64_t { tensor, complete, at_end, error, usage_error, out_of_memory };

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kLimitsMemory = false;  // the sanitizer reserves terabytes
#else
constexpr bool kLimitsMemory = true;
#endif
// A backstop beyond ByteBudget: memory that HDF5 takes by itself, and processor time of a file or frame.
constexpr std::uint64_t kFreeBytes = std::uint64_t{192} << 20, kTimesStored = 72;
constexpr std::uint64_t kFreeSeconds = 3, kBytesPerSecond = 4 << 20;

// ---- in the reading process ----

void limit(int resource, std::uint64_t most) {
  rlimit present;
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &present) != 0) return;
  present.rlim_cur = std::min<rlim_t>(present.rlim_max, most);
  setrlimit(static_cast<__rlimit_resource_t>(resource), &present);
}

std::uint64_t address_space() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// What reading `stored` bytes may cost at most.
void limit_resources(std::uint64_t stored) {
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  limit(RLIMIT_CPU, static_cast<std::uint64_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) + kFreeSeconds +
                        stored / kBytesPerSecond);
  if (kLimitsMemory && stored < (UINT64_MAX >> 8))
    limit(RLIMIT_AS, address_space() + kFreeBytes + kTimesStored * stored);
}

/// Keeps only the socket and the input: other ends of pipes must close when the tool closes them, and what a
/// dying library prints is no message of ours.
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

void serve(Channel& channel, int socket, const std::string& path, const ReadOptions& options) {
  bool dropped = false;
  auto drop = [&](int descriptor) {
    if (!std::exchange(dropped, true)) drop_descriptors(socket, descriptor);
  };
  Input input(path, options, [&](int descriptor, std::uint64_t stored) {
    drop(descriptor);
    limit_resources(stored);
  });
  drop(input.descriptor());
  channel.put(std::int64_t{complete});
  channel.flush();
  auto send = [&](const std::string& name, Tensor values) {
    channel.put(std::int64_t{tensor}), channel.put(name), channel.put(values);
  };
  while (true) {
    std::int64_t wanted = 0;
    channel.get(wanted);
    TensorMap about;
    bool found = true;
    if (wanted == next_frame)
      found = input.next(about, send);
    else
      input.whole(about, send);
    channel.put(std::int64_t{found ? complete : at_end});
    if (found) channel.put(about.groups), channel.put(about.attributes);
    channel.flush();
  }
}

[[noreturn]] void run_reading_process(int socket, const std::string& path, const ReadOptions& options) {
  // The tool decides when to stop, and its end is ours.
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(signal, SIG_IGN);
  limit(RLIMIT_CORE, 0);
  Channel channel(socket);
  try {
    try {
      serve(channel, socket, path, options);
    } catch (const UsageError& e) {
      channel.put(std::int64_t{usage_error}), channel.put(std::string(e.what()));
    } catch (const std::bad_alloc&) {
      channel.put(std::int64_t{out_of_memory});
    } catch (const std::exception& e) {
      channel.put(std::int64_t{error}), channel.put(std::string(e.what()));
    }
    channel.flush();
  } catch (const Channel::Closed&) {
  }
  _exit(0);
}

}  // namespace

// ---- in the tool ----

namespace {

/// A process of ours, killed with its owner.
class Process {
 public:
  ~Process() {
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

struct FrameReader::Impl {
  std::string name;
  Process process;
  Descriptor socket;
  std::optional<Channel> channel;

  Impl(const std::string& path, const ReadOptions& options);
  bool ask(Wanted wanted, TensorMap& map);
  Answer receive(TensorMap& map);
  [[noreturn]] void fail_closed();
};

FrameReader::Impl::Impl(const std::string& path, const ReadOptions& options)
    : name(path == "-" ? "<stdin>" : escaped(path)) {
  reserve_standard_streams();
  start_hdf5();
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail_errno(name, "cannot read");
  socket = Descriptor(ends[0]);
  channel.emplace(ends[0]);
  Descriptor other(ends[1]);
  const pid_t tool = getpid();
  process.id = fork();
  if (process.id < 0) fail_errno(name, "cannot start the process that reads it");
  if (process.id == 0) {
    // Only the main thread ends with the process.
    if (gettid() == tool) prctl(PR_SET_PDEATHSIG, SIGKILL);
    run_reading_process(other.get(), path, options);
  }
  other = Descriptor();  // so that the process's death is an end
  TensorMap nothing;
  receive(nothing);
}

void FrameReader::Impl::fail_closed() {
  const int status = process.wait();  // it ends by itself: it has closed its end
  const int signal = status >= 0 && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (signal == SIGXCPU) fail(name, ": takes too long to read: damaged, or made to harm");
  if (signal == SIGKILL) fail(name, ": the process that reads it was killed: too little memory?");
  fail(name, ": damaged HDF5 data: the HDF5 library crashed on it",
       signal ? concat(" (", strsignal(signal), ")") : "");
}

/// Adds to `map` what is sent, up to the answer's end.
Answer FrameReader::Impl::receive(TensorMap& map) {
  if (!process.is_running()) fail(name, ": cannot be read on after an error");
  try {
    while (true) {
      std::int64_t answer = 0;
      channel->get(answer);
      if (answer == complete || answer == at_end) return static_cast<Answer>(answer);
      std::string text;
      if (answer == out_of_memory) fail(name, ": reading it needs more memory than is plausible or allowed");
      channel->get(text);
      if (answer == usage_error) fail<UsageError>(text);
      if (answer != tensor) fail(text);
      Tensor values;
      channel->get(values);
      map.add(text, std::move(values));
    }
  } catch (const Channel::Closed&) {
    fail_closed();
  }
}

bool FrameReader::Impl::ask(Wanted wanted, TensorMap& map) {
  map = TensorMap();
  try {
    channel->put(std::int64_t{wanted});
    channel->flush();
    if (receive(map) == at_end) return false;
    channel->get(map.groups), channel->get(map.attributes);
    return true;
  } catch (const Channel::Closed&) {
    fail_closed();
  }
}

FrameReader::FrameReader(const std::string& path, ReadOptions options)
    : impl_(std::make_unique<Impl>(path, options)) {}
FrameReader::~FrameReader() = default;
FrameReader::FrameReader(FrameReader&&) noexcept = default;
FrameReader& FrameReader::operator=(FrameReader&&) noexcept = default;

const std::string& FrameReader::name() const {
  return impl_->name;
}

bool FrameReader::next(TensorMap& frame) {
  return impl_->ask(next_frame, frame);
}

TensorMap FrameReader::whole() {
  TensorMap map;
  impl_->ask(whole_map, map);
  return map;
}

TensorMap read_map(const std::string& path, ReadOptions options) {
  return FrameReader(path, std::move(options)).whole();
}

}  // namespace heed::io
