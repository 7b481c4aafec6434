#include "cli/text_output.h"

#include <fcntl.h>

#include <iostream>
#include <optional>

#include "base/error.h"
#include "io/atomic_file.h"

namespace heed::cli {
namespace {

constexpr std::size_t buffer_bytes = 1 << 16;

}  // namespace

/// One of: a file, a device or pipe by name, stdout (neither).
struct TextOutput::Target {
  std::optional<io::AtomicFile> file;
  std::optional<io::Descriptor> special;
  std::string name;
};

TextOutput::TextOutput(const std::string& path) : target_(std::make_unique<Target>()) {
  target_->name = escaped(path);
  if (path == "-") return;
  if (io::is_special_file(path)) {
    target_->special.emplace(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (target_->special->get() < 0) io::fail_errno(target_->name, "cannot write");
  } else {
    target_->file.emplace(path);
  }
}

TextOutput::~TextOutput() = default;

void TextOutput::line(std::string_view text) {
  buffer_ += text;
  buffer_ += '\n';
  if (buffer_.size() >= buffer_bytes) flush();
}

void TextOutput::flush() {
  if (target_->file) {
    target_->file->write(buffer_);
  } else if (target_->special) {
    io::write_bytes(target_->special->get(), std::as_bytes(std::span(buffer_)), target_->name);
  } else {
    (std::cout << buffer_).flush();  // run_tool turns a failure into its message
  }
  buffer_.clear();
}

void TextOutput::finish() {
  flush();
  if (target_->file) target_->file->commit();
  if (target_->special) target_->special->close(target_->name);
}

}  // namespace heed::cli
