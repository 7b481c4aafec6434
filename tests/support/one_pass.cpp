// The whole model in one go, beside what the tools left at each stage: every number must be the same, bit by
// bit.
// usage: one_pass MODEL SOURCE.txt TARGET.txt STAGED.h5 LAYER
// STAGED.h5 comes from tokenize | embed | encode | attend --layer LAYER --steps | decode --force --format h5
// and holds at most 16 sentences (one shard). Prints a line for each tensor; ends with 1 when one differs.
#include <cmath>
#include <iostream>

#include "base/error.h"
#include "io/frame_stream.h"
#include "models/model_file.h"
#include "nn/recording.h"
#include "tensor/kernels.h"
#include "text/line_reader.h"

using namespace heed;

namespace {

PackedTokens read_tokens(const std::string& path, const text::Tokenizer& tokenizer) {
  PackedTokens tokens;
  for (const std::string& line : text::read_lines(path)) tokens.append(tokenizer.sentence(line));
  return tokens;
}

/// Walks the staged tensor in the order in which the one pass keeps its numbers.
class Comparison {
 public:
  explicit Comparison(const TensorMap& staged) : staged_(staged) {}

  /// (sentence, [1,] position, dim) against packed rows.
  void rows(const std::string& path, const Packing& rows, const std::vector<float>& wanted) {
    const Shape shape = staged_.at(path).shape();
    const std::int64_t width = shape[shape.size() - 2], d = shape.back();
    begin(path);
    for (std::int64_t s = 0; s < rows.sentences(); ++s) take(s * width * d, rows.length(s) * d, wanted);
    end(path, wanted);
  }
  /// (sentence, 1, head, query, key) against blocks of sentences and heads.
  void blocks(const std::string& path, const Packing& queries, const Packing& keys,
              const std::vector<float>& wanted) {
    const Shape shape = staged_.at(path).shape();
    begin(path);
    for (std::int64_t s = 0; s < queries.sentences(); ++s) {
      for (std::int64_t h = 0; h < shape[2]; ++h) {
        for (std::int64_t q = 0; q < queries.length(s); ++q)
          take(((s * shape[2] + h) * shape[3] + q) * shape[4], keys.length(s), wanted);
      }
    }
    end(path, wanted);
  }
  bool failed() const { return failed_; }

 private:
  void begin(const std::string& path) {
    got_ = staged_.at(path).values<float>();
    at_ = different_ = 0;
  }
  void take(std::int64_t from, std::int64_t count, const std::vector<float>& wanted) {
    for (std::int64_t i = 0; i < count; ++i, ++at_) {
      if (at_ >= wanted.size()) fail("more staged numbers than computed ones");
      different_ += got_[static_cast<std::size_t>(from + i)] != wanted[at_];
    }
  }
  void end(const std::string& path, const std::vector<float>& wanted) {
    const bool equal = different_ == 0 && at_ == wanted.size() && at_ > 0;
    failed_ = failed_ || !equal;
    std::cout << path << ": " << (equal ? "equal" : "DIFFERENT") << "\n";
    std::cerr << path << ": " << at_ << " numbers compared, " << different_ << " differ\n";
  }

  const TensorMap& staged_;
  std::span<const float> got_;
  std::size_t at_ = 0, different_ = 0;
  bool failed_ = false;
};

int compare(char** argv) {
  const LoadedModel loaded = load_model(argv[1]);
  const Model<float>& model = *loaded.model;
  const PackedTokens source = read_tokens(argv[2], loaded.source),
                     target = read_tokens(argv[3], loaded.target);
  const TensorMap staged = io::read_map(argv[4]);
  const std::string layer = argv[5];

  Recording<float> recorder([](const std::string&) { return true; });
  Tape<float> tape;
  Pass<float> pass(tape, model.parameters);
  pass.recorder = &recorder;
  const Encoded<float> memory = model.encode(pass, source);
  const Var<float> decoded = model.decode(pass, &memory, target).states;
  const Matrix<const float> logits = model.words->logits(pass, decoded).value();
  std::vector<float> sums(static_cast<std::size_t>(logits.rows)), log_probability;
  log_sum_exp_rows<float>(logits, sums);
  for (std::int64_t i = 0; i < logits.rows; ++i) {
    const auto row = static_cast<std::size_t>(i);
    log_probability.push_back(logits(i, target.ids[row]) - sums[row]);
  }

  const bool decoder = layer.starts_with("decoder"), cross = layer.ends_with("cross_attention");
  const Packing &queries = decoder ? target.rows : source.rows,
                &keys = decoder && !cross ? target.rows : source.rows;
  Comparison comparison(staged);
  comparison.rows("embeddings/values", source.rows, recorder.at("encoder/embedded").values);
  comparison.rows("encoder/states", source.rows, recorder.at("encoder/output").values);
  comparison.blocks("attention/scores", queries, keys, recorder.at(layer + "/scores").values);
  comparison.blocks("attention/weights", queries, keys, recorder.at(layer + "/weights").values);
  comparison.rows("attention/context", queries, recorder.at(layer + "/context").values);
  if (staged.contains("attention/probabilities"))
    comparison.blocks("attention/probabilities", queries, keys, recorder.at(layer + "/probabilities").values);
  if (staged.contains("attention/output"))
    comparison.rows("attention/output", queries, recorder.at(layer + "/output").values);
  TensorMap reshaped;
  for (const char* path : {"hypotheses/token_logprob", "attention/position"}) {
    const Tensor* tensor = staged.find(path);  // (sentence, 1, position)
    if (!tensor) continue;
    reshaped.add(path, Tensor::of<float>({tensor->values<float>().begin(), tensor->values<float>().end()},
                                         {tensor->shape()[0], tensor->shape()[2], 1}));
  }
  Comparison last(reshaped);
  if (reshaped.contains("attention/position"))
    last.rows("attention/position", queries, recorder.at(layer + "/position").values);
  last.rows("hypotheses/token_logprob", target.rows, log_probability);
  return comparison.failed() || last.failed();
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 6) fail<UsageError>("usage: one_pass MODEL SOURCE TARGET STAGED LAYER");
  return compare(argv);
} catch (const std::exception& e) {
  std::cerr << "one_pass: " << e.what() << "\n";
  return 1;
}
