// What all tools that read frames do: they run a stage over them, claim them for a model, and count sentences.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "inspect/inspection.h"
#include "io/frame_stream.h"
#include "stages/frame_flow.h"
#include "text/line_reader.h"
#include "text/unknown_pieces.h"

namespace heed {

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

/// Help of the option --precision.
inline constexpr const char* kPrecisionHelp =
    "number format of products with the weights (Transformers only); bfloat16 and int8 are faster and less "
    "exact, and keys and values of the source are then bfloat16";

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

/// Runs a stage from `input` to the output on up to `threads` threads: `begin` returns the work on a frame, which is
/// written when that is finished. `inspect` selects what to record and edit; if it only lists names, these are printed
/// instead. `at_end` may still throw: the output is put in place after it.
void run_stage(std::optional<io::FrameReader> input, const StageFiles& files, const InspectionConfig& inspect,
               const LoadedModel& loaded, const Stages& stages, std::uint64_t seed, int threads,
               const Claim& claim,
               const std::function<std::unique_ptr<FrameWork>(TensorMap&, Inspection&)>& begin,
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
