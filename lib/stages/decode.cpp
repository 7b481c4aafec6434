#include "stages/decode.h"

#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "base/number.h"
#include "base/paths.h"
#include "inspect/alignment.h"
#include "inspect/patch_file.h"
#include "inspect/saliency_writer.h"
#include "io/frame_stream.h"
#include "io/text_writer.h"
#include "stages/frames.h"
#include "stages/predict.h"
#include "text/targets.h"
#include "text/token_map.h"

namespace heed {

namespace {

/// What --force takes for the input itself.
constexpr const char* kWholeText = "input";

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

/// Ids after those of a prompt; without prompts as they are.
std::vector<std::int32_t> after_prompt(const std::vector<std::vector<std::int32_t>>& prompts,
                                       std::size_t sentence, const std::vector<std::int32_t>& ids) {
  std::vector<std::int32_t> all = prompts.empty() ? std::vector<std::int32_t>{} : prompts[sentence];
  all.insert(all.end(), ids.begin(), ids.end());
  return all;
}

/// One line for each sentence, or for each of its n best translations; a prompt comes before what continues
/// it.
std::string translated_text(const Results& results, const std::vector<std::vector<std::int32_t>>& prompts,
                            std::int64_t first_sentence, bool n_best, const text::Tokenizer& tokenizer) {
  std::string out;
  for (std::size_t s = 0; s < results.size(); ++s) {
    for (const Hypothesis& h : results[s]) {
      const std::string text = tokenizer.decode(after_prompt(prompts, s, h.ids));
      const auto sentence = first_sentence + static_cast<std::int64_t>(s);
      out += n_best ? concat(sentence, " ||| ", text, " ||| ", fixed(h.score, 6)) : text;
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
    out += fixed(h.score, 6) + "\t";
    for (std::size_t i = 0; i < h.ids.size(); ++i) {
      out += (i ? " " : "") + tokenizer.piece(h.ids[i]) + ":" + fixed(h.token_log_probability[i], 6);
    }
    out += "\n";
  }
  return out;
}

/// Pieces as labels, str (sentence, [rank,] <dim>), padded with "".
Tensor piece_labels(const std::vector<Pieces>& pieces, const std::string& dim, bool ranked) {
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
  DecodeJob(const DecodeConfig& config, const DecodePaths& paths, const DecodeInspection& inspect,
            LoadedModel loaded, std::uint64_t seed, int threads)
      : config_(config),
        paths_(paths),
        threads_(threads),
        options_(translate_options(config, seed)),
        loaded_(std::move(loaded)),
        inspection_(inspect.values, loaded_, decoder_stages(*loaded_.model), paths.write, seed) {
    if (!paths.force.empty() && (config.sample || config.n_best > 1)) {
      fail<UsageError>(
          "--force scores one given translation: it cannot be combined with --sample or --n-best");
    }
    if (paths.force.empty()) inspection_.expect_search();
    if (config.align && (config.format == "h5" || config.n_best > 1)) {
      fail<UsageError>(
          "--align writes a line for each sentence: it cannot be combined with --format h5 or --n-best");
    }
    const DecoderSizes& decoder = loaded_.model->needed_decoder().sizes();
    if ((config.align || !paths.attention.empty()) && !decoder.cross_attends() && !decoder.self_attends) {
      fail<UsageError>(config.align ? "--align" : "--attention", ": a ", loaded_.model->architecture,
                       " has no attention: its decoder reads the encoder's last states only");
    }
    if (config.align && !decoder.cross_attends())
      fail<UsageError>("--align: a ", loaded_.model->architecture, " has no source to align with");
    whole_text_ = paths.force == kWholeText;
    if (whole_text_ && loaded_.model->encoder)
      fail<UsageError>("--force ", kWholeText, ": scores the input of a language model; this is a ",
                       loaded_.model->architecture);
    if (!paths.force.empty() && !whole_text_) targets_.emplace(paths.force, loaded_.target);
    if (config.format == "h5") {
      tensors_.emplace(paths.output, paths.write);
    } else {
      lines_.emplace(paths.output);
    }
    if (config.align) {
      aligner_.emplace(HeadChoice{config.align_layer, config.align_head, paths.align_gold}, *lines_);
    } else if (config.align_layer != -1 || config.align_head != "mean" || !paths.align_gold.empty()) {
      fail<UsageError>("--align-layer, --align-head and --align-gold need --align");
    }
    if (!paths.attention.empty()) attention_.emplace(paths.attention, paths.write);
    if (!paths.saliency.empty() && !loaded_.model->encoder)
      fail<UsageError>("--saliency: a ", loaded_.model->architecture,
                       " has no source words; of its earlier words there are no gradients yet");
    if (!paths.saliency.empty())
      saliency_.emplace(inspect.saliency, paths.saliency, paths.write, loaded_, threads);
  }

  void run() {
    io::ReadOptions read;
    read.batch = config_.batch;
    io::FrameReader reader(paths_.input, read);
    TensorMap frame;
    while (reader.next(frame)) {
      claim_for_model(frame, reader.name(), loaded_, paths_.model);
      if (is_kept_attention(frame, reader.name())) {
        aligner_->add(frame.at("cross_attention/weights"), kept_words(frame, reader.name()));
        continue;
      }
      const Input input = read_input(frame, reader.name());
      inspection_.begin(frame, input.memory.rows);
      const Results results = search(input);
      inspection_.end(frame);
      write(frame, input, results);
      sentences_ += input.memory.rows.sentences();
    }
    if (targets_) targets_->expect_end();
    inspection_.finish();
    if (aligner_) aligner_->finish();
    if (lines_) lines_->finish();
    if (tensors_) tensors_->finish();
    if (attention_) attention_->finish();
    if (saliency_) saliency_->finish();
    if (cut_ > 0)
      logging::note(
          concat(cut_, cut_ == 1 ? " sentence was" : " sentences were", " cut at the maximal length"));
  }

 private:
  struct Input {
    PackedStates memory;                             ///< what the decoder continues from
    std::vector<std::vector<std::int32_t>> source;   ///< ids, when they are needed and /tokens is there
    std::vector<std::vector<std::int32_t>> prompts;  ///< of a language model: ids without the final eos
  };

  /// A frame that an earlier run kept by --attention, with nothing to decode.
  bool is_kept_attention(const TensorMap& frame, const std::string& name) const {
    if (!frame.contains("cross_attention/weights") || frame.contains("encoder/states")) return false;
    if (!aligner_ || targets_ || attention_ || saliency_ || config_.sample || inspection_.traces() ||
        inspection_.edits())
      fail(name, ": holds stored attention, not /encoder: only --align and viz-dump read it");
    return true;
  }
  std::vector<WordNumbers> kept_words(const TensorMap& frame, const std::string& name) const {
    try {
      return word_numbers(frame, loaded_.source, loaded_.target);
    } catch (const Error& e) {
      fail(name, ":", e.what());
    }
  }

  /// Errors in the frame name the input.
  Input read_input(const TensorMap& frame, const std::string& name) const {
    try {
      Input input{decoder_input(frame, *loaded_.model), {}, {}};
      const bool alone = !loaded_.model->encoder;
      if (aligner_ || whole_text_ || ((attention_ || alone) && frame.contains("tokens/ids"))) {
        input.source = text::sentence_ids(frame, alone ? loaded_.target : loaded_.source);
        expect_lengths(input);
      }
      if (alone && !whole_text_) input.prompts = input.source;
      for (auto& ids : input.prompts) {
        if (!ids.empty() && ids.back() == loaded_.target.special().eos) ids.pop_back();
      }
      return input;
    } catch (const Error& e) {
      fail(name, ":", e.what());
    }
  }

  static void expect_lengths(const Input& input) {
    const Packing& rows = input.memory.rows;
    if (static_cast<std::int64_t>(input.source.size()) != rows.sentences()) {
      fail("/tokens has ", input.source.size(), " sentences, what is decoded has ", rows.sentences());
    }
    for (std::int64_t s = 0; s < rows.sentences(); ++s) {
      const std::size_t length = input.source[static_cast<std::size_t>(s)].size();
      if (static_cast<std::int64_t>(length) != rows.length(s)) {
        fail("/tokens/length[", s, "] = ", length, ", but the states of that sentence are ", rows.length(s),
             ": are they of the same text?");
      }
    }
  }

  Results search(const Input& input) {
    if (whole_text_) return forced(input, input.source);
    if (targets_) return forced(input, targets_->next(input.memory.rows.sentences()));
    options_.first_sentence = static_cast<std::uint64_t>(sentences_);
    Results results = translate(*loaded_.model, input.memory, options_, threads_, &inspection_);
    std::vector<SampleStream> draws;  // of the best, when sampled
    for (std::size_t s = 0; s < results.size() && config_.sample; ++s)
      draws.push_back(results[s].front().drawn.value_or(SampleStream{}));
    if (inspection_.traces()) forced(input, best_ids(results), draws);
    return results;
  }
  static std::vector<std::vector<std::int32_t>> best_ids(const Results& results) {
    std::vector<std::vector<std::int32_t>> best;
    for (const auto& list : results) best.push_back(list.front().ids);
    return best;
  }

  Results forced(const Input& input, const std::vector<std::vector<std::int32_t>>& targets,
                 const std::vector<SampleStream>& sampled = {}) {
    std::vector<std::vector<std::int32_t>> produced = targets;
    for (std::size_t s = 0; s < produced.size(); ++s)
      produced[s] = after_prompt(input.prompts, s, targets[s]);
    if (targets_) inspection_.expect_targets(produced);
    inspection_.start_trace(produced);
    return force(*loaded_.model, input.memory, targets, config_.length_penalty, threads_, &inspection_,
                 sampled, whole_text_);
  }

  void write(const TensorMap& frame, const Input& input, const Results& results) {
    for (const auto& list : results) {
      for (const Hypothesis& h : list) cut_ += !h.finished;
    }
    TensorMap attention;
    if (attention_ || aligner_)
      attention =
          decoder_attention(*loaded_.model, input.memory, results, threads_, &inspection_, whole_text_);
    if (aligner_) {
      std::vector<WordNumbers> words;
      for (std::size_t s = 0; s < results.size(); ++s)
        words.push_back(
            word_numbers(loaded_.source, input.source[s], loaded_.target, results[s].front().ids));
      aligner_->add(attention.at("cross_attention/weights"), words);
    } else if (lines_) {
      lines_->write(targets_ || whole_text_ ? scored_text(results, loaded_.target)
                                            : translated_text(results, input.prompts, sentences_,
                                                              config_.n_best > 1, loaded_.target));
    }
    if (tensors_) {
      TensorMap out = frame;
      out.merge(hypothesis_map(results));
      out.erase("hypotheses/text");
      out.add("hypotheses/text", texts(input, results));
      tensors_->write(out);
    }
    if (saliency_) saliency_->write(frame, input.memory, best_ids(results));
    if (!attention_) return;
    attention.attributes = frame.attributes;
    add_labels(attention, input, results);
    attention_->write(attention);
  }

  Tensor texts(const Input& input, const Results& results) const {
    std::vector<Pieces> all;
    for (std::size_t s = 0; s < results.size(); ++s) {
      all.emplace_back();
      for (const Hypothesis& h : results[s])
        all.back().push_back({loaded_.target.decode(after_prompt(input.prompts, s, h.ids))});
    }
    Tensor padded = piece_labels(all, "one", true);
    const Shape shape = padded.shape();
    std::vector<std::string> values(padded.values<std::string>().begin(), padded.values<std::string>().end());
    return Tensor::of<std::string>(std::move(values), {shape[0], shape[1]}, {"sentence", "rank"});
  }

  void add_labels(TensorMap& map, const Input& input, const Results& results) const {
    bool ranked = false;
    std::vector<Pieces> query, key;
    for (std::size_t s = 0; s < results.size(); ++s) {
      query.emplace_back();
      ranked = ranked || results[s].size() > 1;
      for (const Hypothesis& h : results[s])
        query.back().push_back(loaded_.target.pieces(after_prompt(input.prompts, s, h.ids)));
    }
    const bool crosses = map.contains("cross_attention/weights");
    if (crosses) map.add("cross_attention/query_token", piece_labels(query, "query", ranked));
    if (map.contains("self_attention/weights")) {
      map.add("self_attention/query_token", piece_labels(query, "query", ranked));
      std::vector<Pieces> read = query;
      for (Pieces& list : read) list = shifted_right(std::move(list), loaded_.target);
      map.add("self_attention/key_token", piece_labels(read, "key", ranked));
    }
    for (const auto& ids : input.source) key.push_back({loaded_.source.pieces(ids)});
    if (crosses && !key.empty()) map.add("cross_attention/key_token", piece_labels(key, "key", false));
  }

  const DecodeConfig& config_;
  const DecodePaths& paths_;
  int threads_;
  TranslateOptions options_;
  LoadedModel loaded_;
  Inspection inspection_;
  std::optional<Targets> targets_;
  std::optional<io::TextWriter> lines_;
  std::optional<Aligner> aligner_;
  std::optional<io::FrameWriter> tensors_, attention_;
  std::optional<SaliencyWriter> saliency_;
  bool whole_text_ = false;  ///< the input itself is scored
  std::int64_t sentences_ = 0, cut_ = 0;
};

}  // namespace

Stages decoder_stages(const Model<float>& model) {
  Stages stages;
  stages.decode = stages.logits = model.decoder != nullptr;
  stages.classify = !model.decoder && model.classes;
  if (stages.classify) stages.first = stages.last = model.encoder->sizes().n_layers;
  return stages;
}

namespace {

/// Throws UsageError when two outputs would go into one file.
void check_outputs(const DecodePaths& paths, const InspectionConfig& inspect) {
  const std::pair<const char*, const std::string*> outputs[] = {{"--output", &paths.output},
                                                                {"--attention", &paths.attention},
                                                                {"--saliency", &paths.saliency},
                                                                {"--trace", &inspect.trace}};
  for (const auto& a : outputs) {
    for (const auto& b : outputs) {
      if (&a < &b && !a.second->empty() && same_place(*a.second, *b.second))
        fail<UsageError>(a.first, " and ", b.first, " name the same file, ", escaped(*a.second));
    }
  }
  inspect.check(paths.output);
  if (!paths.saliency.empty() && !inspect.edits.empty())
    fail<UsageError>("--saliency cannot be combined with edits: edited values have no gradients");
}

/// An encoder alone: classes or masked words.
class PredictJob {
 public:
  PredictJob(const DecodeConfig& config, const DecodePaths& paths, const DecodeInspection& inspect,
             LoadedModel loaded, std::uint64_t seed, int threads)
      : config_(config),
        paths_(paths),
        threads_(threads),
        loaded_(std::move(loaded)),
        inspection_(inspect.values, loaded_, decoder_stages(*loaded_.model), paths.write, seed) {
    for (const auto& [name, given] :
         {std::pair("--force", !paths.force.empty()), std::pair("--attention", !paths.attention.empty()),
          std::pair("--saliency", !paths.saliency.empty()), std::pair("--align", config.align),
          std::pair("--sample", config.sample)}) {
      if (given)
        fail<UsageError>(name, ": the model is of architecture ", loaded_.model->architecture,
                         ", which has no decoder");
    }
    if (config.format == "h5")
      tensors_.emplace(paths.output, paths.write);
    else
      lines_.emplace(paths.output);
  }

