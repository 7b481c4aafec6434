#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "base/log.h"
#include "base/paths.h"
#include "base/sentence_error.h"
#include "inspect/alignment.h"
#include "models/shards.h"
#include "stages/decode_job.h"
#include "stages/ensemble.h"
#include "stages/frames.h"
#include "stages/lens.h"
#include "stages/nbest_lists.h"
#include "stages/op_report.h"
#include "stages/translate.h"
#include "tensor/kernels.h"

namespace heed {
namespace {

/// The argument of --force that means the input itself.
constexpr const char* kWholeText = "input";

/// The number of list translations scored at once, each with a copy of its sentence's encoder states: whole
/// shards, so that scores do not depend on it.
constexpr std::size_t kListSlice = 16 * kShardSentences;

/// The number of sentences of a file from which those of similar length are searched together. More take more memory,
/// and are not faster.
constexpr std::int64_t kWindow = 128;

/// A frame of which only the translations are wanted.
class SearchedFrame final : public FrameWork {
 public:
  SearchedFrame(const ModelEnsemble& models, PackedStates memory, TranslateOptions options, int threads)
      : memory_(std::move(memory)), search_(models.members(memory_), std::move(options), threads) {}
  std::int64_t parts() const override { return search_.parts(); }
  void compute(std::int64_t part) override { search_.compute(part); }
  void finish() override {
    results_ = search_.take_results();
    memory_ = {};
  }
  std::int64_t bytes() const override {
    std::int64_t bytes = 0;
    for (const auto& list : results_) {
      for (const Hypothesis& h : list)
        bytes +=
            static_cast<std::int64_t>(sizeof h + h.ids.size() * sizeof h.ids[0] +
                                      h.token_log_probability.size() * sizeof h.token_log_probability[0]);
    }
    return bytes;
  }
  const Results& results() const { return results_; }
  const OpTimes& op_times() const { return search_.op_times(); }

 private:
  PackedStates memory_;
  Search search_;
  Results results_;
};

class TranslateJob final : public DecodeJob {
 public:
  TranslateJob(const DecodeRequest& request, LoadedModel loaded, const SearchSettings& usual)
      : DecodeJob(request, std::move(loaded)) {
    set_options(usual);
    begin_texts(usual);
    check_options();
    open_given();
    if (paths_.models.size() > 1) load_others();
    open_outputs();
    if (gives_lines_alone()) options_.at_once = sentences_at_once();
    options_.beam.scored = !only_searches() || tensors_ || config_.n_best > 1;
    if (only_searches() && models_.size() == 1 && models_.rows_apart())
      loaded_.model->set_precision(precision_of(config_), Unpacked::released);
  }

 private:
  void set_options(const SearchSettings& usual) {
    options_.beam = {config_.beam, config_.n_best, config_.length_penalty, {}};
    options_.beam.stop = usual.seeks_best ? StopRule::kBest : StopRule::kFilled;
    options_.beam.forced_eos = usual.forced_eos;
    options_.beam.renormalized = usual.renormalized;
    options_.beam.more_ends = more_ends(usual);
    options_.length_factor = usual.length_factor;
    options_.sampling = config_.sample;
    options_.sample = {
        config_.n_best, config_.temperature, config_.top_k, config_.top_p, request_.seed, {}, {}};
    options_.max_length = config_.max_length;
    options_.times_ops = request_.inspect.times_ops;
    options_.empty_source = loaded_.model->images ? 0 : std::ssize(loaded_.source.sentence(""));
  }

  /// Sets the first token of what is produced or scored: of a translation the code of its language. What does
  /// not translate may know such codes, too, but chooses none.
  void begin_texts(const SearchSettings& usual) {
    if (alone_)
      request_.refuse({"language"}, ": this model does not translate, it is of architecture ",
                      loaded_.model->architecture);
    const text::Tokenizer& target = loaded_.target;
    auto first = static_cast<std::int32_t>(usual.first_token);
    const bool starts_in_language = target.is_language(target.special().bos);
    if (!config_.language.empty()) {
      const std::int32_t code = target.language(config_.language, "--language");
      if (starts_in_language && code != target.special().bos)
        fail<UsageError>("--language: this model translates into ", target.piece(target.special().bos),
                         " only, with which its decoder starts (decoder_start_token_id)");
      if (!starts_in_language) first = code;
    } else if (!alone_ && first == SpecialIds::kAbsent && !target.languages().empty() &&
               !starts_in_language) {
      logging::note("the model itself chooses the language of the translations: --language sets it");
    }
    options_.beam.first = first;
    loaded_.target = target.beginning_with(first);
  }

