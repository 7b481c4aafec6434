#include "stages/decode.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "base/choice.h"
#include "base/log.h"
#include "base/paths.h"
#include "base/sentence_error.h"
#include "inspect/alignment.h"
#include "io/provenance.h"
#include "io/text_writer.h"
#include "models/search_settings.h"
#include "models/shards.h"
#include "stages/encode.h"
#include "stages/frames.h"
#include "stages/lens.h"
#include "stages/nbest_lists.h"
#include "stages/op_report.h"
#include "stages/predict.h"
#include "stages/translate.h"
#include "tensor/kernels.h"

namespace heed {

void DecodeConfig::check_search() const {
  if (n_best > beam) fail<UsageError>("--n-best: got ", n_best, ", wanted 1 to the beam's ", beam);
}

namespace {

/// What --force takes for the input itself.
constexpr const char* kWholeText = "input";

enum class Format { text, h5 };

/// What a run is asked for.
struct Request {
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

Precision precision_of(const DecodeConfig& config) {
  return chosen<Precision>("--precision", kPrecisions, config.precision);
}

/// work(), with the model's path in front of its errors.
template <class Work>
void naming(const std::string& model, const Work& work) {
  const auto named = [&](const Error& e) { return concat(escaped(model), ": ", e.what()); };
  try {
    work();
  } catch (const SentenceError& e) {
    throw SentenceError(e.sentence, named(e));
  } catch (const UsageError& e) {
    throw UsageError(named(e));
  } catch (const Error& e) {
    throw Error(named(e));
  }
}

/// Translations of lists that are scored at once, each beside a copy of what its sentence's encoder said: whole shards, so
/// that the scores do not depend on it.
constexpr std::size_t kListSlice = 16 * kShardSentences;

/// Sentences of a file from which those are taken together that are of about equal length.
constexpr std::int64_t kWindow = 256;

/// What decoding has in common, whatever the model's last part is: frames come in, lines or tensors go out.
class Job {
 public:
  Job(const Request& request, LoadedModel loaded)
      : request_(request),
        config_(request.config),
        paths_(request.paths),
        threads_(request.threads),
        loaded_(std::move(loaded)),
        wanted_(values_wanted(config_.allow_nonfinite)),
        format_(chosen<Format>("--format", kDecodeFormats, config_.format)),
        inspection_(request.inspect.values, loaded_, decoder_stages(*loaded_.model), paths_.write,
                    request.seed) {}
  virtual ~Job() = default;

  void run() {
    io::FrameReader reader(paths_.input, {.batch = sentences_read()});
    for_each_frame(
        reader,
        [&](TensorMap& frame, const std::string& name) {
          if (!std::exchange(has_begun_, true)) sentences_ = io::first_sentence_of(frame.attributes, name);
          expect_stage(frame, name, loaded_.model->encoder ? "encoder" : "embeddings");
          claim_for_model(frame, name, loaded_, request_.model());
          check(frame, name);
        },
        [&](TensorMap& frame) { read(frame); }, [&](const TensorMap& frame) { write(frame); });
    finish();
  }

 protected:
  void open_output() {
    if (format_ == Format::h5) return void(tensors_.emplace(paths_.output, paths_.write, paths_.keep));
    lines_.emplace(paths_.output);
    if (!paths_.keep.empty()) tensors_.emplace(paths_.keep, paths_.write);
  }
  /// Sentences that are read together from a file.
  virtual std::int64_t sentences_read() const { return config_.batch; }
  virtual void check(const TensorMap&, const std::string&) {}
  /// Errors in here get the input's name in front.
  virtual void read(const TensorMap& frame) = 0;
  virtual void write(const TensorMap& frame) = 0;
  virtual void finish() {
    inspection_.finish();
    if (lines_) lines_->finish();
    if (tensors_) tensors_->finish();
  }

