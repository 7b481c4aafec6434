// The top values at every position of a slice as bars, such as the most likely words at every decoder step.
#pragma once

#include <string>
#include <vector>

#include "draw/picture/colormap.h"
#include "draw/picture/painter.h"
#include "draw/select/slice.h"
#include "draw/select/value_range.h"
#include "draw/terminal/terminal.h"

namespace heed::draw {

struct TopBars {
  struct Bar {
    std::string label;
    double value = 0;
  };
  struct Step {
    std::string caption;
    std::vector<Bar> bars;
  };
  std::string title, subtitle;
  std::string quantity;  ///< what the bars measure
  std::vector<Step> steps;
  Range range;  ///< the values of an empty and a full bar
};

/// The `count` largest values along the last dimension at each position of the others.
TopBars top_bars_of(const Slice& slice, std::int64_t count);

/// Throws Error if there is no step, or more than 400.
std::string draw_top_bars(const TopBars& bars, PictureFormat format);
std::string draw_on_terminal(const TopBars& bars, const Terminal& terminal);

}  // namespace heed::draw
