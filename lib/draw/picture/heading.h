// The margin, title and subtitle that all pictures share.
#pragma once

#include <string>

#include "draw/picture/painter.h"

namespace heed::draw {

inline constexpr double kMargin = 20;
inline constexpr TextStyle kSubtitle{10, {0x6b, 0x6b, 0x6b}};

/// The room that a title and a subtitle take, each of which may be empty.
Size heading_size(const std::string& title, const std::string& subtitle);

/// Draws them from `left` on, below the upper margin.
void draw_heading(const std::string& title, const std::string& subtitle, double left, Painter& painter);

}  // namespace heed::draw
