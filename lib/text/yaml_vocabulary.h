// Vocabularies as Marian writes them, vocab.yml: a piece and its id on each line, "piece": 7, or, of a long piece, on two:
//   ? "piece"
//   : 7
// Pieces are plain, or in quotes as in YAML. Read line by line, as other readers of YAML stumble over such pieces as ": ".
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
