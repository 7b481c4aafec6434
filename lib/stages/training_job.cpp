#include "stages/training_job.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/parallel.h"
#include "base/version.h"
#include "io/frame_stream.h"
#include "io/provenance.h"
#include "io/superblock.h"
#include "models/config_json.h"
#include "models/search_settings.h"
#include "stages/derived_model.h"
#include "stages/op_report.h"
#include "text/tokenizer.h"
#include "text/unknown_pieces.h"
#include "train/fine_tuning.h"
#include "train/valid_bleu.h"

namespace heed {
namespace {

/// The tokenizer of a side; for images, which have no vocabulary, one with a single id. `history` receives
/// the commands that made it.
text::Tokenizer tokenizer_of(const std::string& path, const char* side, Attributes& history) {
  if (path.empty()) return text::Tokenizer::of_ids(1, kNoSpecialIds);
  io::expect_hdf5_file(path, "a vocabulary (tokenize --train) or a model");
  const TensorMap map = io::read_map(path);
  const std::string *made_by = io::text_of(map.attributes, "history"),
                    *known = io::text_of(history, "history");
  if (made_by && !(known && *known == *made_by))
    history["history"] = known ? *known + "\n" + *made_by : *made_by;
  return at_place(escaped(path), [&] { return text::Tokenizer::of_side(map, side); });
}

void note_skipped(const char* what, const Corpus& corpus, const LongestSides& longest) {
  if (corpus.skipped_empty > 0) {
    logging::note(
        concat(what, ": skipped ", count_of(corpus.skipped_empty, "sentence"), " with an empty side"));
  }
  if (corpus.skipped_long > 0) {
    logging::note(
        concat(what, ": skipped ", count_of(corpus.skipped_long, "sentence"), " of ", describe(longest)));
  }
}

void note_unknown(const Lines& lines, const text::UnknownPieces& unknown) {
  const std::string complaint = unknown.complaint();
  if (!complaint.empty()) logging::note(concat(lines.path, ": ", complaint));
}

Corpus encoded(const char* what, const CorpusLines& lines, const text::Tokenizer& source,
               const text::Tokenizer& target, const Model<float>& model,
               const std::vector<std::string>& classes) {
  auto most = [&](Side side) { return model.has(side) ? model.sizes(side).max_length : 0; };
  const LongestSides longest{most(Side::source), most(Side::target)};
  text::UnknownPieces unknown_source(source), unknown_target(target);
  Corpus corpus = read_corpus(
      lines,
      [&](const std::string& line) {
        if (model.images) return TokenIds(static_cast<std::size_t>(model.images->rows()));
        TokenIds ids = source.sentence(line);
        unknown_source.add(line, ids);
        return ids;
      },
      [&](const std::string& line) {
        TokenIds ids = model.encoder || model.reads_as_given ? target.with_eos(line) : target.sentence(line);
        unknown_target.add(line, ids);
        return ids;
      },
      longest, classes);
  note_skipped(what, corpus, longest);
  note_unknown(lines.source, unknown_source);
  note_unknown(lines.target, unknown_target);
  return corpus;
}

/// Messages about a file of pairs, whose pieces were counted when it was made.
Corpus mapped(const std::shared_ptr<PairFile>& pairs, const text::Tokenizer& source,
              const text::Tokenizer& target, const Model<float>& model) {
  if (!model.encoder || !model.decoder)
    fail<UsageError>("--corpus: a file of pairs is for models that translate; this is a ",
                     model.architecture);
  if (target.first() != SpecialIds::kAbsent)
    fail<UsageError>("--corpus: the targets of this model begin with ", escaped(target.piece(target.first())),
                     ", which a file of pairs lacks: give --source and --target");
  pairs->expect_vocabularies(source.digest(), source.size(), target.digest(), target.size());
  const LongestSides longest{model.sizes(Side::source).max_length, model.sizes(Side::target).max_length};
  const LongestSides empty{std::ssize(source.sentence("")), std::ssize(target.with_eos(""))};
  Corpus corpus = mapped_corpus(pairs, empty, longest);
  note_skipped("training text", corpus, longest);
  return corpus;
}

/// A decoder starts at bos and stops at eos: without them it can be neither trained nor searched.
void check_decoder_vocabulary(const Model<float>& model, const text::Tokenizer& target,
                              const std::string& path) {
  if (!model.decoder) return;
  const auto refuse = [&](const char* missing) {
    fail<UsageError>(escaped(path), ": the target vocabulary ", missing, ", which a decoder needs");
  };
  const std::int32_t bos = target.special().bos, eos = target.special().eos;
  if (bos == SpecialIds::kAbsent && eos == SpecialIds::kAbsent)
    refuse("has no piece that begins a sentence (bos) and none that ends it (eos)");
  if (bos == SpecialIds::kAbsent) refuse("has no piece that begins a sentence (bos)");
  if (eos == SpecialIds::kAbsent) refuse("has no piece that ends a sentence (eos)");
}

/// The target's vocabulary of a model that is trained on: its texts begin as those of a search do. A model
/// that translates into several languages must state which.
text::Tokenizer target_of(const LoadedModel& initial) {
  const SearchSettings search = search_settings_of(initial.origin).value_or(SearchSettings{});
  const text::Tokenizer& target = initial.target;
  const bool translates = initial.model->encoder && initial.model->decoder;
  if (!translates || target.languages().empty())
    return target.beginning_with(static_cast<std::int32_t>(search.first_token));
  const bool starts_in_language = target.is_language(target.special().bos);
  if (search.first_token == SpecialIds::kAbsent && !starts_in_language)
    fail<UsageError>(
        "--init-from: the model knows ", target.languages().size(),
        " languages, and its folder states none to translate into: give forced_bos_token_id in its "
        "generation_config.json, or tgt_lang in its tokenizer_config.json");
  const std::int32_t code =
      starts_in_language ? target.special().bos : static_cast<std::int32_t>(search.first_token);
  if (const std::int32_t from = initial.source.source_language(); from != SpecialIds::kAbsent)
    logging::note(
        concat("trains to translate from ", initial.source.piece(from), " into ", target.piece(code)));
  return target.beginning_with(static_cast<std::int32_t>(search.first_token));
}

/// Texts, vocabularies and the model, initialised by the seed.
struct Ingredients {
  explicit Ingredients(const TrainingJob& job)
      : source(job.initial ? job.initial->source : tokenizer_of(job.source_vocab, "source", history)),
        target(job.initial ? target_of(*job.initial) : tokenizer_of(job.target_vocab, "target", history)) {
    if (job.initial && !job.initial->history.empty()) history["history"] = job.initial->history;
    io::add_history(history, job.command);
    const auto read = [&](const CorpusFiles& files) {
      return CorpusLines(job.images ? "" : files.source, files.target, files.labels);
    };
    const auto show = [&](const CorpusFiles& files, CorpusLines& lines) {
      if (!model->images) return;
      lines.pictures = read_pictures(files.source, *model->images);
      lines.source = Lines(files.source, lines.pictures);
    };
    CorpusLines text = job.pairs ? CorpusLines("", "", "") : read(job.training);
    classes = classes_of(text.labels);
    model = job.make_model({source.size(), target.size(), static_cast<std::int64_t>(classes.size())});
    if (job.initial) {
      const std::string head = start_from(*job.initial, model, classes, job.seed);
      if (!head.empty()) logging::note(head);
    } else {
      model->parameters.initialize(job.seed, job.threads);
    }
    check_decoder_vocabulary(*model, target, job.target_vocab);
    set_vocabularies(*model, source, target, job.target_vocab);
    show(job.training, text);
    training = job.pairs ? mapped(job.pairs, source, target, *model)
                         : encoded("training text", text, source, target, *model, classes);
    if (job.config.bpe_dropout > 0 || job.config.unigram_alpha > 0) source_lines = text.source.lines;
    if (job.validates()) {
      CorpusLines held_out = read(job.validation);
      show(job.validation, held_out);
      validation = encoded("validation text", held_out, source, target, *model, classes);
    }
  }