  const Request& request_;
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

/// Throws Error unless `tokens` are what these rows are of.
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

/// An encoder alone: classes or masked words.
class PredictJob final : public Job {
 public:
  PredictJob(const Request& request, LoadedModel loaded) : Job(request, std::move(loaded)) {
    if (!loaded_.model->documents)
      request.refuse({"attention"}, ": the model is of architecture ", loaded_.model->architecture,
                     ", which has no decoder and reads no documents");
    if (loaded_.model->classes && loaded_.model->classes->problem == ProblemType::regression)
      request.refuse({"n-best"}, ": the model gives numbers, of which none is likelier");
    request.refuse({"force", "prefix", "saliency", "align", "sample", "beam", "length-penalty", "max-length",
                    "align-layer", "align-head", "align-gold"},
                   ": the model is of architecture ", loaded_.model->architecture, ", which has no decoder");
    if (paths_.models.size() > 1)
      fail<UsageError>("-m ", escaped(paths_.models[1]), ": the model is of architecture ",
                       loaded_.model->architecture,
                       ", which has no decoder, and only decoders search together");
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
      tensors_->write(out);
    }
    if (attention_) attention_->write(attended_);
    if (lens_) lens_->write(said_);
    sentences_ += std::ssize(predictions_);
  }

  void finish() override {
    Job::finish();
    if (attention_) attention_->finish();
    if (lens_) lens_->finish();
  }

  const std::int64_t n_best_ = config_.n_best > 1 ? config_.n_best : 0;
  /// What is predicted is of single tokens: their words, or their classes.
  const bool of_tokens_ = !loaded_.model->classes || loaded_.model->classes->of_tokens();
  std::optional<io::FrameWriter> attention_, lens_;
  std::vector<Ids> tokens_;
  std::vector<std::vector<Prediction>> predictions_;
  TensorMap attended_, said_;
};

/// A decoder, alone or of a pair: translations, continuations, and scores of given ones.
class TranslateJob final : public Job {
 public:
  TranslateJob(const Request& request, LoadedModel loaded, const SearchSettings& usual)
      : Job(request, std::move(loaded)) {
    options_.beam = {config_.beam, config_.n_best, config_.length_penalty, {}};
    options_.beam.stop = usual.seeks_best ? StopRule::kBest : StopRule::kFilled;
    options_.beam.forced_eos = usual.forced_eos;
    options_.beam.renormalized = usual.renormalized;
    options_.beam.more_ends = more_ends(usual);
    options_.length_factor = usual.length_factor;
    options_.sampling = config_.sample;
    options_.sample = {
        config_.n_best, config_.temperature, config_.top_k, config_.top_p, request.seed, {}, {}};
    options_.max_length = config_.max_length;
    if (request.inspect.times_ops) options_.op_times = &op_times_;
    options_.empty_source = loaded_.model->images ? 0 : std::ssize(loaded_.source.sentence(""));
    if (!paths_.force.empty() && config_.sample)
      fail<UsageError>("--force scores what is given: it cannot be combined with --sample");
    if (paths_.force.empty() && !config_.sample) check_search();
    if (paths_.force.empty()) inspection_.expect_search();
    if (config_.align && (format_ == Format::h5 || config_.n_best > 1)) {
      fail<UsageError>(
          "--align writes a line for each sentence: it cannot be combined with --format h5 or --n-best");
    }
    const std::string& architecture = loaded_.model->architecture;
    const DecoderSizes& decoder = loaded_.model->needed_decoder().sizes();
    if ((config_.align || !paths_.attention.empty()) && !decoder.cross_attends() && !decoder.self_attends) {
      fail<UsageError>(config_.align ? "--align" : "--attention", ": a ", architecture,
                       " has no attention: its decoder reads the encoder's last states only");
    }
    if (config_.align && !decoder.cross_attends())
      fail<UsageError>("--align: a ", architecture, " has no source to align with");
    whole_text_ = paths_.force == kWholeText;
    if (whole_text_ && !alone_)
      fail<UsageError>("--force ", kWholeText, ": scores the input of a language model; this is a ",
                       architecture);
    const bool lists = !paths_.force.empty() && request.given("n-best");
    if (lists) {
      check_lists();
      lists_.emplace(paths_.force, loaded_.target);
    } else if (!paths_.force.empty() && !whole_text_) {
      targets_.emplace(paths_.force, loaded_.target);
    }
    if (!paths_.prefix.empty()) {
      if (alone_)
        fail<UsageError>("--prefix: a ", architecture,
                         " continues its input: put there what the text is to begin with");
      prefixes_.emplace(paths_.prefix, loaded_.target, Targets::Are::beginnings);
    }
    if (paths_.models.size() > 1) load_others();
    open_output();
    if (config_.align) {
      aligner_.emplace(head_choice(config_.align_layer, config_.align_head, paths_.align_gold), *lines_);
    } else if (const DecodeConfig unset; config_.align_layer != unset.align_layer ||
                                         config_.align_head != unset.align_head ||
                                         !paths_.align_gold.empty()) {
      fail<UsageError>("--align-layer, --align-head and --align-gold need --align");
    }
    if (!paths_.attention.empty()) attention_.emplace(paths_.attention, paths_.write);
    if (!paths_.lens.empty()) {
      expect_lens(*loaded_.model);
      lens_.emplace(paths_.lens, paths_.write);
    }
    if (gives_lines_alone()) options_.at_once = config_.batch;
    if (paths_.saliency.empty()) return;
    if (alone_)
      fail<UsageError>("--saliency: a ", architecture,
                       " has no source words; of its earlier words there are no gradients yet");
    if (loaded_.model->images)
      fail<UsageError>("--saliency: the model reads images, and of their places there are no gradients yet");
    saliency_.emplace(request.inspect.saliency, paths_.saliency, paths_.write, loaded_, threads_);
  }

