// How tensor maps are read and written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heed::io {

struct ReadOptions {
  std::int64_t batch = 64;  ///< at most so many sentences per frame
  /// Read only tensors at or below these paths ("model/vocabulary"); empty: all.
  std::vector<std::string> only = {};
};

struct WriteOptions {
  std::string command;  ///< appended to the root attribute `history`, if not empty
  bool scales = true;   ///< attach the dimension scales (netCDF's named dimensions), which PyTables refuses
};

}  // namespace heed::io