  Attributes history;  ///< of vocabularies, a model to start from, and this run
  text::Tokenizer source, target;
  std::vector<std::string> classes;
  std::unique_ptr<Model<float>> model;
  Corpus training, validation;
  std::vector<std::string> source_lines;  ///< of the training text, when its pieces are drawn anew
};

Identity identity_of(const TrainingJob& job, const Ingredients& in) {
  Identity identity;
  const auto model = nlohmann::ordered_json::parse(in.model->config_json);
  const auto defaults = nlohmann::ordered_json::parse(default_config_json(in.model->architecture));
  for (const auto& [name, value] : model.items())
    identity.push_back({name, value.dump(), defaults.contains(name) && value == defaults[name]});
  TrainConfig config = job.config, plain;
  const std::vector<Field> fields = fields_of(config), plain_fields = fields_of(plain);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!part_of_identity(fields[i].name)) continue;
    identity.push_back({fields[i].name, to_json(fields[i]), to_json(fields[i]) == to_json(plain_fields[i])});
  }
  identity.push_back(sum_identity(config.shards));
  identity.push_back({"seed", std::to_string(job.seed)});
  if (job.initial) identity.push_back({"initial model", job.initial->digest});
  identity.push_back({"source vocabulary", in.source.digest()});
  identity.push_back({"target vocabulary", in.target.digest()});
  identity.push_back({"source text", in.training.source_digest});
  identity.push_back({"target text", in.training.target_digest});
  identity.push_back({"validation source text", in.validation.source_digest});
  identity.push_back({"validation target text", in.validation.target_digest});
  if (!in.classes.empty()) {
    identity.push_back({"labels", in.training.label_digest});
    identity.push_back({"validation labels", in.validation.label_digest});
  }
  return identity;
}

