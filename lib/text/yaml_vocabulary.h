// Vocabularies as written by Marian, vocab.yml: a piece and its id on each line, "piece": 7, or for a long
// piece on two lines:
//   ? "piece"
//   : 7
// Pieces are plain, or quoted as in YAML. Read line by line, because general YAML readers fail on pieces such
// as ": ".
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace heed::text {

/// In the order of the lines. Throws Error naming the line.
std::vector<std::pair<std::string, std::int32_t>> parse_yaml_vocabulary(const std::vector<std::string>& lines,
                                                                        const std::string& name);

}  // namespace heed::text
