#include <algorithm>
#include <optional>
#include <utility>

#include "base/paths.h"
#include "base/sentence_error.h"
#include "inspect/alignment.h"
#include "stages/decode_job.h"
#include "stages/frames.h"
#include "stages/lens.h"
#include "stages/predict.h"
#include "tensor/kernels.h"

namespace heed {
namespace {

class PredictJob final : public DecodeJob {
 public:
  PredictJob(const DecodeRequest& request, LoadedModel loaded)
      : DecodeJob(request, std::move(loaded)), n_best_(request.given("n-best") ? config_.n_best : 0) {
    if (!loaded_.model->documents)
      request.refuse({"attention"}, ": the model is of architecture ", loaded_.model->architecture,
                     ", which has no decoder and reads no documents");
    if (loaded_.model->classes && loaded_.model->classes->problem == ProblemType::regression)
      request.refuse({"n-best"}, ": the model's results are numbers, which have no ranking");
    request.refuse({"force", "prefix", "language", "saliency", "align", "sample", "beam", "length-penalty",
                    "max-length", "align-layer", "align-head", "align-gold"},
                   ": the model is of architecture ", loaded_.model->architecture, ", which has no decoder");
    if (paths_.models.size() > 1)
      fail<UsageError>("-m ", escaped(paths_.models[1]), ": the model is of architecture ",
                       loaded_.model->architecture,
                       ", which has no decoder, and only decoders can form an ensemble");
    if (!paths_.lens.empty()) expect_encoder_lens(*loaded_.model);
    open_output();
    if (!paths_.attention.empty()) attention_.emplace(paths_.attention, paths_.write);
    if (!paths_.lens.empty()) lens_.emplace(paths_.lens, paths_.write);
  }

 private:
  void read(const TensorMap& frame) override {
    const PackedStates memory = memory_of(frame, *loaded_.model, wanted_);
    if (of_tokens_) {
      tokens_ = text::sentence_ids(frame, loaded_.source);
      expect_lengths(tokens_, memory.rows);
    }
    inspection_.begin(frame, memory.rows);
    inspection_.start_trace();
    predictions_ =
        predict(loaded_, memory, tokens_, n_best_, threads_, &inspection_, attention_ ? &attended_ : nullptr);
    inspection_.end(frame);
    if (attention_) label_words(frame, memory.rows);
    if (lens_) {
      said_ = encoder_lens(loaded_, frame, memory.rows, filled_in(), threads_, wanted_);
      said_.attributes = frame.attributes;
    }
    if (wanted_ == Values::finite) expect_finite();
  }

  /// The sentences with their masks filled in.
  std::vector<Ids> filled_in() const {
    std::vector<Ids> words = tokens_;
    for (std::size_t s = 0; s < words.size(); ++s) {
      for (const Prediction& p : predictions_[s])
        words[s][static_cast<std::size_t>(p.position)] = p.ids.front();
    }
    return words;
  }

  void label_words(const TensorMap& frame, const Packing& words) {
    attended_.add("word_attention/key_token",
                  token_labels(pieces_of(frame, loaded_.source, words), "key", words.longest()));
    attended_.attributes = frame.attributes;
  }

  void expect_finite() const {
    for (std::size_t s = 0; s < predictions_.size(); ++s) {
      for (const Prediction& p : predictions_[s]) {
        if (!all_finite<float>(p.score))
          throw SentenceError(static_cast<std::int64_t>(s),
                              "a prediction is not finite: are its states too large? (--allow-nonfinite "
                              "lets it pass)");
      }
    }
  }

  void write(const TensorMap& frame) override {
    if (lines_) lines_->write(prediction_text(loaded_, predictions_, tokens_, n_best_, sentences_));
    if (tensors_) {
      TensorMap out = frame;
      out.merge(prediction_map(loaded_, predictions_));
      tensors_->write(std::move(out));
    }
    if (attention_) attention_->write(attended_);
    if (lens_) lens_->write(said_);
    sentences_ += std::ssize(predictions_);
  }

  void finish() override {
    DecodeJob::finish();
    if (attention_) attention_->finish();
    if (lens_) lens_->finish();
  }

  const std::int64_t n_best_;  ///< 0: not given
  /// Whether predictions are for single tokens: their words, or their classes.
  const bool of_tokens_ = !loaded_.model->classes || loaded_.model->classes->of_tokens();
  std::optional<io::FrameWriter> attention_, lens_;
  std::vector<Ids> tokens_;
  std::vector<std::vector<Prediction>> predictions_;
  TensorMap attended_, said_;
};

}  // namespace

std::unique_ptr<DecodeJob> predict_job(const DecodeRequest& request, LoadedModel loaded) {
  return std::make_unique<PredictJob>(request, std::move(loaded));
}

}  // namespace heed
