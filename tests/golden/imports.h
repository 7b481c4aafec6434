// Models of other programs in testdata/import, and what was given to them (stages/self_test.h has the names).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/foreign/array_file.h"
#include "tensor/packing.h"
#include "tensor/tensor_map.h"

namespace heed::golden {

inline std::string folder_of(const std::string& name) {
  return std::string(HEED_TESTDATA) + "/import/" + name;
}

inline TensorMap read_arrays(const std::string& path) {
  const auto file = io::ArrayFile::open(path);
  TensorMap map;
  for (std::size_t i = 0; i < file->arrays().size(); ++i) map.add(file->arrays()[i].name, file->read(i));
  return map;
}

inline std::vector<std::int32_t> whole_numbers(const Tensor& tensor) {
  const auto values = tensor.values<std::int64_t>();
  return {values.begin(), values.end()};
}

/// The tokens of <prefix>ids where <prefix>mask is not 0, of ids with their types if there are any.
inline PackedTokens read_tokens(const TensorMap& given, const std::string& prefix = "") {
  const auto ids = whole_numbers(given.at(prefix + "ids")), mask = whole_numbers(given.at(prefix + "mask"));
  const auto types = prefix.empty() && given.contains("types") ? whole_numbers(given.at("types"))
                                                               : std::vector<std::int32_t>();
  const auto width = static_cast<std::size_t>(given.at(prefix + "ids").shape()[1]);
  PackedTokens tokens;
  for (std::size_t row = 0; row < ids.size(); row += width) {
    std::vector<std::int32_t> sentence;
    for (std::size_t i = row; i < row + width; ++i) {
      if (mask[i] == 0) continue;
      sentence.push_back(ids[i]);
      if (!types.empty()) tokens.types.push_back(types[i]);
    }
    tokens.append(sentence);
  }
  return tokens;
}

}  // namespace heed::golden
