// Writes drawings to picture files, the terminal, or both.
#pragma once

#include <functional>
#include <string>

#include "draw/dump/dump.h"
#include "draw/picture/painter.h"
#include "draw/terminal/terminal.h"

namespace heed::draw {

/// A drawing in both kinds of output.
struct Drawing {
  std::function<std::string(PictureFormat)> picture;
  std::function<std::string(const Terminal&)> text;
};

bool wants_pictures(const DumpOptions& options);
bool is_picture(const std::string& path);

/// Writes the requested pictures; text when there are none, or with --heatmap.
void write_drawing(const DumpOptions& options, const Drawing& drawing);

/// Writes a whole file; - is stdout.
void write_text(const std::string& path, const std::string& text);

}  // namespace heed::draw
