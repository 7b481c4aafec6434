#include "pipeline/decode_job.h"

#include <cstdio>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "io/frame_stream.h"
#include "io/text_writer.h"
#include "pipeline/frames.h"
#include "pipeline/targets.h"
#include "tensor/padding.h"

namespace heed {

namespace {

using Results = std::vector<std::vector<Hypothesis>>;

TranslateOptions translate_options(const DecodeConfig& config, std::uint64_t seed) {
  TranslateOptions options;
  options.beam.beam = config.beam;
  options.beam.n_best = config.n_best;
  options.beam.length_penalty = config.length_penalty;
  options.sampling = config.sample;
  options.sample.samples = config.n_best;
  options.sample.temperature = config.temperature;
  options.sample.top_k = config.top_k;
  options.sample.top_p = config.top_p;
  options.sample.seed = seed;
  options.max_length = config.max_length;
  return options;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6f", value);
  return text;
}

/// One line for each sentence, or for each of its n best translations.
std::string translated_text(const Results& results, std::int64_t first_sentence, bool n_best,
                            const text::Tokenizer& tokenizer) {
  std::string out;
  for (std::size_t s = 0; s < results.size(); ++s) {
    for (const Hypothesis& h : results[s]) {
      const std::string text = tokenizer.decode(h.ids);
      const auto sentence = first_sentence + static_cast<std::int64_t>(s);
      out += n_best ? concat(sentence, " ||| ", text, " ||| ", number(h.score)) : text;
      out += "\n";
    }
  }
  return out;
}

/// One line for each sentence: the score, then every piece with its log-probability.
std::string scored_text(const Results& results, const text::Tokenizer& tokenizer) {
  std::string out;
  for (const auto& list : results) {
    const Hypothesis& h = list.front();
    out += number(h.score) + "\t";
    for (std::size_t i = 0; i < h.ids.size(); ++i) {
      out += (i ? " " : "") + tokenizer.piece(h.ids[i]) + ":" + number(h.token_log_probability[i]);
    }
    out += "\n";
  }
  return out;
}

/// Pieces as labels, str (sentence, [rank,] <dim>), padded with "".
Tensor piece_labels(const std::vector<std::vector<std::vector<std::string>>>& pieces, const std::string& dim,
                    bool ranked) {
  std::size_t ranks = 1, longest = 1;
  for (const auto& list : pieces) {
    ranks = std::max(ranks, list.size());
    for (const auto& one : list) longest = std::max(longest, one.size());
  }
  std::vector<std::string> flat(pieces.size() * ranks * longest);
  for (std::size_t s = 0; s < pieces.size(); ++s) {
    for (std::size_t r = 0; r < pieces[s].size(); ++r) {
      std::copy(pieces[s][r].begin(), pieces[s][r].end(),
                flat.begin() + static_cast<std::ptrdiff_t>((s * ranks + r) * longest));
    }
  }
  const auto n = static_cast<std::int64_t>(pieces.size()), k = static_cast<std::int64_t>(ranks),
             width = static_cast<std::int64_t>(longest);
  return ranked ? Tensor::of<std::string>(std::move(flat), {n, k, width}, {"sentence", "rank", dim})
                : Tensor::of<std::string>(std::move(flat), {n, width}, {"sentence", dim});
}

class DecodeJob {
 public:
  DecodeJob(const DecodeConfig& config, const DecodePaths& paths, std::uint64_t seed, int threads)
      : config_(config),
        paths_(paths),
        threads_(threads),
        options_(translate_options(config, seed)),
        loaded_(load_model(paths.model)) {
    if (!paths.force.empty() && (config.sample || config.n_best > 1)) {
      fail<UsageError>("--force scores one given translation: it does not go with --sample or --n-best");
    }
    if (!paths.attention.empty() && paths.attention == paths.output) {
      fail<UsageError>("--attention and --output name the same file, ", escaped(paths.output));
    }
    io::WriteOptions write;
    write.command = paths.command;
    if (!paths.force.empty()) targets_.emplace(paths.force, loaded_.target);
    if (config.format == "h5") {
      tensors_.emplace(paths.output, write);
    } else {
      lines_.emplace(paths.output);
    }
    if (!paths.attention.empty()) attention_.emplace(paths.attention, write);
  }

  void run() {
    io::ReadOptions read;
    read.batch = config_.batch;
    io::FrameReader reader(paths_.input, read);
    TensorMap frame;
    while (reader.next(frame)) {
      claim_for_model(frame, reader.name(), loaded_, paths_.model);
      const PackedStates memory = read_memory(frame, reader.name());
      write(frame, memory, search(memory));
      sentences_ += memory.rows.sentences();
    }
    if (targets_) targets_->expect_end();
    if (lines_) lines_->finish();
    if (tensors_) tensors_->finish();
    if (attention_) attention_->finish();
    if (cut_ > 0) logging::note(concat(cut_, " translations were cut at the maximal length"));
  }

