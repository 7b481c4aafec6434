// Where attention without a model finds its tensors: in INPUT or in separate files, read in step, frame by
// frame.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attend/attend.h"
#include "io/frame_stream.h"

namespace heed {

/// "FILE:PATH"; "FILE" with a single array (an existing file whose name has a suffix, or begins with / or .);
/// or "PATH" within INPUT.
struct TensorAddress {
  std::string file;  ///< empty: INPUT
  std::string path;  ///< without a leading slash; empty: the only array of `file`
};
/// Throws UsageError, naming the option, when no path is given.
TensorAddress tensor_address(const std::string& option, const std::string& text);

class AttendInputs {
 public:
  /// Opens INPUT, if it holds any of the tensors, and the files named in the config; reads `batch` sentences
  /// at a time.
  AttendInputs(const AttendConfig& config, const std::vector<std::string>& input, std::int64_t batch);

  /// Number of sentences in the file of the queries; 0: unknown.
  std::int64_t sentences() const { return sources_[query_.source].reader->sentences(); }
  /// Reads the next frame of every source; false at the end. A source whose tensors have rank 2 is used for
  /// all frames. Throws Error if one source ends before another. The operands point into the sources until
  /// the next call.
  bool next(AttendOperands& operands);
  /// The rest of INPUT, to be passed on; empty if INPUT is not read. Invalidates the operands.
  TensorMap take_rest();
  /// Whether the tensor has one element per sentence of INPUT's /tokens.
  bool query_has_tokens() const { return has_tokens(query_); }
  bool key_has_tokens() const { return has_tokens(key_) && !past_key_; }

 private:
  struct Source {
    std::vector<std::string> paths;
    std::unique_ptr<io::FrameReader> reader;
    TensorMap frame;
    bool shared = true;  ///< none of its tensors has a dimension for sentences
    std::int64_t frames = 0;
  };
  struct Place {
    std::size_t source;
    std::string path;
  };

  /// The result of work(); its Errors end in the hint.
  template <class Work>
  decltype(auto) hinting(const Work& work) const;
  bool read(AttendOperands& operands);
  Place place(const std::string& option, const std::string& text, const AttendConfig& config,
              std::int64_t batch);
  Operand operand(const Place& place) const;
  /// The path of the tensor in its source's frame.
  std::string path_of(const Place& place) const;
  bool has_tokens(const Place& place) const;
  bool belongs_to_sentences(const Place& place, std::size_t rank_without) const;

  std::vector<Source> sources_;
  std::vector<std::string> input_;
  std::string hint_;  ///< a file that may have been meant by the name of a tensor; empty: none
  Place query_, key_, value_;
  std::optional<Place> bias_, past_key_, past_value_;
  std::vector<Place> masks_;
};

}  // namespace heed