 private:
  /// Whether the frames in which sentences come show nowhere, not even in the last bits of a score.
  bool gives_lines_alone() const {
    const auto apart = [](const LoadedModel& loaded) {
      return loaded.model->needed_decoder().sizes().rows_apart;
    };
    return !alone_ && apart(loaded_) && std::ranges::all_of(others_, apart, &Other::loaded) && lines_ &&
           !tensors_ && !targets_ && !lists_ && !aligner_ && !attention_ && !lens_ &&
           paths_.saliency.empty() && !inspection_.traces() && !inspection_.edits();
  }
  std::int64_t sentences_read() const override {
    return options_.at_once > 0 ? std::max(options_.at_once, kWindow) : config_.batch;
  }

  void check_search() const {
    if (!request_.given("beam") && config_.n_best > config_.beam)
      fail<UsageError>("--n-best ", config_.n_best, ": this model is searched with a beam of ", config_.beam,
                       " unless --beam says otherwise: give --beam ", config_.n_best, " too");
    config_.check_search();
  }

  /// The options that show one translation by one model.
  static constexpr std::initializer_list<const char*> kShowing{"attention", "saliency", "lens", "align"};

  void check_lists() const {
    request_.refuse(
        kShowing,
        " cannot be combined with --force LIST --n-best, which scores many translations of a sentence");
    if (whole_text_) fail<UsageError>("--force ", kWholeText, " cannot be combined with --n-best");
    if (inspection_.traces() || inspection_.edits())
      fail<UsageError>("--trace, --patch and the like cannot be combined with --force LIST --n-best");
    if (alone_)
      fail<UsageError>("--force LIST --n-best: scores translations; this is a ", loaded_.model->architecture);
  }

  /// The other models of an ensemble. They must read and write the same pieces.
  void load_others() {
    request_.refuse(kShowing, ": shows what one model does; give one -m");
    if (inspection_.traces() || inspection_.edits())
      fail<UsageError>("--trace, --patch and the like observe one model; give one -m");
    for (const std::string& path : std::span(paths_.models).subspan(1)) {
      others_.push_back({load_model(path), path});
      naming(path, [&] { others_.back().loaded.model->set_precision(precision_of(config_)); });
      const LoadedModel& other = others_.back().loaded;
      const LoadedModel& first = loaded_;
      for (const LoadedModel* each : {&first, &other}) {
        if (!each->model->encoder || !each->model->decoder || each->model->images || each->model->documents)
          fail<UsageError>(escaped(each == &other ? path : request_.model()), ": is of architecture ",
                           each->model->architecture, ": only models that translate text search together");
      }
      const bool source = other.source.digest() == loaded_.source.digest();
      if (!source || other.target.digest() != loaded_.target.digest())
        fail(escaped(path), ": has another ", source ? "target" : "source", " vocabulary than ",
             escaped(request_.model()),
             ": models that search together were trained with the same vocabularies");
    }
  }

