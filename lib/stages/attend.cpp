#include "stages/attend.h"

#include <optional>
#include <utility>

#include "attend/attention_group.h"
#include "attend/inputs.h"
#include "base/sentence_error.h"
#include "io/provenance.h"
#include "stages/attend_layer.h"
#include "text/token_map.h"

namespace heed {

namespace {

std::int64_t texts_in(const std::string& source, const TensorMap& frame) {
  for (const char* path : {"encoder/length", "embeddings/length"}) {
    const Tensor* lengths = frame.find(path);
    if (lengths && lengths->shape().size() == 1) return lengths->size();
  }
  fail(source, ": has neither /encoder/length nor /embeddings/length: wanted the output of embed or encode");
}

void attend_with_model(const AttendConfig& config, const AttendPaths& paths, const InspectionConfig& inspect,
                       int threads) {
  std::optional<io::FrameReader> input = begin_reading(paths, inspect);
  const LoadedModel loaded = load_model(paths.model);
  const AttentionLayer layer = attention_layer(*loaded.model, paths.layer);
  const bool reads_target = layer.decoder && loaded.model->encoder;
  std::optional<Targets> targets;
  if (!inspect.list) {
    if (reads_target && paths.target.empty())
      fail<UsageError>("--target is needed: ", layer.path, " reads the translation");
    if (!reads_target && !paths.target.empty())
      fail<UsageError>("--target does not apply to ", layer.path, ": it reads the text of the input only");
    if (reads_target) targets.emplace(paths.target, loaded.target);
  }
  TargetIds given;
  run_stage(
      std::move(input), paths, inspect, loaded, stages_of(layer), static_cast<std::uint64_t>(paths.seed),
      threads,
      [&](TensorMap& frame, const std::string& name) {
        if (!layer.decoder || !frame.contains("encoder/states")) expect_stage(frame, name, "embeddings");
        claim_for_model(frame, name, loaded, paths.model);
        if (targets) given = targets->next(texts_in(name, frame));
      },
      [&](TensorMap& frame, Inspection& inspection) {
        return attention_work(loaded, layer, config.steps, std::move(given), frame, &inspection,
                              values_wanted(config.allow_nonfinite));
      },
      [&] {
        if (targets) targets->expect_end();
      });
}

/// The pieces of /tokens of the sentences whose attention the frame holds.
void label_sentences(const AttendInputs& inputs, const text::Tokenizer& tokenizer, TensorMap& frame) {
  if (!frame.contains("tokens/ids")) return;
  std::vector<std::vector<std::string>> pieces;
  for (const auto& ids : text::sentence_ids(frame, tokenizer)) pieces.push_back(tokenizer.pieces(ids));
  if (inputs.query_has_tokens()) label_attention(frame, "query_token", pieces);
  if (inputs.key_has_tokens()) label_attention(frame, "key_token", pieces);
}

/// The tokenizer of the model that the sentences belong to; none without a model.
class Labels {
 public:
  explicit Labels(const std::string& model) {
    if (model.empty()) return;
    io::ReadOptions options;
    options.only = {"model/vocabulary", "model/source_vocabulary", "model/target_vocabulary"};
    const TensorMap map = io::read_map(model, options);
    for (const char* side : {"source", "target"}) sides_.push_back(text::Tokenizer::of_side(map, side));
  }
  void add(const AttendInputs& inputs, TensorMap& frame) const {
    const std::string* digest = io::text_of(frame.attributes, io::kVocabularyDigest);
    for (const text::Tokenizer& tokenizer : sides_) {
      if (digest && *digest == tokenizer.digest()) return label_sentences(inputs, tokenizer, frame);
    }
  }

 private:
  std::vector<text::Tokenizer> sides_;
};

void attend_without_model(const AttendConfig& config, const AttendPaths& paths, int threads) {
  Attention attention(config, paths.seed);
  const Labels labels(paths.model);
  AttendInputs inputs(config, paths.input, paths.batch);
  io::FrameWriter writer(paths.output, paths.write, paths.keep);
  AttendOperands operands;
  SentenceProgress progress(inputs.sentences());
  std::int64_t before = 0;  // sentences
  while (inputs.next(operands)) {
    TensorMap frame;
    try {
      TensorMap group = attention.run(operands, threads);
      frame = inputs.take_rest();
      replace_attention(frame, std::move(group));
      labels.add(inputs, frame);
    } catch (const SentenceError& e) {
      fail("sentence ", before + e.sentence + 1, ": ", e.what());
    }
    const std::int64_t sentences = io::sentences_of(frame);
    writer.write(std::move(frame));
    progress.add(sentences);
    before += sentences;
  }
  writer.finish();
  progress.finish();
}

}  // namespace

void run_attend(const AttendConfig& config, const AttendPaths& paths, const InspectionConfig& inspect,
                int threads) {
  if (paths.layer.empty()) {
    attend_without_model(config, paths, threads);
  } else {
    attend_with_model(config, paths, inspect, threads);
  }
}

}  // namespace heed