 private:
  /// Errors in the frame name the input.
  PackedStates read_memory(const TensorMap& frame, const std::string& name) const {
    try {
      return memory_of(*loaded_.model, frame);
    } catch (const Error& e) {
      fail(name, ":", e.what());
    }
  }

  Results search(const PackedStates& memory) {
    if (targets_) {
      return force(*loaded_.model, memory, targets_->next(memory.rows.sentences()), config_.length_penalty,
                   threads_);
    }
    options_.first_sentence = static_cast<std::uint64_t>(sentences_);
    return translate(*loaded_.model, memory, options_, threads_);
  }

  void write(const TensorMap& frame, const PackedStates& memory, const Results& results) {
    for (const auto& list : results) {
      for (const Hypothesis& h : list) cut_ += !h.finished;
    }
    if (lines_) {
      lines_->write(targets_ ? scored_text(results, loaded_.target)
                             : translated_text(results, sentences_, config_.n_best > 1, loaded_.target));
    }
    if (tensors_) {
      TensorMap out = frame;
      out.merge(hypothesis_map(results));
      out.erase("hypotheses/text");
      out.add("hypotheses/text", texts(results));
      tensors_->write(out);
    }
    if (attention_) attention_->write(attention_map(frame, memory, results));
  }

  Tensor texts(const Results& results) const {
    std::vector<std::vector<std::vector<std::string>>> all;
    for (const auto& list : results) {
      all.emplace_back();
      for (const Hypothesis& h : list) all.back().push_back({loaded_.target.decode(h.ids)});
    }
    Tensor padded = piece_labels(all, "one", true);
    const Shape shape = padded.shape();
    std::vector<std::string> values(padded.values<std::string>().begin(), padded.values<std::string>().end());
    return Tensor::of<std::string>(std::move(values), {shape[0], shape[1]}, {"sentence", "rank"});
  }

  TensorMap attention_map(const TensorMap& frame, const PackedStates& memory, const Results& results) const {
    TensorMap map = decoder_attention(*loaded_.model, memory, results, threads_);
    map.attributes = frame.attributes;
    bool ranked = false;
    std::vector<std::vector<std::vector<std::string>>> query;
    for (const auto& list : results) {
      query.emplace_back();
      ranked = ranked || list.size() > 1;
      for (const Hypothesis& h : list) query.back().push_back(loaded_.target.pieces(h.ids));
    }
    map.add("attention_cross/query_token", piece_labels(query, "query", ranked));
    if (map.contains("attention_decoder/weights")) {
      map.add("attention_decoder/query_token", piece_labels(query, "query", ranked));
      map.add("attention_decoder/key_token", piece_labels(shifted(query), "key", ranked));
    }
    if (frame.contains("tokens/ids")) {
      const PackedTokens source = tokens_of(frame, "tokens", loaded_.source.size());
      std::vector<std::vector<std::vector<std::string>>> key;
      for (std::int64_t s = 0; s < source.rows.sentences(); ++s) {
        key.push_back({loaded_.source.pieces(std::span(source.ids)
                                                 .subspan(static_cast<std::size_t>(source.rows.offset(s)),
                                                          static_cast<std::size_t>(source.rows.length(s))))});
      }
      map.add("attention_cross/key_token", piece_labels(key, "key", false));
    }
    return map;
  }

  /// What the decoder reads at each step: bos, then the tokens before.
  static std::vector<std::vector<std::vector<std::string>>> shifted(
      std::vector<std::vector<std::vector<std::string>>> pieces) {
    for (auto& list : pieces) {
      for (auto& one : list) {
        if (one.empty()) continue;
        one.pop_back();
        one.insert(one.begin(), "<s>");
      }
    }
    return pieces;
  }

  const DecodeConfig& config_;
  const DecodePaths& paths_;
  int threads_;
  TranslateOptions options_;
  LoadedModel loaded_;
  std::optional<Targets> targets_;
  std::optional<io::TextWriter> lines_;
  std::optional<io::FrameWriter> tensors_, attention_;
  std::int64_t sentences_ = 0, cut_ = 0;
};

}  // namespace

void run_decode(const DecodeConfig& config, const DecodePaths& paths, std::uint64_t seed, int threads) {
  DecodeJob(config, paths, seed, threads).run();
}

}  // namespace heed