  /// What the other models' decoders continue from. They read /tokens themselves: /encoder is the first one's.
  void read_others(const TensorMap& frame) {
    for (Other& other : others_) {
      const char* const missing = "/tokens: is missing, and the second model and those after it read it";
      if (!frame.contains("tokens/ids")) fail(missing);
      TensorMap own;
      for (const auto& [name, tensor] : frame.tensors())
        if (name.starts_with("tokens/")) own.add(name, tensor);
      own.attributes = frame.attributes;
      own.groups = frame.groups;
      EncodeOptions encoding;
      encoding.wanted = wanted_;
      naming(other.path, [&] {
        embed_frame(*other.loaded.model, Side::source, own);
        encode_frame(*other.loaded.model, encoding, threads_, own);
        other.memory = memory_of(own, *other.loaded.model, wanted_);
      });
      if (!(other.memory.rows == memory_.rows))
        fail("/tokens: has other lengths than /encoder: are they of the same text?");
    }
  }

  /// What its steps multiply by, from its parameters `exact`.
  static const PackedWeights<float>& weights_of(const LoadedModel& loaded,
                                                const PackedWeights<float>& exact) {
    return loaded.model->reduced ? *loaded.model->reduced : exact;
  }

  /// All models on the frame's sentences, or on `memories` of some of them.
  std::vector<Member> ensemble(const std::vector<PackedStates>* memories = nullptr) const {
    std::vector<Member> members{
        {loaded_.model.get(), &weights_of(loaded_, weights_), memories ? &memories->front() : &memory_}};
    for (const Other& other : others_) {
      const PackedStates* const memory = memories ? &(*memories)[members.size()] : &other.memory;
      members.push_back({other.loaded.model.get(), &weights_of(other.loaded, *other.weights), memory});
    }
    return members;
  }

  /// A frame that an earlier run kept by --attention has nothing to decode.
  void check(const TensorMap& frame, const std::string& name) override {
    is_kept_ = frame.contains("cross_attention/weights") && !frame.contains("encoder/states");
    if (is_kept_ && (!aligner_ || targets_ || prefixes_ || !others_.empty() || attention_ || saliency_ ||
                     lens_ || tensors_ || config_.sample || inspection_.traces() || inspection_.edits()))
      fail(name, ": holds stored attention, not /encoder: only --align and viz-dump read it");
    if (is_kept_ && loaded_.model->images)
      fail(name, ": attention over images cannot be aligned from a kept file: give /encoder to --align");
    if (is_kept_)
      request_.refuse({"beam", "length-penalty", "max-length", "precision"}, ": ", name,
                      " holds stored attention, for which nothing is computed");
  }

  void read(const TensorMap& frame) override {
    if (is_kept_) {
      words_ = word_numbers(frame, loaded_.source, loaded_.target, options_.beam.more_ends);
      return;
    }
    memory_ = decoder_input(frame, *loaded_.model, wanted_);
    read_others(frame);
    source_.clear();
    prompts_.clear();
    if (aligner_ || whole_text_ || ((attention_ || alone_) && frame.contains("tokens/ids"))) {
      source_ = loaded_.model->images ? places()
                                      : text::sentence_ids(frame, alone_ ? loaded_.target : loaded_.source);
      expect_lengths(source_, memory_.rows);
    }
    if (whole_text_) texts_ = produced_texts();
    if (!alone_ || whole_text_) return;
    prompts_ = source_;
    for (Ids& ids : prompts_) {
      const bool ends = !loaded_.model->reads_as_given && !ids.empty();  // else eos is read like any other
      if (ends && ids.back() == loaded_.target.special().eos) ids.pop_back();
    }
    expect_prompts();
  }