/// The origin of a model that starts from `initial`: it keeps its search settings, but not its verification.
std::string fine_tuned(const LoadedModel& initial) {
  nlohmann::json origin = unverified_origin(initial);
  origin["fine_tuned"] = initial.digest;
  return origin.dump();
}

nlohmann::ordered_json summary_of(const Corpus& corpus) {
  nlohmann::ordered_json about{{"sentences", corpus.size()}};
  const auto count = [&](const char* name, const Sentences& side) {
    std::int64_t tokens = 0;
    for (std::int64_t i = 0; i < std::ssize(side); ++i) tokens += side.length(i);
    if (tokens > 0) about[name] = tokens;
  };
  if (corpus.pictures.count() == 0) count("source_tokens", corpus.source);
  count("target_tokens", corpus.target);
  if (corpus.skipped_empty > 0) about["skipped_empty"] = corpus.skipped_empty;
  if (corpus.skipped_long > 0) about["skipped_long"] = corpus.skipped_long;
  for (const auto& [name, digest] : {std::pair("source_sha256", corpus.source_digest),
                                     {"target_sha256", corpus.target_digest},
                                     {"labels_sha256", corpus.label_digest}})
    if (!digest.empty()) about[name] = digest;
  return about;
}

/// The provenance of the run for the model file. It must not depend on the clock, the machine or the number
/// of threads.
std::string provenance_of(const TrainingJob& job, const Ingredients& in) {
  nlohmann::ordered_json about;
  if (!job.preset.empty()) about["preset"] = job.preset;
  if (job.initial) about["initial_model"] = job.initial->digest;
  about["seed"] = job.seed;
  TrainConfig config = job.config;
  for (const Field& field : fields_of(config)) {
    std::string option = field.name;
    std::ranges::replace(option, '_', '-');
    if (std::ranges::count(kWithoutEffect, option) == 0)
      about["recipe"][field.name] = nlohmann::json::parse(to_json(field));
  }
  about["training"] = summary_of(in.training);
  if (job.validates()) about["validation"] = summary_of(in.validation);
  return about.dump();
}

/// Streams of random numbers that no other draws use (train/objective.cpp, train/batching.cpp, nn/scope.h).
constexpr std::uint64_t kPiecesStream = 0xb9e0000000000000u;

