#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/error.h"
#include "io/atomic_file.h"
#include "io/byte_stream.h"
#include "io/frame_parts.h"
#include "io/frame_stream.h"
#include "io/h5_file.h"
#include "io/h5_handle.h"
#include "io/h5_writer.h"
#include "io/image.h"
#include "io/provenance.h"

namespace heed::io {

/// Destination of frames. A sink that is destroyed before finish() leaves nothing that looks like a result.
class FrameWriter::Sink {
 public:
  virtual ~Sink() = default;
  virtual void write(const TensorMap& frame, bool is_last) = 0;
  virtual void finish() = 0;
  static std::unique_ptr<Sink> open(const std::string& path, const WriteOptions& options);
};

namespace {

/// A pipe: one image per frame.
class StreamSink : public FrameWriter::Sink {
 public:
  StreamSink(Descriptor output, WriteOptions options, std::string name)
      : output_(std::move(output)), options_(std::move(options)), name_(std::move(name)) {
    // Frames are large; a larger pipe buffer means fewer context switches. Not being allowed to set it
    // is no error.
    fcntl(output_.get(), F_SETPIPE_SZ, 1 << 20);
  }
  void write(const TensorMap& frame, bool is_last) override {
    std::vector<std::byte> image;
    {
      const auto hdf5 = use_hdf5();  // and not while the pipe is full
      image = to_image(frame, options_, {!is_begun_, is_last}, name_);
    }
    write_bytes(output_.get(), image, name_);
    is_begun_ = true;
    is_ended_ = is_last;
  }
  void finish() override {
    if (!is_ended_) write(TensorMap(), true);
    output_.close(name_);
  }

 private:
  Descriptor output_;
  WriteOptions options_;
  std::string name_;
  bool is_begun_ = false, is_ended_ = false;
};

/// An HDF5 file into which frames are gathered; small ones are joined before they are written.
class Gathering {
 public:
  Gathering(const std::string& path, const WriteOptions& options, const std::string& name) : name_(name) {
    const auto hdf5 = use_hdf5();
    file_.emplace(path, name);
    writer_.emplace(file_->id(), Storage::file, options, name);
  }
  ~Gathering() {
    const auto hdf5 = use_hdf5();
    writer_.reset();
    file_.reset();
  }
  Gathering(const Gathering&) = delete;
  Gathering& operator=(const Gathering&) = delete;
  void append(const TensorMap& frame) {
    const auto hdf5 = use_hdf5();
    const bool is_first = waiting_.is_empty() && !writer_->has_started();
    if (is_first)
      MapWriter(file_->id(), Storage::file, {}, name_).check(frame);  // now, not when it is written
    if (is_enough(sentences_of(frame), frame.bytes()) || !waiting_.add(frame)) {
      write_waiting();
      write(frame);
    } else if (is_enough(waiting_.sentences(), waiting_.bytes())) {
      write_waiting();
    }
  }
  /// Writes everything and closes the file. Throws Error.
  void close() {
    const auto hdf5 = use_hdf5();
    write_waiting();
    if (!writer_->has_started()) writer_->append(TensorMap());
    writer_->finish({true, true});
    writer_.reset();
    file_->close();
  }

 private:
  static constexpr std::int64_t kFirstBytes = std::int64_t{1} << 20, kMostBytes = 8 * kFirstBytes;

  /// What is written first has kFirstBytes, and what follows as many sentences as that had, so that chunks are
  /// written whole; long sentences are written sooner.
  bool is_enough(std::int64_t sentences, std::int64_t bytes) const {
    if (at_once_ == 0) return bytes >= kFirstBytes;
    return sentences >= at_once_ || bytes >= kMostBytes;
  }
  void write_waiting() {
    if (!waiting_.is_empty()) write(waiting_.take());
  }
  void write(const TensorMap& frame) {
    if (at_once_ == 0) at_once_ = sentences_of(frame);
    writer_->append(frame);
  }

  std::string name_;
  std::optional<NewFile> file_;
  std::optional<MapWriter> writer_;  // refers to file_
  FrameJoiner waiting_;
  std::int64_t at_once_ = 0;  ///< sentences; 0: nothing was written
};

/// A named file, put in place atomically.
class FileSink : public FrameWriter::Sink {
 public:
  FileSink(const std::string& path, const WriteOptions& options, const std::string& name)
      : atomic_(path), gathering_(atomic_.temporary_path(), options, name) {}
  void write(const TensorMap& frame, bool) override { gathering_.append(frame); }
  void finish() override {
    gathering_.close();
    atomic_.commit();
  }