  /// What stands for the words of images: each place is one.
  std::vector<Ids> places() const {
    std::vector<Ids> images;
    for (std::int64_t s = 0; s < memory_.rows.sentences(); ++s)
      images.emplace_back(static_cast<std::size_t>(memory_.rows.length(s)), 0);
    return images;
  }

  /// What is shown of a language model's decoding begins with the prompt.
  void expect_prompts() const {
    const char* option = attention_                        ? "--attention"
                         : lens_                           ? "--lens"
                         : inspection_.traces()            ? "--trace"
                         : targets_ && inspection_.edits() ? "--force with edits"
                                                           : nullptr;
    if (!option) return;
    if (std::cmp_not_equal(prompts_.size(), memory_.rows.sentences()))
      fail("/tokens: is missing, and ", option,
           " shows the prompts too: decode the frames of embed, which keep it");
    for (std::size_t s = 0; s < prompts_.size(); ++s) {
      // Where a text ends with eos, what is read begins with bos.
      const std::size_t read = prompts_[s].size() + !loaded_.model->reads_as_given;
      if (std::cmp_not_equal(read, memory_.rows.length(static_cast<std::int64_t>(s))))
        throw SentenceError(static_cast<std::int64_t>(s),
                            concat(option, ": /tokens do not end with eos, as those of tokenize do"));
    }
  }

  /// What a language model produces of the input itself.
  std::vector<Ids> produced_texts() const {
    std::vector<Ids> texts = source_;
    if (!loaded_.model->reads_as_given) return texts;
    for (std::size_t s = 0; s < texts.size(); ++s) {
      if (texts[s].size() < 2)
        throw SentenceError(static_cast<std::int64_t>(s),
                            "a text of one token: the first is given, so nothing is left to score");
      texts[s].erase(texts[s].begin());
    }
    return texts;
  }

  void write(const TensorMap& frame) override {
    if (is_kept_) return aligner_->add(frame.at("cross_attention/weights"), words_);
    inspection_.begin(frame, memory_.rows);
    const Results results = search();
    inspection_.end(frame);
    if (wanted_ == Values::finite) expect_finite(results);
    for (const auto& list : results) {
      for (const Hypothesis& h : list) cut_ += !h.finished;
    }
    TensorMap attention;
    if (attention_ || aligner_)
      attention = decoder_attention(*loaded_.model, memory_, results, threads_, &inspection_, whole_text_);
    if (aligner_) {
      aligner_->add(attention.at("cross_attention/weights"), words_of(results));
    } else if (lines_) {
      lines_->write(targets_ || whole_text_
                        ? scored_text(results, loaded_.target)
                        : translated_text(results, prompts_, sentences_, config_.n_best > 1, loaded_.target));
    }
    if (tensors_) {
      TensorMap out = frame;
      out.merge(hypothesis_map(results, prompts_, loaded_.target));
      tensors_->write(out);
    }
    if (saliency_) saliency_->write(frame, memory_, best_ids(results));
    if (lens_) {
      TensorMap lens = logit_lens(loaded_, memory_, results, prompts_, threads_, &inspection_, whole_text_);
      lens.attributes = frame.attributes;
      lens_->write(lens);
    }
    if (attention_) {
      attention.attributes = frame.attributes;
      label_decoder_attention(attention, results, prompts_, source_, loaded_, whole_text_);
      attention_->write(attention);
    }
    sentences_ += memory_.rows.sentences();
  }

  void finish() override {
    if (targets_) targets_->expect_end();
    if (lists_) lists_->expect_end();
    if (prefixes_) prefixes_->expect_end();
    if (aligner_) aligner_->finish();
    Job::finish();
    if (attention_) attention_->finish();
    if (saliency_) saliency_->finish();
    if (lens_) lens_->finish();
    if (cut_ > 0)
      logging::note(
          concat(cut_, cut_ == 1 ? " sentence was" : " sentences were", " cut at the maximal length"));
    if (options_.op_times) note_op_times(op_times_);
  }

