// How tensor maps are read and written.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace heed::io {

/// Whether `path` is `place` or within that group.
inline bool is_at_or_below(const std::string& path, const std::string& place) {
  return path.starts_with(place) && (path.size() == place.size() || path[place.size()] == '/');
}

struct ReadOptions {
  std::int64_t batch = 64;  ///< maximal number of sentences per frame
  /// Read only tensors at or below these paths ("model/vocabulary"); empty: all.
  std::vector<std::string> only = {};
  bool as_stored = false;  ///< tensors in the order in which they were written instead of by name

  bool wants(const std::string& path) const {
    return only.empty() ||
           std::ranges::any_of(only, [&](const std::string& place) { return is_at_or_below(path, place); });
  }
};

struct WriteOptions {
  std::string command;  ///< appended to the root attribute `history`, if not empty
  bool scales = true;   ///< attach the dimension scales (netCDF's named dimensions), which PyTables refuses
  bool ahead = false;   ///< frames that are given away are written while the caller goes on
};

}  // namespace heed::io
