#include "draw/picture/heading.h"

#include <algorithm>

#include "draw/print/printable.h"

namespace heed::draw {
namespace {

constexpr TextStyle kTitle{14, {0x11, 0x11, 0x11}, true};

}  // namespace

Size heading_size(const std::string& title, const std::string& subtitle) {
  return {
      std::max(text_width(printable(title, 120), kTitle), text_width(printable(subtitle, 160), kSubtitle)),
      (title.empty() ? 0.0 : 21) + (subtitle.empty() ? 0.0 : 17)};
}

void draw_heading(const std::string& title, const std::string& subtitle, double left, Painter& painter) {
  painter.text(printable(title, 120), left, kMargin + 7, kTitle);
  painter.text(printable(subtitle, 160), left, kMargin + (title.empty() ? 7 : 27), kSubtitle);
}

}  // namespace heed::draw
