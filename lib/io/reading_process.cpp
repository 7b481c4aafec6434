#include "io/reading_process.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "base/error.h"
#include "io/channel.h"
#include "io/input.h"
#include "io/layout.h"
#include "io/shared_bytes.h"

namespace heed::io {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kLimitsMemory = false;  // the sanitizer reserves terabytes
#else
constexpr bool kLimitsMemory = true;
#endif
// A backstop beyond ByteBudget: memory allocated by HDF5 itself, and processor time per file or frame. A
// chunk may exist in three copies (inflated, unshuffled, as a tensor), each 64 times its stored size.
constexpr std::uint64_t kTimesStored = 3 * 64 + 8;
constexpr std::uint64_t kFreeSeconds = 3, kBytesPerSecond = 4 << 20;

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

/// Keeps only what is listed, -1 for none, and gives other standard streams to /dev/null: other ends of pipes
/// must close when the tool closes them, and output of a dying library must not appear as a message of heed.
void drop_descriptors(std::vector<int> kept) {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (!std::ranges::count(kept, standard)) dup2(null, standard);
  std::ranges::sort(kept);
  int first = STDERR_FILENO + 1;
  for (const int next : kept) {
    if (first < next) close_range(static_cast<unsigned>(first), static_cast<unsigned>(next) - 1, 0);
    first = std::max(first, next + 1);
  }
  close_range(static_cast<unsigned>(first), ~0U, 0);
}

/// Values of an answer are shared from this size, where the socket would take longer, and up to this sum.
constexpr std::size_t kLeastShared = 16 << 10, kMostShared = 64 << 20;

void serve(Channel& channel, int socket, const SharedMemory& memory, const std::string& path, Descriptor file,
           const ReadOptions& options) {
  const Limits limits;
  bool dropped = false;
  auto drop = [&](int descriptor) {
    if (!std::exchange(dropped, true))
      drop_descriptors({socket, descriptor, memory.image.get(), memory.values.get()});
  };
  SharedBytes shared(memory.values.get());
  Input input(path, std::move(file), memory.image.get(), options, [&](int descriptor, std::uint64_t stored) {
    drop(descriptor);
    limits.set(stored);
  });
  drop(input.descriptor());
  channel.put(std::int64_t{complete}), channel.put(input.sentences());
  channel.flush();
  auto send = [&](const std::string& name, const Tensor& values) {
    channel.put(std::int64_t{tensor}), channel.put(name), channel.put(values);
  };
  auto share = [&](const std::string& name, const Tensor& values) {
    const std::span<const std::byte> bytes = numbers_of(values);
    const auto at = static_cast<std::int64_t>(shared.size());
    const bool is_apt = bytes.size() >= kLeastShared && shared.size() + bytes.size() <= kMostShared;
    if (!shared.is_shared() || !is_apt || !shared.append(bytes)) return send(name, values);
    channel.put(std::int64_t{shared_tensor}), channel.put(name), channel.put(std::int64_t{in_values});
    channel.put(at), channel.put_description(values);
  };
  auto send_place = [&](const std::string& name, const ChunkedTensor& values) {
    channel.put(std::int64_t{stored_tensor}), channel.put(name);
    channel.put(std::int64_t{input.is_file() ? in_file : in_image}), channel.put(values);
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
      input.narrow(only), shared.clear(), found = input.next(batch, about, share, send_place);
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

}  // namespace

void run_reading_process(int socket, const SharedMemory& memory, const std::string& path, Descriptor file,
                         const ReadOptions& options) {
  // The tool decides when to stop, and this process ends with it.
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) std::signal(signal, SIG_IGN);
  Limit(RLIMIT_CORE).set(0);
  Channel channel(socket);
  try {
    try {
      serve(channel, socket, memory, path, std::move(file), options);
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

}  // namespace heed::io
