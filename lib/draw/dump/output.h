// Where a drawing goes: into picture files, onto the terminal, or both.
#pragma once

#include <functional>
#include <string>

#include "draw/dump/dump.h"
#include "draw/picture/painter.h"
#include "draw/terminal/terminal.h"

namespace heed::draw {

/// One thing to look at, drawn when it is known how.
struct Drawing {
  std::function<std::string(PictureFormat)> picture;
  std::function<std::string(const Terminal&)> text;
};

bool wants_pictures(const DumpOptions& options);
bool is_picture(const std::string& path);

/// Writes the pictures that are asked for; as text when none is, or with --heatmap.
void write_drawing(const DumpOptions& options, const Drawing& drawing);

/// Whole text to `path`.
void write_text(const std::string& path, const std::string& text);

}  // namespace heed::draw
