#include "stages/decode_job.h"

#include <utility>

#include "base/choice.h"
#include "base/sentence_error.h"
#include "io/provenance.h"
#include "stages/frames.h"

namespace heed {

Precision precision_of(const DecodeConfig& config) {
  return chosen<Precision>("--precision", kPrecisions, config.precision);
}

DecodeJob::DecodeJob(const DecodeRequest& request, LoadedModel loaded)
    : request_(request),
      config_(request.config),
      paths_(request.paths),
      threads_(request.threads),
      loaded_(std::move(loaded)),
      wanted_(values_wanted(config_.allow_nonfinite)),
      format_(chosen<Format>("--format", kDecodeFormats, config_.format)),
      inspection_(request.inspect.values, loaded_, decoder_stages(*loaded_.model), paths_.write,
                  request.seed) {}

void DecodeJob::run(io::FrameReader input) {
  input.set_batch(sentences_read());
  input.set_only(tensors_read());
  run_frames(input, [&](TensorMap& frame, const std::string& name) {
    if (!std::exchange(has_begun_, true)) sentences_ = io::first_sentence_of(frame.attributes, name);
    expect_stage(frame, name, loaded_.model->encoder ? "encoder" : "embeddings");
    claim_for_model(frame, name, loaded_, request_.model());
    check(frame, name);
  });
  if (tensors_) tensors_->await_written();
  finish();
}

void DecodeJob::run_frames(io::FrameReader& input, const Claim& claim) {
  for_each_frame(
      input, claim, [&](TensorMap& frame) { read(frame); }, [&](const TensorMap& frame) { write(frame); });
}

void DecodeJob::open_output() {
  if (format_ == Format::h5) return void(tensors_.emplace(paths_.output, paths_.write, paths_.keep));
  lines_.emplace(paths_.output);
  if (!paths_.keep.empty()) tensors_.emplace(paths_.keep, paths_.write);
}

void DecodeJob::finish() {
  inspection_.finish();
  if (lines_) lines_->finish();
  if (tensors_) tensors_->finish();
}

void expect_lengths(const std::vector<Ids>& tokens, const Packing& rows) {
  if (std::ssize(tokens) != rows.sentences())
    fail("/tokens has ", tokens.size(), " sentences, what is decoded has ", rows.sentences());
  for (std::int64_t s = 0; s < rows.sentences(); ++s) {
    const std::size_t length = tokens[static_cast<std::size_t>(s)].size();
    if (std::cmp_not_equal(length, rows.length(s))) {
      fail("/tokens/length[", s, "] = ", length, ", but the states of that sentence are ", rows.length(s),
           ": are they of the same text?");
    }
  }
}

}  // namespace heed
