// The loop of every tool that reads frames: reads one, processes it, writes the result.
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

/// Progress over the sentences of an input, with a summary line under --verbose.
class SentenceProgress {
 public:
  /// `total` 0: unknown.
  explicit SentenceProgress(std::int64_t total);
  void add(std::int64_t sentences);
  void finish();

 private:
  std::string speed() const;

  logging::Progress::Clock::time_point start_;
  std::int64_t done_ = 0;
  std::optional<logging::Progress> progress_;
};

/// Passes every remaining frame of `reader` to `claim`, to `stage`, whose errors get the input's name as
/// prefix, and to `write`, which may take it away. A SentenceError of either, counted in the frame, is reported with the sentence's
/// number in the text, from 1.
void for_each_frame(io::FrameReader& reader, const Claim& claim, const std::function<void(TensorMap&)>& stage,
                    const std::function<void(TensorMap&)>& write);

/// Help of the option --precision.
inline constexpr const char* kPrecisionHelp =
    "what products with the weights are computed from, of a Transformer: bfloat16 and int8 are faster and "
    "less exact, and keys and values of the source are then bfloat16";

/// The files and options of a tool that runs a stage of a model over frames.
struct StageFiles {
  std::vector<std::string> input{"-"};  ///< read one after the other
  std::string output = "-", model;
  std::string keep;        ///< a file that also gathers the output's frames; empty: none
  io::WriteOptions write;  ///< for every written file
  std::int64_t batch = 64;
  bool allow_nonfinite = false;
};

/// Starts the process that reads the input, before the model is loaded. Nothing if `inspect` only lists
/// names.
std::optional<io::FrameReader> begin_reading(const StageFiles& files, const InspectionConfig& inspect);

/// Runs a stage from `input` to the output, which receives the frames as `stage` leaves them. `inspect`
/// selects what to record and edit; if it only lists names, these are printed instead. `at_end` may still
/// throw: the output is put in place after it.
void run_stage(std::optional<io::FrameReader> input, const StageFiles& files, const InspectionConfig& inspect,
               const LoadedModel& loaded, const Stages& stages, std::uint64_t seed, const Claim& claim,
               const std::function<void(TensorMap&, Inspection&)>& stage,
               const std::function<void()>& at_end = {});

/// Throws Error if the frame lacks `group` ("embeddings") and is clearly the output of an earlier tool.
void expect_stage(const TensorMap& frame, const std::string& source, const std::string& group);

/// Throws Error if the frame states that it was made with another model; records the model in it.
void claim_for_model(TensorMap& frame, const std::string& source, const LoadedModel& model,
                     const std::string& path);

/// A text file with one line per source sentence, as ids: whole translations with a final eos, or their
/// beginnings.
class Targets {
 public:
  enum class Are { whole, beginnings };
  Targets(const std::string& path, const text::Tokenizer& tokenizer, Are are = Are::whole)
      : lines_(path), tokenizer_(tokenizer), unknown_(tokenizer), are_(are) {}

  /// The next `count` lines. Throws Error if there are fewer.
  std::vector<std::vector<std::int32_t>> next(std::int64_t count);
  /// Throws Error if lines are left. Warns if much of the text is unknown to the vocabulary.
  void expect_end();

 private:
  text::LineReader lines_;
  const text::Tokenizer& tokenizer_;
  text::UnknownPieces unknown_;
  Are are_;
  bool is_first_ = true;  ///< no line has been read
};

}  // namespace heed