/// Resamples the segmentation of the training text for each epoch; a sentence that would be too long for the
/// model keeps its usual pieces. Null if not requested.
std::function<void(std::int64_t epoch)> redraw_of(const TrainingJob& job, Ingredients& in) {
  const TrainConfig& config = job.config;
  if (config.bpe_dropout == 0 && config.unigram_alpha == 0) return nullptr;
  if (config.bpe_dropout > 0 && config.unigram_alpha > 0) {  // one alone is refused where it does not fit
    const bool reads = !in.training.source.empty() && !in.model->images, writes = !in.training.target.empty();
    for (const auto& [option, type] :
         {std::pair("bpe-dropout", "bpe"), std::pair("unigram-alpha", "unigram")})
      if (!(reads && in.source.type() == type) && !(writes && in.target.type() == type))
        fail<UsageError>("--", option, ": no vocabulary of this training is of type ", type);
  }
  if (job.pairs)
    fail<UsageError>(
        "--corpus: --bpe-dropout and --unigram-alpha draw the pieces of a text anew, and a file of pairs has "
        "no text: give --source and --target");
  return [&in, &job, source = in.training.source, target = in.training.target](std::int64_t epoch) {
    const Model<float>& model = *in.model;
    const bool whole = model.encoder || model.reads_as_given;  // as in encoded()
    parallel_for(in.training.size(), job.threads, [&](std::int64_t i) {
      const auto at = static_cast<std::size_t>(i), line = static_cast<std::size_t>(in.training.line_of[at]);
      const auto redraw = [&](Side side, const Sentences& usual, Sentences& pieces, const auto& draw) {
        if (usual.empty()) return;
        const auto number = static_cast<std::uint64_t>(epoch) << 40 | static_cast<std::uint64_t>(i) << 1 |
                            (side == Side::source ? 0u : 1u);
        text::PieceDraw how{job.config.bpe_dropout, job.config.unigram_alpha,
                            Random(job.seed, kPiecesStream ^ number)};
        TokenIds& drawn = pieces.held(at);
        drawn = draw(how);
        const std::int64_t most = model.has(side) ? model.sizes(side).max_length : 0;
        if (most > 0 && std::cmp_greater(drawn.size(), most)) drawn = usual[at];
      };
      if (!model.images)
        redraw(Side::source, source, in.training.source,
               [&](text::PieceDraw& how) { return in.source.sentence(in.source_lines[line], &how); });
      redraw(Side::target, target, in.training.target, [&](text::PieceDraw& how) {
        const std::string& words = in.training.reference[at];
        return whole ? in.target.with_eos(words, &how) : in.target.sentence(words, &how);
      });
    });
  };
}

/// Detects ranks started with different settings before the first update.
void expect_same_run(const TrainingJob& job, const Ingredients& in) {
  if (job.ranks().size() == 1) return;
  std::vector<RankField> fields{{"heed", version()}};
  for (const IdentityField& field : identity_of(job, in)) fields.push_back({field.field, field.value});
  TrainConfig config = job.config;
  for (const Field& field : fields_of(config))
    if (!part_of_identity(field.name)) fields.push_back({field.name, to_json(field)});
  fields.push_back({"resume", job.resume_previous ? "previous" : job.resume ? "yes" : "no"});
  fields.push_back({"allow_mixed_processors", job.allow_mixed_processors ? "yes" : "no"});
  expect_same(job.ranks(), fields,
              "all ranks need the same options, texts, vocabularies and version of heed");
}

TrainSetup setup_of(const TrainingJob& job, Ingredients& in) {
  TrainSetup setup;
  setup.exchange = &job.ranks();
  setup.config = job.config;
  setup.seed = job.seed;
  setup.threads = job.threads;
  setup.times_ops = job.times_ops;
  setup.output = job.output;
  setup.scales = job.write.scales;
  setup.identity = identity_of(job, in);
  setup.redraw = redraw_of(job, in);
  setup.vocabularies = vocabulary_map(in.source, in.target);
  if (!in.classes.empty()) setup.vocabularies.merge(classes_map(in.classes));
  if (job.initial && !job.initial->origin.empty()) setup.origin = origin_map(fine_tuned(*job.initial));
  setup.history = in.history;
  setup.provenance = provenance_of(job, in);
  setup.config.valid_bleu &= job.validates();
  if (in.model->encoder && in.model->decoder)
    setup.bleu = make_bleu_scorer(*in.model, in.validation, in.target, job.threads, job.ranks());
  else if (job.config.valid_bleu || kStopOn(job.config.stop_on) == StopOn::bleu)
    fail<UsageError>("--valid-bleu: a ", in.model->architecture, " makes no translations");
  return setup;
}

