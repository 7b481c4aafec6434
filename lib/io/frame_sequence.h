// What several files, read one after the other, must have in common.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tensor/tensor_map.h"

namespace heed::io {

/// Checks that frames are consecutive parts of one text, or whole texts, and made alike; frames without
/// sentences are ignored.
class FrameSequence {
 public:
  /// `name`: of the frame's file, for messages; `begins`: the frame is the first of its stream or file. Throws
  /// Error.
  void add(const TensorMap& frame, const std::string& name, bool begins);

 private:
  void expect_place(std::int64_t begin, const std::string& name);
  void expect_alike(const Attributes& root, const std::string& name, bool is_part);

  std::string name_;  ///< of the last frame's file; empty: there was none
  std::map<std::string, std::string> seen_;
  std::int64_t end_ = 0;    ///< of the last frame
  bool begins_ = false;     ///< the present frame, or one without sentences before it
  bool has_parts_ = false;  ///< a file that does not begin its text
  bool has_texts_ = false;  ///< a second text
  bool has_warned_ = false;
};

}  // namespace heed::io
