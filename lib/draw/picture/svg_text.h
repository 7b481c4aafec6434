// Text in SVG. cairo writes letters as outlines, which cannot be searched, copied or read aloud; so the text
// is added a second time, invisibly.
#pragma once

#include <string>
#include <vector>

namespace heed::draw {

struct PlacedText {
  std::string text;
  double x = 0, y = 0;  ///< start of the baseline
  double size = 10, width = 0;
  double degrees = 0;  ///< turned anticlockwise
};

/// `svg` with the texts in it, transparent, in the order of `texts`.
std::string with_text(std::string svg, const std::vector<PlacedText>& texts);

}  // namespace heed::draw
