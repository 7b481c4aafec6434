// Colour maps: a number between 0 and 1 becomes a colour.
// viridis and magma are perceptually uniform and safe for colour-blind readers (S. van der Walt and N. Smith,
// tables released under CC0); blue-red is for values of both signs, gray prints well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace heed::draw {

struct Rgb {
  std::uint8_t red = 0, green = 0, blue = 0;
  bool operator==(const Rgb&) const = default;
};

/// Perceived brightness between 0 (black) and 1 (white).
double luminance(Rgb color);
/// A readable colour for text on `background`: near black or white.
Rgb ink_on(Rgb background);

class Colormap {
 public:
  /// The map of that name; throws UsageError that lists the names.
  static const Colormap& named(const std::string& name);
  static std::vector<std::string> names();

  /// The colour at `t`, cut to [0, 1]. NaN gets missing().
  Rgb at(double t) const;
  /// The gray for NaN, outside every map.
  static Rgb missing() { return {0xd5, 0xd5, 0xd5}; }

 private:
  explicit Colormap(std::vector<Rgb> table) : table_(std::move(table)) {}
  static const std::vector<std::pair<std::string, Colormap>>& all();

  std::vector<Rgb> table_;
};

/// Colours of series, distinguishable by colour-blind readers and of different brightness; they repeat.
Rgb series_color(std::size_t number);

}  // namespace heed::draw
