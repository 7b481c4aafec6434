#include "draw/chart/top_bars.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "draw/print/printable.h"
#include "draw/select/statistics.h"
#include "draw/terminal/terminal.h"

namespace heed::draw {
namespace {

constexpr std::size_t kMostSteps = 400;
constexpr double kLine = 15;
constexpr double kBar = 92;
constexpr double kGap = 26;  // between steps
constexpr Rgb kTrack{0xee, 0xee, 0xee};
constexpr TextStyle kCaption{10.5, {0x22, 0x22, 0x22}, true};
constexpr TextStyle kLabel{10.5, {0x22, 0x22, 0x22}};
constexpr TextStyle kBarValue{9.5, {0x55, 0x55, 0x55}};

struct Plan {
  std::size_t across = 1, lines = 0;
  double label = 0, value = 0, step_width = 0, step_height = 0, top = 0;
  Size size;
};

std::string scale_text(const TopBars& bars) {
  return concat("bars from ", rounded(bars.range.low), " to ", rounded(bars.range.high),
                bars.quantity.empty() ? "" : ": ", printable(bars.quantity, 60));
}

/// Three digits; of shares of 1 three places.
std::string value_text(const TopBars& bars, double value) {
  const bool is_share = bars.range.low == 0 && bars.range.high == 1;
  return is_share ? rounded(std::round(value * 1000) / 1000, 3) : rounded(value, 3);
}

void check(const TopBars& bars) {
  if (bars.steps.empty()) fail("there is nothing to draw: the slice has no values");
  if (bars.steps.size() > kMostSteps) {
    fail("bars of ", bars.steps.size(), " places are too many (at most ", kMostSteps,
         "): draw a part of them (--slice)");
  }
}

Plan plan_of(const TopBars& bars) {
  check(bars);
  Plan plan;
  double caption = 0;
  for (const auto& step : bars.steps) {
    caption = std::max(caption, text_width(printable(step.caption, 40), kCaption));
    plan.lines = std::max(plan.lines, step.bars.size());
    for (const auto& bar : step.bars) {
      plan.label = std::max(plan.label, text_width(printable(bar.label, 20), kLabel));
      plan.value = std::max(plan.value, text_width(value_text(bars, bar.value), kBarValue));
    }
  }
  plan.step_width = std::max(plan.label + 8 + kBar + 6 + plan.value, caption);
  plan.step_height = 18 + kLine * static_cast<double>(plan.lines);
  const auto fitting = static_cast<std::size_t>((760 + kGap) / (plan.step_width + kGap));
  plan.across = std::clamp<std::size_t>(fitting, 1, bars.steps.size());
  const std::size_t down = (bars.steps.size() + plan.across - 1) / plan.across;
  const Size heading = heading_size(bars.title, bars.subtitle);
  plan.top = kMargin + heading.height + 24;
  const double width = (plan.step_width + kGap) * static_cast<double>(plan.across) - kGap;
  const double texts = std::max(heading.width, text_width(scale_text(bars), kSubtitle));
  plan.size = {std::ceil(2 * kMargin + std::max(width, texts)),
               std::ceil(plan.top + (plan.step_height + 14) * static_cast<double>(down) - 14 + kMargin)};
  return plan;
}

double share(const TopBars& bars, double value) {
  return std::clamp(bars.range.position(value), 0.0, 1.0);
}

void draw_step(const TopBars& bars, const Plan& plan, const TopBars::Step& step, Painter& painter) {
  painter.text(printable(step.caption, 40), 0, 6, kCaption);
  for (std::size_t i = 0; i < step.bars.size(); ++i) {
    const double y = 18 + kLine * (static_cast<double>(i) + 0.5), left = plan.label + 8;
    painter.text(printable(step.bars[i].label, 20), plan.label, y, kLabel, Anchor::end);
    painter.fill({left, y - 5, kBar, 10}, kTrack);
    painter.fill({left, y - 5, kBar * share(bars, step.bars[i].value), 10}, series_color(0));
    painter.text(value_text(bars, step.bars[i].value), left + kBar + 6, y, kBarValue);
  }
}

}  // namespace

TopBars top_bars_of(const Slice& slice, std::int64_t count) {
  TopBars bars;
  std::vector<double> all;
  for (const Strongest& row : strongest(slice, count)) {
    TopBars::Step& step = bars.steps.emplace_back();
    for (std::size_t axis = 0; axis < row.at.size(); ++axis) {
      const Axis& of = slice.axes[axis];
      const std::string position = std::to_string(of.first + row.at[axis]);
      step.caption += concat(axis ? ", " : "", of.name, " ", position);
      if (!of.labels.empty()) step.caption += " (" + of.name_at(row.at[axis]) + ")";
    }
    for (const auto& [index, value] : row.entries) {
      step.bars.push_back({slice.axes.back().name_at(index), value});
      all.push_back(value);
    }
  }
  bars.range = natural_range(all);
  return bars;
}

std::string draw_top_bars(const TopBars& bars, PictureFormat format) {
  const Plan plan = plan_of(bars);
  return paint(format, plan.size, [&](Painter& painter) {
    draw_heading(bars.title, bars.subtitle, kMargin, painter);
    painter.text(scale_text(bars), kMargin, plan.top - 17, kSubtitle);
    for (std::size_t i = 0; i < bars.steps.size(); ++i) {
      const Point at{kMargin + (plan.step_width + kGap) * static_cast<double>(i % plan.across),
                     plan.top + (plan.step_height + 14) * static_cast<double>(i / plan.across)};
      painter.placed(at, 1, [&] { draw_step(bars, plan, bars.steps[i], painter); });
    }
  });
}

std::string draw_on_terminal(const TopBars& bars, const Terminal& terminal) {
  check(bars);
  std::vector<std::string> labels;
  for (const auto& step : bars.steps) {
    for (const auto& bar : step.bars) labels.push_back(printable(bar.label));
  }
  const int left = std::min(widest(labels), terminal.width / 3);
  const int room = std::max(terminal.width - left - 12, 1);
  std::string out = heading_lines(bars.title, bars.subtitle, terminal.width);
  for (const auto& step : bars.steps) {
    if (!step.caption.empty()) out += cut_line(printable(step.caption, 200), terminal.width);
    for (const auto& [label, value] : step.bars) {
      const std::string bar = bar_of(share(bars, value) * room, terminal.colors);
      out += fit(printable(label), left, true) + " " + fit(value_text(bars, value), 8, true) + "  " +
             colored(bar, series_color(0), terminal.colors);
      trim_right(out);
      out += "\n";
    }
  }
  return out + cut_line(scale_text(bars), terminal.width);
}

}  // namespace heed::draw