  void run() {
    io::ReadOptions read;
    read.batch = config_.batch;
    io::FrameReader reader(paths_.input, read);
    TensorMap frame;
    while (reader.next(frame)) {
      claim_for_model(frame, reader.name(), loaded_, paths_.model);
      try {
        predict_frame(frame);
      } catch (const PatchError&) {
        throw;
      } catch (const Error& e) {
        fail(reader.name(), ":", e.what());
      }
    }
    inspection_.finish();
    if (lines_) lines_->finish();
    if (tensors_) tensors_->finish();
  }

 private:
  void predict_frame(TensorMap& frame) {
    const PackedStates memory = memory_of(frame, *loaded_.model);
    std::vector<std::vector<std::int32_t>> tokens;
    if (!loaded_.model->classes) tokens = text::sentence_ids(frame, loaded_.source);
    inspection_.begin(frame, memory.rows);
    inspection_.start_trace();
    const std::int64_t n_best = config_.n_best > 1 ? config_.n_best : 0;
    const auto predictions = predict(loaded_, memory, tokens, n_best, threads_, &inspection_);
    inspection_.end(frame);
    if (lines_) lines_->write(prediction_text(loaded_, predictions, tokens, n_best, sentences_));
    if (tensors_) {
      frame.merge(prediction_map(loaded_, predictions));
      tensors_->write(frame);
    }
    sentences_ += memory.rows.sentences();
  }

  const DecodeConfig& config_;
  const DecodePaths& paths_;
  int threads_;
  LoadedModel loaded_;
  Inspection inspection_;
  std::optional<io::TextWriter> lines_;
  std::optional<io::FrameWriter> tensors_;
  std::int64_t sentences_ = 0;
};

}  // namespace

void run_decode(const DecodeConfig& config, const DecodePaths& paths, const DecodeInspection& inspect,
                std::uint64_t seed, int threads) {
  check_outputs(paths, inspect.values);
  LoadedModel loaded = load_model(paths.model);
  if (loaded.model->decoder)
    DecodeJob(config, paths, inspect, std::move(loaded), seed, threads).run();
  else
    PredictJob(config, paths, inspect, std::move(loaded), seed, threads).run();
}

}  // namespace heed