  /// Throws UsageError if requested options exclude each other, or do not apply to this model.
  void check_options() {
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
      fail<UsageError>(config_.align ? "--align" : "--attention", ": architecture ", architecture,
                       " has no attention: its decoder reads the encoder's last states only");
    }
    if (config_.align && !decoder.cross_attends())
      fail<UsageError>("--align: a language model has no source to align with");
    if (whole_text_ && !alone_)
      fail<UsageError>("--force ", kWholeText, ": scores the input of a language model; this is a ",
                       architecture);
    if (gives_lists_) check_lists();
    if (!paths_.prefix.empty() && alone_)
      fail<UsageError>("--prefix: a language model continues its input: put the beginning of the text there");
    if (const DecodeConfig unset;
        !config_.align && (config_.align_layer != unset.align_layer ||
                           config_.align_head != unset.align_head || !paths_.align_gold.empty()))
      fail<UsageError>("--align-layer, --align-head and --align-gold need --align");
    if (!paths_.saliency.empty() && alone_)
      fail<UsageError>(
          "--saliency: a language model has no source words; gradients for its earlier words are not "
          "supported");
    if (!paths_.saliency.empty() && loaded_.model->images)
      fail<UsageError>("--saliency: the model reads images; gradients for their places are not supported");
    if (!paths_.lens.empty()) expect_lens(*loaded_.model);
  }

  /// The texts to be scored or continued.
  void open_given() {
    if (gives_lists_)
      lists_.emplace(paths_.force, loaded_.target);
    else if (!paths_.force.empty() && !whole_text_)
      targets_.emplace(paths_.force, loaded_.target);
    if (!paths_.prefix.empty()) prefixes_.emplace(paths_.prefix, loaded_.target, Targets::Are::beginnings);
  }

  void open_outputs() {
    open_output();
    if (config_.align)
      aligner_.emplace(head_choice(config_.align_layer, config_.align_head, paths_.align_gold), *lines_);
    if (!paths_.attention.empty()) attention_.emplace(paths_.attention, paths_.write);
    if (!paths_.lens.empty()) lens_.emplace(paths_.lens, paths_.write);
    if (!paths_.saliency.empty())
      saliency_.emplace(request_.inspect.saliency, paths_.saliency, paths_.write, loaded_, threads_);
  }