void note_start(const TrainingJob& job, const Ingredients& in, const Trainer& trainer) {
  if (!job.validates())
    logging::note("no validation text: no validation loss, no early stopping; the last parameters are kept");
  const std::int64_t step = trainer.state().step;
  logging::note(concat(in.model->architecture, " of ", in.model->parameters.count(), " parameters, ",
                       in.training.size(),
                       in.model->images                         ? " images, "
                       : in.model->encoder && in.model->decoder ? " sentence pairs, "
                                                                : " sentences, ",
                       in.training.tokens(), in.model->decoder ? " target tokens, " : " tokens, ",
                       count_of(job.threads, "thread"),
                       job.exchange ? concat(" on each of ", job.exchange->size(), " ranks") : "",
                       step > 0 ? concat(", continuing after update ", step) : ""));
}

void note_phases(const PhaseSeconds& seconds) {
  const double total = std::max(seconds.shards + seconds.sum + seconds.update, 1e-9);
  auto percent = [&](double part) { return std::lround(100 * part / total); };
  logging::verbose(concat("updates took ", std::lround(total), " s: forward and backward ",
                          percent(seconds.shards), "%, sum of gradients ", percent(seconds.sum),
                          "%, optimizer ", percent(seconds.update), "%"));
}

Batch largest(const Batches& batches) {
  std::size_t at = 0;
  for (std::size_t i = 1; i < batches.size(); ++i)
    if (batches.tokens(i) > batches.tokens(at)) at = i;
  return batches[at];
}

}  // namespace

Trainer::Outcome run_training(const TrainingJob& job, const std::atomic<bool>& stop) {
  std::optional<Ingredients> ingredients;
  TrainSetup setup;
  together(job.ranks(), [&] {
    check(job.config);
    if (job.ranks().rank() == 0) RunFiles(job.output).expect_names_fit();
    setup = setup_of(job, ingredients.emplace(job));
  });
  const Ingredients& in = *ingredients;
  expect_same_run(job, in);
  Trainer trainer(*in.model, in.training, in.validation, std::move(setup));
  if (job.resume_previous) {
    trainer.resume_previous();
  } else if (job.resume && !trainer.resume()) {
    logging::note("no checkpoint to resume from: starting a new run");
  }
  if (!job.allow_mixed_processors) trainer.expect_same_arithmetic();
  note_start(job, in, trainer);
  const Trainer::Outcome outcome = trainer.run(stop);
  note_phases(trainer.seconds());
  if (job.times_ops) note_op_times(trainer.op_times());
  return outcome;
}

std::string describe_training(const TrainingJob& job) {
  check(job.config);
  Ingredients in(job);
  const Batches batches = make_batches(in.training, job.config.batch_tokens, job.config.shards, job.seed, 0);
  Gradients gradients(*in.model, Objective(*in.model, job.config.r_drop), in.training, job.threads, job.seed,
                      job.config);
  Optimizer optimizer(job.config, in.model->parameters.values().size(), job.threads);
  gradients.compute(largest(batches), 1);
  optimizer.apply(1, 0, gradients.norm(), gradients.flat(), in.model->parameters.values());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return concat("parameters\t", in.model->parameters.count(),
                in.model->encoder && in.model->decoder ? "\nsentence pairs\t" : "\nsentences\t",
                in.training.size(), in.model->decoder ? "\ntarget tokens\t" : "\ntokens\t",
                in.training.tokens(), "\nupdates per epoch\t", batches.size(),
                "\npeak memory of an update, MB\t", usage.ru_maxrss / 1024, "\n");
}

}  // namespace heed
