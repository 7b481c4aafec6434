// What `decode` does with each frame, for any kind of model: a job reads frames and writes lines or tensors.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/text_writer.h"
#include "stages/decode.h"
#include "stages/frame_flow.h"
#include "stages/results.h"

namespace heed {

/// The request of a run.
struct DecodeRequest {
  const DecodeConfig& config;
  const DecodePaths& paths;
  const DecodeInspection& inspect;
  std::uint64_t seed;
  int threads;
  const std::function<bool(const std::string& option)>& given;
  const std::string& model() const { return paths.models.front(); }

  /// Throws UsageError, with the reason, if one of the options was given.
  template <class... Why>
  void refuse(std::initializer_list<const char*> options, const Why&... why) const {
    for (const char* option : options) {
      if (given(option)) fail<UsageError>("--", option, why...);
    }
  }
};

/// Reads frames, writes lines or tensors.
class DecodeJob {
 public:
  /// The request must outlive the job.
  DecodeJob(const DecodeRequest& request, LoadedModel loaded);
  virtual ~DecodeJob() = default;

  void run(io::FrameReader input);

 protected:
  enum class Format { text, h5 };

  void open_output();
  /// Number of sentences read together from a file.
  virtual std::int64_t sentences_read() const { return config_.batch; }
  /// The tensors that are needed of a frame; empty: all.
  virtual std::vector<std::string> tensors_read() const { return {}; }
  virtual void check(const TensorMap&, const std::string&) {}
  /// Passes the frames to `claim`, read() and write(), one after the other. A job that overrides it may compute several
  /// at a time.
  virtual void run_frames(io::FrameReader& input, const Claim& claim);
  /// Errors thrown here get the input's name as prefix.
  virtual void read(const TensorMap& frame) = 0;
  virtual void write(const TensorMap& frame) = 0;
  virtual void finish();

  const DecodeRequest& request_;
  const DecodeConfig& config_;
  const DecodePaths& paths_;
  int threads_;
  LoadedModel loaded_;
  Values wanted_;
  Format format_;
  Inspection inspection_;
  std::optional<io::TextWriter> lines_;
  std::optional<io::FrameWriter> tensors_;
  bool has_begun_ = false;
  std::int64_t sentences_ = 0;  ///< of the text before the frame
};

/// The parsed option --precision.
Precision precision_of(const DecodeConfig& config);

/// Throws Error unless `tokens` match these rows.
void expect_lengths(const std::vector<Ids>& tokens, const Packing& rows);

/// An encoder alone: classes or masked words.
std::unique_ptr<DecodeJob> predict_job(const DecodeRequest& request, LoadedModel loaded);
/// A decoder, alone or in a pair: translations, continuations, and scores of given ones. `usual`: the model's
/// search settings.
std::unique_ptr<DecodeJob> translate_job(const DecodeRequest& request, LoadedModel loaded,
                                         const SearchSettings& usual);

}  // namespace heed