  /// Whether only a search is run.
  bool only_searches() const {
    return paths_.force.empty() && !aligner_ && !attention_ && !lens_ && paths_.saliency.empty() &&
           !inspection_.traces();
  }
  /// Whether the division into frames has no effect, not even on the last bits of a score.
  bool gives_lines_alone() const {
    return only_searches() && !alone_ && models_.rows_apart() && lines_ && !tensors_ && !inspection_.edits();
  }
  /// As many as make enough hypotheses for efficient steps. Each step reads all weights, so a large model needs many; a
  /// small one is faster with few, whose cached keys and values stay in the processor's cache.
  std::int64_t sentences_at_once() const {
    const std::int64_t hypotheses = std::max<std::int64_t>(32, models_.most_parameters() / 200'000),
                       of_sentence = config_.sample ? config_.n_best : config_.beam;
    return std::clamp<std::int64_t>(hypotheses / of_sentence, 1, config_.batch);
  }
  std::int64_t sentences_read() const override {
    return options_.at_once > 0 ? std::max(options_.at_once, kWindow) : config_.batch;
  }

  /// The lengths and the weights tell what a frame without /encoder is.
  std::vector<std::string> tensors_read() const override {
    if (options_.at_once == 0 || models_.size() > 1 || loaded_.model->documents) return {};
    return {"cross_attention/weights", "embeddings/length", "encoder", "tokens/length"};
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
      fail<UsageError>("--trace, --patch and other edits cannot be combined with --force LIST --n-best");
    if (alone_)
      fail<UsageError>("--force LIST --n-best: scores translations; this is a ", loaded_.model->architecture);
  }

  /// The other models of an ensemble.
  void load_others() {
    request_.refuse(kShowing, ": shows what one model does; give one -m");
    if (inspection_.traces() || inspection_.edits())
      fail<UsageError>("--trace, --patch and other edits apply to one model; give one -m");
    for (const std::string& path : std::span(paths_.models).subspan(1))
      models_.add(path, request_.model(), precision_of(config_));
  }

  /// A frame stored by an earlier --attention needs no decoding.
  void check(const TensorMap& frame, const std::string& name) override {
    is_kept_ = frame.contains("cross_attention/weights") && !frame.contains("encoder/states");
    if (is_kept_ && (!aligner_ || targets_ || prefixes_ || models_.size() > 1 || attention_ || saliency_ ||
                     lens_ || tensors_ || config_.sample || inspection_.traces() || inspection_.edits()))
      fail(name, ": holds stored attention, not /encoder: only --align and viz-dump read it");
    if (is_kept_ && loaded_.model->images)
      fail(name, ": attention over images cannot be aligned from a kept file: give /encoder to --align");
    if (is_kept_)
      request_.refuse({"beam", "length-penalty", "max-length", "precision", "language"}, ": ", name,
                      " holds stored attention, for which nothing is computed");
  }

  /// Several frames are searched at the same time if only their translations are wanted.
  void run_frames(io::FrameReader& input, const Claim& claim) override {
    if (!gives_lines_alone() || models_.size() > 1 || prefixes_) return DecodeJob::run_frames(input, claim);
    std::optional<std::int64_t> begun;  // sentences of the text before the next frame that is read
    for_each_frame(
        input, claim,
        [&](TensorMap& frame) {
          PackedStates memory = decoder_input(frame, *loaded_.model, wanted_);
          frame = {};
          if (!begun) begun = sentences_;  // which the writing thread counts from now on
          TranslateOptions options = options_;
          options.first_sentence = static_cast<std::uint64_t>(*begun);
          *begun += memory.rows.sentences();
          return std::make_unique<SearchedFrame>(models_, std::move(memory), std::move(options), threads_);
        },
        [&](TensorMap&, FrameWork& work) {
          const auto& searched = static_cast<const SearchedFrame&>(work);
          op_times_.add(searched.op_times());
          const Results& results = searched.results();
          check_results(results);
          write_translations(results);
          sentences_ += std::ssize(results);
        },
        threads_, false);
  }

  void read(const TensorMap& frame) override {
    if (is_kept_) {
      words_ = word_numbers(frame, loaded_.source, loaded_.target, options_.beam.more_ends);
      return;
    }
    memory_ = decoder_input(frame, *loaded_.model, wanted_);
    models_.read(frame, memory_.rows, wanted_, threads_);
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

  /// The labels of image places, which have no words.
  std::vector<Ids> places() const {
    std::vector<Ids> images;
    for (std::int64_t s = 0; s < memory_.rows.sentences(); ++s)
      images.emplace_back(static_cast<std::size_t>(memory_.rows.length(s)), 0);
    return images;
  }

  /// The output about a language model's decoding begins with the prompt.
  void expect_prompts() const {
    const char* option = attention_                        ? "--attention"
                         : lens_                           ? "--lens"
                         : inspection_.traces()            ? "--trace"
                         : targets_ && inspection_.edits() ? "--force with edits"
                                                           : nullptr;
    if (!option) return;
    if (std::cmp_not_equal(prompts_.size(), memory_.rows.sentences()))
      fail("/tokens: is missing, and ", option,
           " shows the prompts too: decode frames from embed, which contain it");
    for (std::size_t s = 0; s < prompts_.size(); ++s) {
      // Where a text ends with eos, what is read begins with bos.
      const std::size_t read = prompts_[s].size() + !loaded_.model->reads_as_given;
      if (std::cmp_not_equal(read, memory_.rows.length(static_cast<std::int64_t>(s))))
        throw SentenceError(static_cast<std::int64_t>(s),
                            concat(option, ": /tokens do not end with eos, as those of tokenize do"));
    }
  }

  /// The tokens of the input that a language model predicts.
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
    check_results(results);
    TensorMap attention;
    if (attention_ || aligner_)
      attention =
          decoder_attention(*loaded_.model, memory_, results, is_list(), threads_, &inspection_, whole_text_);
    if (aligner_) {
      aligner_->add(attention.at("cross_attention/weights"), words_of(results));
    } else if (lines_) {
      if (targets_ || whole_text_)
        lines_->write(scored_text(results, loaded_.target));
      else
        write_translations(results);
    }
    if (tensors_) {
      TensorMap out = frame;
      out.merge(hypothesis_map(results, prompts_, loaded_.target));
      tensors_->write(std::move(out));
    }
    if (saliency_) saliency_->write(frame, memory_, best_ids(results));
    if (lens_) {
      TensorMap lens = logit_lens(loaded_, memory_, results, prompts_, threads_, &inspection_, whole_text_);
      lens.attributes = frame.attributes;
      lens_->write(lens);
    }
    if (attention_) {
      attention.attributes = frame.attributes;
      label_decoder_attention(attention, results, is_list(), prompts_, source_, loaded_, whole_text_);
      attention_->write(attention);
    }
    sentences_ += memory_.rows.sentences();
  }

  void finish() override {
    if (targets_) targets_->expect_end();
    if (lists_) lists_->expect_end();
    if (prefixes_) prefixes_->expect_end();
    if (aligner_) aligner_->finish();
    DecodeJob::finish();
    if (attention_) attention_->finish();
    if (saliency_) saliency_->finish();
    if (lens_) lens_->finish();
    if (cut_ > 0)
      logging::note(
          concat(count_of(cut_, "result"), cut_ == 1 ? " was" : " were", " cut at the maximal length"));
    if (options_.times_ops) note_op_times(op_times_);
  }

  void check_results(const Results& results) {
    if (wanted_ == Values::finite) expect_finite(results);
    for (const auto& list : results) {
      for (const Hypothesis& h : list) cut_ += !h.finished;
    }
  }

  void write_translations(const Results& results) {
    lines_->write(translated_text(results, prompts_, sentences_, is_list(), loaded_.target));
  }

  /// Whether several hypotheses of a sentence are wanted.
  bool is_list() const { return config_.n_best > 1; }

  Results search() {
    if (whole_text_) return forced(texts_);
    if (targets_) return forced(targets_->next(memory_.rows.sentences()));
    if (lists_) return ranked(lists_->next(sentences_, memory_.rows.sentences()));
    options_.first_sentence = static_cast<std::uint64_t>(sentences_);
    if (prefixes_) options_.prefixes = prefixes_->next(memory_.rows.sentences());
    Search search(models_.members(memory_), options_, threads_, &inspection_);
    search.run(threads_);
    op_times_.add(search.op_times());
    Results results = search.take_results();
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
    return force(models_.members(memory_), targets, config_.length_penalty, threads_, &inspection_, sampled,
                 whole_text_);
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
      for (const Member& member : models_.members(memory_))
        memories.push_back(selected(*member.input, sources));
      renumbering([&](std::int64_t i) { return sources[static_cast<std::size_t>(i)]; },
                  [&] {
                    Results scored = force(models_.members(memories), {part.begin(), part.end()},
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

  ModelEnsemble models_{loaded_};
  const bool alone_ = !loaded_.model->encoder;
  const bool whole_text_ = paths_.force == kWholeText;  ///< the input itself is scored
  const bool gives_lists_ = !paths_.force.empty() && request_.given("n-best");  ///< n-best lists are scored
  TranslateOptions options_;
  OpTimes op_times_;
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

}  // namespace

std::unique_ptr<DecodeJob> translate_job(const DecodeRequest& request, LoadedModel loaded,
                                         const SearchSettings& usual) {
  return std::make_unique<TranslateJob>(request, std::move(loaded), usual);
}

}  // namespace heed
