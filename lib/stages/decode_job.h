// What `decode` does with each frame, whatever the model's last part is: a job reads frames and writes lines or tensors.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/text_writer.h"
#include "stages/decode.h"
#include "stages/results.h"

namespace heed {

/// What a run is asked for.
struct DecodeRequest {
  const DecodeConfig& config;
  const DecodePaths& paths;
  const DecodeInspection& inspect;
  std::uint64_t seed;
  int threads;
  const std::function<bool(const std::string& option)>& given;
  const std::string& model() const { return paths.models.front(); }

  /// Throws UsageError, with the reason, when one of the options was given.
  template <class... Why>
  void refuse(std::initializer_list<const char*> options, const Why&... why) const {
    for (const char* option : options) {
      if (given(option)) fail<UsageError>("--", option, why...);
    }
  }
};

/// Frames come in, lines or tensors go out.
class DecodeJob {
 public:
  /// What is asked for must outlive the job.
  DecodeJob(const DecodeRequest& request, LoadedModel loaded);
  virtual ~DecodeJob() = default;

  void run(io::FrameReader input);

 protected:
  enum class Format { text, h5 };

  void open_output();
  /// Sentences that are read together from a file.
  virtual std::int64_t sentences_read() const { return config_.batch; }
  virtual void check(const TensorMap&, const std::string&) {}
  /// Errors in here get the input's name in front.
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

/// Of the option --precision.
Precision precision_of(const DecodeConfig& config);

/// Throws Error unless `tokens` are what these rows are of.
void expect_lengths(const std::vector<Ids>& tokens, const Packing& rows);

/// An encoder alone: classes or masked words.
std::unique_ptr<DecodeJob> predict_job(const DecodeRequest& request, LoadedModel loaded);
/// A decoder, alone or of a pair: translations, continuations, and scores of given ones. `usual`: how the model is searched.
std::unique_ptr<DecodeJob> translate_job(const DecodeRequest& request, LoadedModel loaded,
                                         const SearchSettings& usual);

}  // namespace heed
