// The loop of every tool that reads frames: read one, process it, write the result.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "inspect/inspection.h"
#include "io/frame_stream.h"
#include "text/line_reader.h"
#include "text/unknown_pieces.h"

namespace heed {

/// Checks a frame before it is processed; may throw. `name` is the input's, for messages.
using Claim = std::function<void(TensorMap& frame, const std::string& name)>;

/// Progress over the sentences of an input, and with --verbose a closing line.
class SentenceProgress {
 public:
  /// `total`: 0: not known.
  explicit SentenceProgress(std::int64_t total);
  void add(std::int64_t sentences);
  void finish();

 private:
  std::string speed() const;

  logging::Progress::Clock::time_point start_;
  std::int64_t done_ = 0;
  std::optional<logging::Progress> progress_;
};

/// Sentences of a frame; 0 when no tensor has that dimension.
std::int64_t sentences_of(const TensorMap& frame);

/// Passes every frame that `reader` has left to `claim`, to `stage`, whose errors get the input's name in
/// front, and to `write`. A SentenceError of either, counted in the frame, gets the sentence's number in its text,
/// from 1.
void for_each_frame(io::FrameReader& reader, const Claim& claim, const std::function<void(TensorMap&)>& stage,
                    const std::function<void(const TensorMap&)>& write);

/// Of the option --precision.
inline constexpr const char* kPrecisionHelp =
    "what products with the weights are computed from, of a Transformer: bfloat16 and int8 are faster and "
    "less exact";

/// What every tool that runs a stage of a model over frames is given.
struct StageFiles {
  std::vector<std::string> input{"-"};  ///< one after the other
  std::string output = "-", model;
  std::string keep;        ///< a file that the output's frames are gathered in; empty: none
  io::WriteOptions write;  ///< of every file that is written
  std::int64_t batch = 64;
  bool allow_nonfinite = false;
};

/// The process that reads the input, begun before the model is read. Nothing when `inspect` only lists names.
std::optional<io::FrameReader> begin_reading(const StageFiles& files, const InspectionConfig& inspect);

/// The same from `input` to output, which gets the frames as `stage` leaves them. `inspect` says what of the
/// stage to record and edit; with its `list` that is printed instead. `at_end` may still throw: the output is
/// put in place after it.
void run_stage(std::optional<io::FrameReader> input, const StageFiles& files, const InspectionConfig& inspect,
               const LoadedModel& loaded, const Stages& stages, std::uint64_t seed, const Claim& claim,
               const std::function<void(TensorMap&, Inspection&)>& stage,
               const std::function<void()>& at_end = {});

/// Throws Error when the frame lacks `group` ("embeddings") and is plainly the output of an earlier tool.
void expect_stage(const TensorMap& frame, const std::string& source, const std::string& group);

/// Throws Error when the frame says that it was made with another model; notes the model in it.
void claim_for_model(TensorMap& frame, const std::string& source, const LoadedModel& model,
                     const std::string& path);

/// A text file with one line per source sentence, as ids: whole translations with a final eos, or what they begin with.
class Targets {
 public:
  enum class Are { whole, beginnings };
  Targets(const std::string& path, const text::Tokenizer& tokenizer, Are are = Are::whole)
      : lines_(path), tokenizer_(tokenizer), unknown_(tokenizer), are_(are) {}

  /// The next `count` lines. Throws Error when there are fewer.
  std::vector<std::vector<std::int32_t>> next(std::int64_t count);
  /// Throws Error when lines are left. Says so when the vocabulary hardly knows the text.
  void expect_end();

 private:
  text::LineReader lines_;
  const text::Tokenizer& tokenizer_;
  text::UnknownPieces unknown_;
  Are are_;
  bool is_first_ = true;  ///< line
};

}  // namespace heed