  Results search() {
    if (whole_text_) return forced(texts_);
    if (targets_) return forced(targets_->next(memory_.rows.sentences()));
    if (lists_) return ranked(lists_->next(sentences_, memory_.rows.sentences()));
    options_.first_sentence = static_cast<std::uint64_t>(sentences_);
    if (prefixes_) options_.prefixes = prefixes_->next(memory_.rows.sentences());
    Results results = translate(ensemble(), options_, threads_, &inspection_);
    std::vector<SampleStream> draws;  // of the best, when sampled
    for (std::size_t s = 0; s < results.size() && config_.sample; ++s)
      draws.push_back(results[s].front().drawn.value_or(SampleStream{}));
    if (inspection_.traces()) forced(best_ids(results), draws);
    return results;
  }

  static void expect_finite(const Results& results) {
    for (std::size_t s = 0; s < results.size(); ++s) {
      for (const Hypothesis& h : results[s]) {
        if (!std::isfinite(h.score) || !all_finite<float>(h.token_log_probability))
          throw SentenceError(static_cast<std::int64_t>(s),
                              "the score of its translation is not finite: are its states too large? "
                              "(--allow-nonfinite lets it pass)");
      }
    }
  }

  Results forced(const std::vector<Ids>& targets, const std::vector<SampleStream>& sampled = {}) {
    std::vector<Ids> produced = targets;  // or, of a model that reads them as they are, what is read
    for (std::size_t s = 0; s < produced.size(); ++s) {
      produced[s] = after_prompt(prompts_, s, targets[s]);
      if (loaded_.model->reads_as_given && whole_text_) produced[s] = source_[s];
      if (loaded_.model->reads_as_given) produced[s].pop_back();
    }
    if (targets_) inspection_.expect_targets(produced);
    inspection_.start_trace(produced);
    return force(ensemble(), targets, config_.length_penalty, threads_, &inspection_, sampled, whole_text_);
  }

  /// The translations of each sentence with their scores, best first.
  Results ranked(const std::vector<std::vector<Ids>>& lists) const {
    std::vector<std::int64_t> sentences;  // each once for each of its translations
    std::vector<Ids> targets;
    for (std::size_t s = 0; s < lists.size(); ++s) {
      sentences.insert(sentences.end(), lists[s].size(), static_cast<std::int64_t>(s));
      targets.insert(targets.end(), lists[s].begin(), lists[s].end());
    }
    Results results(lists.size());
    for (std::size_t first = 0; first < targets.size(); first += kListSlice) {
      const std::size_t count = std::min(kListSlice, targets.size() - first);
      const auto sources = std::span(sentences).subspan(first, count);
      const auto part = std::span(targets).subspan(first, count);
      std::vector<PackedStates> memories;
      for (const Member& member : ensemble()) memories.push_back(selected(*member.input, sources));
      renumbering([&](std::int64_t i) { return sources[static_cast<std::size_t>(i)]; },
                  [&] {
                    Results scored = force(ensemble(&memories), {part.begin(), part.end()},
                                           config_.length_penalty, threads_);
                    for (std::size_t i = 0; i < count; ++i)
                      results[static_cast<std::size_t>(sources[i])].push_back(std::move(scored[i].front()));
                  });
    }
    for (auto& list : results) {
      std::ranges::stable_sort(list, std::ranges::greater(), &Hypothesis::score);
      if (std::cmp_greater(list.size(), config_.n_best))
        list.resize(static_cast<std::size_t>(config_.n_best));
    }
    return results;
  }

  static std::vector<Ids> best_ids(const Results& results) {
    std::vector<Ids> best;
    for (const auto& list : results) best.push_back(list.front().ids);
    return best;
  }

  std::vector<WordNumbers> words_of(const Results& results) const {
    std::vector<WordNumbers> words;
    for (std::size_t s = 0; s < results.size(); ++s)
      words.push_back(word_numbers(loaded_.source, source_[s], loaded_.target, results[s].front().ids,
                                   options_.beam.more_ends));
    return words;
  }

