// Given translations, read in parallel with the frames of their source sentences.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "text/line_reader.h"
#include "text/tokenizer.h"

namespace heed {

/// A text file with one line per source sentence, as ids with a final eos.
class Targets {
 public:
  Targets(const std::string& path, const text::Tokenizer& tokenizer) : lines_(path), tokenizer_(tokenizer) {}

  /// The next `count` lines. Throws Error when there are fewer.
  std::vector<std::vector<std::int32_t>> next(std::int64_t count) {
    std::vector<std::vector<std::int32_t>> ids;
    std::string line;
    for (std::int64_t i = 0; i < count; ++i) {
      if (!lines_.next(line))
        fail(lines_.name(), ": has ", lines_.line_number(), " lines, the input has more sentences");
      ids.push_back(tokenizer_.with_eos(line));
    }
    return ids;
  }
  /// Throws Error when lines are left.
  void expect_end() {
    std::string line;
    if (lines_.next(line)) fail(lines_.name(), ": has more lines than the input has sentences");
  }

 private:
  text::LineReader lines_;
  const text::Tokenizer& tokenizer_;
};

}  // namespace heed