 private:
  AtomicFile atomic_;
  Gathering gathering_;
};

/// stdout redirected to a file: the shell has already truncated it, so it is written in place; a failure
/// leaves it empty.
class RedirectedSink : public FrameWriter::Sink {
 public:
  RedirectedSink(const WriteOptions& options, const std::string& name)
      : name_(name), gathering_(std::in_place, kOwnPath, options, name) {}
  ~RedirectedSink() override {
    gathering_.reset();
    if (!is_finished_ && ftruncate(STDOUT_FILENO, 0) != 0) errno = 0;  // already on the way out of an error
  }
  void write(const TensorMap& frame, bool) override { gathering_->append(frame); }
  void finish() override {
    gathering_->close();
    // The shell's next output goes after it.
    if (lseek(STDOUT_FILENO, 0, SEEK_END) < 0 || fsync(STDOUT_FILENO) != 0) fail_errno(name_, "cannot write");
    is_finished_ = true;
  }

  /// Whether stdout is an empty file that may also be read, as HDF5 requires.
  static bool is_possible() {
    struct stat info;
    return fstat(STDOUT_FILENO, &info) == 0 && S_ISREG(info.st_mode) && info.st_size == 0 &&
           (fcntl(STDOUT_FILENO, F_GETFL) & O_APPEND) == 0 && access(kOwnPath, R_OK | W_OK) == 0;
  }

 private:
  static constexpr const char* kOwnPath = "/dev/stdout";
  std::string name_;
  std::optional<Gathering> gathering_;
  bool is_finished_ = false;
};

/// Writes to one destination and to a file as well.
class KeepingSink : public FrameWriter::Sink {
 public:
  KeepingSink(std::unique_ptr<FrameWriter::Sink> main, std::unique_ptr<FrameWriter::Sink> kept)
      : main_(std::move(main)), kept_(std::move(kept)) {}
  void write(const TensorMap& frame, bool is_last) override {
    kept_->write(frame, is_last);
    main_->write(frame, is_last);
  }
  void finish() override {
    kept_->finish();  // first: who has read the whole stream finds it kept
    main_->finish();
  }

 private:
  std::unique_ptr<FrameWriter::Sink> main_, kept_;
};

}  // namespace

std::unique_ptr<FrameWriter::Sink> FrameWriter::Sink::open(const std::string& path,
                                                           const WriteOptions& options) {
  const std::string name = path == "-" ? "<stdout>" : escaped(path);
  reserve_standard_streams();
  use_hdf5();  // so that it is started here, and not by a thread that writes
  if (path != "-" && !is_special_file(path)) return std::make_unique<FileSink>(path, options, name);
  if (path == "-" && isatty(STDOUT_FILENO)) {
    fail<UsageError>("refusing to write binary tensors to the terminal: pipe them on or use -o FILE");
  }
  if (path == "-" && RedirectedSink::is_possible()) return std::make_unique<RedirectedSink>(options, name);
  // Closing a duplicate reports late errors and leaves stdout itself open.
  Descriptor output(path == "-" ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
                                : ::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (output.get() < 0) fail_errno(name, "cannot write");
  return std::make_unique<StreamSink>(std::move(output), options, name);
}

FrameWriter::FrameWriter(const std::string& path, WriteOptions options, const std::string& keep)
    : ahead_(options.ahead), sink_(Sink::open(path, options)) {
  if (keep.empty()) return;
  if (keep == "-" || is_special_file(keep))
    fail<UsageError>("--keep ", escaped(keep), ": wanted a file; -o writes to pipes");
  sink_ = std::make_unique<KeepingSink>(std::move(sink_), Sink::open(keep, options));
}
FrameWriter::~FrameWriter() = default;
FrameWriter::FrameWriter(FrameWriter&&) noexcept = default;

void FrameWriter::await_written() {
  if (const auto written = std::move(written_)) written->wait();
}

void FrameWriter::write(const TensorMap& frame, bool is_last) {
  await_written();
  sink_->write(frame, is_last);
}

void FrameWriter::write(TensorMap&& frame) {
  if (!ahead_) return write(frame, false);
  await_written();
  auto given = std::make_shared<TensorMap>(std::move(frame));
  written_ = std::make_unique<Aside>([given, sink = sink_.get()] {
    sink->write(*given, false);
    *given = {};  // now, not when the next frame comes
  });
}

void FrameWriter::finish() {
  await_written();
  sink_->finish();
  sink_.reset();
}

void write_map(const std::string& path, const TensorMap& map, WriteOptions options) {
  FrameWriter writer(path, std::move(options));
  writer.write(map, true);
  writer.finish();
}

}  // namespace heed::io
