#include "io/text_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <span>

#include "base/error.h"

namespace heed::io {

TextWriter::TextWriter(const std::string& path) : name_(path == "-" ? "<stdout>" : escaped(path)) {
  reserve_standard_streams();
  if (path != "-" && !is_special_file(path)) {
    file_ = std::make_unique<AtomicFile>(path);
    return;
  }
  stream_ = Descriptor(path == "-" ? dup(STDOUT_FILENO) : open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (stream_.get() < 0) fail_errno(name_, "cannot write");
}

void TextWriter::write(std::string_view text) {
  if (file_) {
    file_->write(text);
  } else {
    write_bytes(stream_.get(), std::as_bytes(std::span(text)), name_);
  }
}

void TextWriter::finish() {
  if (file_) {
    file_->commit();
  } else {
    stream_.close(name_);
  }
}

void write_file(const std::string& path, std::string_view bytes) {
  TextWriter output(path);
  output.write(bytes);
  output.finish();
}

}  // namespace heed::io
