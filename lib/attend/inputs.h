// Where attention without a model finds its tensors: inside INPUT or in files of their own, read side by
// side, frame by frame.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attend/attend.h"
#include "io/frame_stream.h"

namespace heed {

/// "FILE:PATH", "FILE" of one array (one that exists and whose name has a suffix, or begins with / or .), or, inside INPUT,
/// "PATH".
struct TensorAddress {
  std::string file;  ///< empty: INPUT
  std::string path;  ///< without a leading slash; empty: the only array of `file`
};
/// Throws UsageError, naming the option, when no path is given.
TensorAddress tensor_address(const std::string& option, const std::string& text);

class AttendInputs {
 public:
  /// Opens INPUT, if it holds any of the tensors, and the files that config names; `batch` sentences at a
  /// time.
  AttendInputs(const AttendConfig& config, const std::vector<std::string>& input, std::int64_t batch);

  /// Sentences of the queries' file; 0: not known.
  std::int64_t sentences() const { return sources_[query_.source].reader->sentences(); }
  /// The next frame of every source; false at the end. A source whose tensors have rank 2 serves all frames.
  /// Throws Error when one source ends before another. The operands point into the sources until the next
  /// call.
  bool next(AttendOperands& operands);
  /// What INPUT holds, to be passed on; empty when INPUT is not read. The operands are gone afterwards.
  TensorMap take_rest();
  /// Whether these tensors belong to the sentences of INPUT's /tokens.
  bool query_has_tokens() const { return has_tokens(query_); }
  bool key_has_tokens() const { return has_tokens(key_) && !past_key_; }

 private:
  struct Source {
    std::vector<std::string> paths;
    std::unique_ptr<io::FrameReader> reader;
    TensorMap frame;
    bool shared = true;  ///< no tensor of it belongs to single sentences
    std::int64_t frames = 0;
  };
  struct Place {
    std::size_t source;
    std::string path;
  };

  Place place(const std::string& option, const std::string& text, const AttendConfig& config,
              std::int64_t batch);
  Operand operand(const Place& place) const;
  /// The path of the tensor in its source's frame.
  std::string path_of(const Place& place) const;
  bool has_tokens(const Place& place) const;
  bool belongs_to_sentences(const Place& place, std::size_t rank_without) const;

  std::vector<Source> sources_;
  std::vector<std::string> input_;
  Place query_, key_, value_;
  std::optional<Place> bias_, past_key_, past_value_;
  std::vector<Place> masks_;
};

}  // namespace heed
