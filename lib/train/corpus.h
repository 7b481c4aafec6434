// Parallel text as token ids, held in memory: 29,000 sentence pairs take a few megabytes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace heed {

using TokenIds = std::vector<std::int32_t>;

struct ParallelCorpus {
  std::vector<TokenIds> source, target;  ///< each with its final eos
  std::vector<std::string> reference;    ///< the target lines of the pairs kept, as they stand in the file
  std::string source_digest, target_digest;  ///< SHA-256 of the lines read
  std::int64_t skipped_empty = 0, skipped_long = 0;

  std::int64_t size() const { return static_cast<std::int64_t>(source.size()); }
  std::int64_t target_tokens() const;
};

/// A line's ids, without eos.
using Encoder = std::function<TokenIds(const std::string& line)>;

/// So many ids (eos counted) a side may have; 0: any number.
struct LongestSides {
  std::int64_t source = 0, target = 0;
};

/// Reads two files whose lines belong together. Pairs with an empty side or a longer side than `longest`
/// allows are left out and counted. Throws Error when the numbers of lines
/// differ, and when no pair is left.
ParallelCorpus read_parallel_corpus(const std::string& source_path, const std::string& target_path,
                                    const Encoder& encode_source, const Encoder& encode_target,
                                    const LongestSides& longest);
/// "more than 50 source or 80 target tokens", for messages.
std::string describe(const LongestSides& longest);

}  // namespace heed