  const PackedWeights<float> weights_{loaded_.model->parameters.values()};  ///< in float32
  const bool alone_ = !loaded_.model->encoder;
  bool whole_text_ = false;  ///< the input itself is scored
  TranslateOptions options_;
  OpTimes op_times_;
  struct Other {
    LoadedModel loaded;
    std::string path;
    std::unique_ptr<PackedWeights<float>> weights =
        std::make_unique<PackedWeights<float>>(loaded.model->parameters.values());
    PackedStates memory{};  ///< of the frame
  };
  std::vector<Other> others_;  ///< of an ensemble
  std::optional<Targets> targets_, prefixes_;
  std::optional<NBestLists> lists_;
  std::optional<Aligner> aligner_;
  std::optional<io::FrameWriter> attention_;
  std::optional<SaliencyWriter> saliency_;
  std::optional<io::FrameWriter> lens_;
  // Of the frame:
  bool is_kept_ = false;            ///< attention that was kept
  std::vector<WordNumbers> words_;  ///< of that
  PackedStates memory_;             ///< what the decoder continues from
  std::vector<Ids> source_;         ///< when they are needed and /tokens is there
  std::vector<Ids> prompts_;        ///< of a language model: without the final eos
  std::vector<Ids> texts_;          ///< with --force text: what of source_ it produces
  std::int64_t cut_ = 0;
};

/// Throws UsageError when two outputs would go into one file.
void check_outputs(const DecodePaths& paths, const InspectionConfig& inspect) {
  const std::pair<const char*, const std::string*> outputs[] = {
      {"--output", &paths.output},     {"--keep", &paths.keep}, {"--attention", &paths.attention},
      {"--saliency", &paths.saliency}, {"--lens", &paths.lens}, {"--trace", &inspect.trace}};
  for (const auto& a : outputs) {
    for (const auto& b : outputs) {
      if (&a < &b && !a.second->empty() && same_place(*a.second, *b.second))
        fail<UsageError>(a.first, " and ", b.first, " name the same file, ", escaped(*a.second));
    }
  }
  inspect.check(paths.output, paths.keep);
  if (!paths.saliency.empty() && !inspect.edits.empty())
    fail<UsageError>("--saliency cannot be combined with edits: edited values have no gradients");
}

/// Options that only make sense with another.
void check_options(const Request& request) {
  const DecodeConfig& config = request.config;
  if (!config.sample) request.refuse({"temperature", "top-k", "top-p"}, " needs --sample");
  if (config.sample) request.refuse({"beam", "length-penalty"}, " cannot be combined with --sample");
  if (!request.paths.force.empty())
    request.refuse({"beam", "max-length", "prefix"}, " cannot be combined with --force");
  if (request.paths.saliency.empty())
    request.refuse({"saliency-method", "saliency-steps", "saliency-baseline"}, " needs --saliency");
  else if (!request.inspect.saliency.integrated())
    request.refuse({"saliency-steps", "saliency-baseline"}, " needs --saliency-method integrated");
}

}  // namespace

Stages decoder_stages(const Model<float>& model) {
  Stages stages;
  stages.decode = stages.logits = model.decoder != nullptr;
  stages.classify = !model.decoder && model.classes;
  if (stages.classify) stages.first = stages.last = model.encoder->sizes().n_layers;
  return stages;
}

void run_decode(const DecodeConfig& asked, const DecodePaths& paths, const DecodeInspection& inspect,
                std::uint64_t seed, int threads,
                const std::function<bool(const std::string& option)>& given) {
  DecodeConfig config = asked;
  const Request request{config, paths, inspect, seed, threads, given};
  check_options(request);
  check_outputs(paths, inspect.values);
  LoadedModel loaded = load_model(request.model());
  const Precision precision = precision_of(config);
  if (precision != Precision::float32 && !paths.saliency.empty())
    fail<UsageError>("--saliency cannot be combined with --precision ", config.precision,
                     ": rounded products have no gradients");
  loaded.model->set_precision(precision);
  std::optional<SearchSettings> usual = search_settings_of(loaded.origin);
  if (usual) {
    overlay(fields_of(*usual), fields_of(config), [&](const std::string& option) { return !given(option); });
  }
  if (loaded.model->decoder) {
    TranslateJob(request, std::move(loaded), usual.value_or(SearchSettings{})).run();
  } else {
    PredictJob(request, std::move(loaded)).run();
  }
}

}  // namespace heed
