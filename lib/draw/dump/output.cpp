#include "draw/dump/output.h"

#include <unistd.h>

#include "base/error.h"
#include "io/atomic_file.h"
#include "io/text_writer.h"

namespace heed::draw {
namespace {

void write_picture(const Drawing& drawing, const std::string& path, PictureFormat format) {
  if (path.empty()) return;
  if (path == "-" && isatty(STDOUT_FILENO) == 1) {
    fail<UsageError>("a picture is binary and stdout is a terminal: redirect it, or use --heatmap");
  }
  io::write_file_atomically(path, drawing.picture(format));
}

}  // namespace

bool wants_pictures(const DumpOptions& o) {
  return !o.png.empty() || !o.svg.empty() || !o.pdf.empty();
}

bool is_picture(const std::string& path) {
  return path.ends_with(".png") || path.ends_with(".svg") || path.ends_with(".pdf");
}

void write_drawing(const DumpOptions& options, const Drawing& drawing) {
  write_picture(drawing, options.png, PictureFormat::png);
  write_picture(drawing, options.svg, PictureFormat::svg);
  write_picture(drawing, options.pdf, PictureFormat::pdf);
  if (wants_pictures(options) && !options.heatmap) return;
  write_text(is_picture(options.output) ? "-" : options.output, drawing.text(detect_terminal(options.color)));
}

void write_text(const std::string& path, const std::string& text) {
  io::TextWriter output(path);
  output.write(text);
  output.finish();
}

}  // namespace heed::draw
