#include "nn/named_values.h"

namespace heed {

std::vector<Place> places_of(const Packing& rows) {
  std::vector<Place> places;
  places.reserve(static_cast<std::size_t>(rows.rows()));
  for (std::int64_t s = 0; s < rows.sentences(); ++s) {
    for (std::int64_t i = 0; i < rows.length(s); ++i) places.push_back({s, i});
  }
  return places;
}

std::vector<Place> StepRows::places() const {
  std::vector<Place> places;
  places.reserve(sentences.size());
  for (std::size_t i = 0; i < sentences.size(); ++i) places.push_back({sentences[i], step_of(i)});
  return places;
}

}  // namespace heed
