#include "stages/train.h"

#include <filesystem>
#include <iostream>

#include "base/log.h"
#include "base/parallel.h"
#include "models/config_json.h"
#include "models/model_file.h"
#include "train/launch.h"
#include "train/presets.h"

namespace heed {
namespace {

/// The texts that a model learns from follow from the fields of its config.
void check_files(const IsGiven& given, TrainCommand& o, const std::string& architecture,
                 const std::vector<Field>& own) {
  const bool reads_source = find_field(own, "source_vocab_size"),
             reads_target = find_field(own, "target_vocab_size"),
             has_words = (reads_source && !o.job.images) || reads_target;
  const Field* classes = find_field(own, "n_classes");
  std::vector<std::string> missing;
  auto require = [&](const std::string& value, const std::string& option) {
    if (value.empty()) missing.push_back(option);
  };
  const bool validates = o.job.validates();
  auto check = [&](const char* name, bool wanted, bool may_miss, const std::string& training,
                   const std::string& validation) {
    const std::string option = concat("--", name), valid = concat("--valid-", name);
    if (!wanted && !(training.empty() && validation.empty()))
      fail<UsageError>(training.empty() ? valid : option, ": ",
                       o.job.initial ? "--init-from " + escaped(o.job.init) : "--preset " + o.preset,
                       " is of architecture ", architecture, ", which reads no ", name);
    if (may_miss && training.empty() && validation.empty()) return;
    if (wanted) require(training, option);
    if (wanted && validates) require(validation, valid);
  };
  check("source", reads_source, false, o.job.training.source, o.job.validation.source);
  check("target", reads_target, false, o.job.training.target, o.job.validation.target);
  const bool fills_in = !o.job.initial || (o.job.initial->model->words && !o.job.initial->model->classes);
  check("labels", classes, !o.job.images && classes && classes->range.holds(0) && fills_in,
        o.job.training.labels, o.job.validation.labels);
  for (const char* option : {"vocab", "source-vocab", "target-vocab"}) {
    if (!has_words && given(option))
      fail<UsageError>("--", option, ": images have no words, and classes are named by the labels");
  }
  if (o.job.images && given("source-vocab")) fail<UsageError>("--source-vocab: images have no words");
  if (o.job.source_vocab.empty()) o.job.source_vocab = o.vocab.empty() ? o.job.target_vocab : o.vocab;
  if (o.job.target_vocab.empty()) o.job.target_vocab = o.vocab.empty() ? o.job.source_vocab : o.vocab;
  const bool has_both = given("source-vocab") && given("target-vocab"),
             wants_both = reads_source && reads_target && !o.job.images;
  if (has_words) require(wants_both && !has_both ? o.vocab : o.job.source_vocab, "--vocab");
  if (o.job.images && !o.job.initial) o.job.source_vocab.clear();
  if (!missing.empty())
    fail<UsageError>(joined(missing, ", "), missing.size() == 1 ? ": is missing" : ": are missing");
  if (!o.dry_run && (o.job.output.empty() || o.job.output == "-")) {
    fail<UsageError>("-o: wanted a file: checkpoint and metrics are written beside it");
  }
  for (const char* option : {"--source-vocab-size", "--target-vocab-size"}) {
    if (given(option)) fail<UsageError>(option, ": is determined by the vocabulary files");
  }
  if (given("n_classes")) fail<UsageError>("--n-classes: is determined by the labels");
  if (given("problem_type")) fail<UsageError>("--problem-type: only one label per sentence can be trained");
}

/// Refuses options that need validation text.
void check_unvalidated(const IsGiven& given, const TrainingJob& job) {
  if (job.validates()) return;
  for (const char* option : {"--valid-bleu", "--stop-on", "--patience", "--validate-every"}) {
    if (given(option)) fail<UsageError>(option, ": needs validation text (--valid-source, --valid-target)");
  }
  if (kSchedules(job.config.schedule) == Schedule::plateau)
    fail<UsageError>("--schedule plateau: needs validation text (--valid-source, --valid-target)");
  if (job.config.max_epochs == 0 && job.config.max_updates == 0 && job.config.max_minutes == 0)
    fail<UsageError>(
        "without validation text nothing ends the run: give --max-updates, --max-epochs or --max-minutes, or "
        "--valid-source and --valid-target");
}

/// A model that took hours must not be lost to a repeated command.
void protect_finished(const TrainingJob& job) {
  const bool resumes = job.resume || job.resume_previous;
  if (resumes && job.overwrite) fail<UsageError>("--resume and --overwrite exclude each other");
  const std::filesystem::path output(job.output);
  if (resumes || job.overwrite || !exists(output) || is_directory(output))
    return;  // a folder is refused later
  fail<UsageError>("-o ", escaped(job.output),
                   ": already exists; --resume continues its run, --overwrite replaces it, and another -o "
                   "leaves it alone");
}

void set_size(const std::vector<Field>& fields, const char* name, std::int64_t size) {
  if (const Field* field = find_field(fields, name)) *std::get<std::int64_t*>(field->value) = size;
}

/// An option of another architecture would have no effect.
void refuse_other_models(const IsGiven& given, TrainCommand& o, const std::string& architecture,
                         const std::vector<Field>& own) {
  for (const Field& field : o.model_fields()) {
    if (!find_field(own, field.name) && given(field.name)) {
      fail<UsageError>("--preset ", o.preset, " is of architecture ", architecture, ", which has no ",
                       field.name);
    }
  }
}

/// A trained model must not forget in the first updates.
constexpr double kFineTuningRate = 5e-5;
constexpr std::int64_t kFineTuningWarmup = 100;

/// Applies the given options to a recipe. If --max-updates limits the training, the recipe's limit does not
/// apply.
void overlay_given(const IsGiven& given, TrainCommand& o) {
  overlay(fields_of(o.training), fields_of(o.job.config), given);
  if (o.job.config.max_updates > 0 && given("max_updates") && !given("max_epochs"))
    o.job.config.max_epochs = 0;
}

/// Fields of a classifier that may change with a new head.
bool is_of_head(const std::string& field) {
  return field == "pooling" || field == "pooler";
}

/// The config of the initial model as a classifier; without classes: unchanged.
template <class Config>
void set_classes(Config& config, const Config& asked, const IsGiven& given, std::int64_t classes) {
  if (classes == 0) return;
  if constexpr (requires { config.classify(classes); }) {
    config.classify(classes, given("pooling") ? asked.pooling : "");
    if (given("pooler")) config.pooler = asked.pooler;
  } else {
    set_size(fields_of(config), "n_classes", classes);
  }
}

/// --init-from: the body of the model is unchanged, and with --labels it may get another head
/// (train/fine_tuning.h). The recipe is the preset's if one is given, otherwise TrainConfig's with a low
/// constant learning rate; the given options override it.
void configure_from_model(const IsGiven& given, TrainCommand& o) {
  if (given("vocab") || given("source-vocab") || given("target-vocab"))
    fail<UsageError>("--vocab: --init-from ", escaped(o.job.init), " brings its own vocabulary");
  o.job.initial = std::make_shared<LoadedModel>(load_model(o.job.init));
  const std::string& architecture = o.job.initial->model->architecture;
  o.job.images = o.job.initial->model->images.has_value();
  o.job.source_vocab = o.job.target_vocab = o.vocab = o.job.init;
  with_architecture(architecture, [&](const auto& known) {
    using Config = typename std::decay_t<decltype(known)>::Config;
    Config config;
    check_files(given, o, architecture, fields_of(config));
    from_json(o.job.initial->model->config_json, fields_of(config));
    const std::vector<Field> own = fields_of(config);
    for (const Field& field : o.model_fields()) {
      const Field* same = find_field(own, field.name);
      if (given(field.name) &&
          !(same && (same->of_training || (is_of_head(field.name) && !o.job.training.labels.empty()))))
        fail<UsageError>("--init-from ", escaped(o.job.init), " decides ", field.name,
                         same && is_of_head(field.name) ? ", unless there are --labels" : "");
    }
    overlay(o.model_fields(), own, [&](const std::string& name) { return given(name) && !is_of_head(name); });
    Config asked;
    overlay(o.model_fields(), fields_of(asked), given);
    o.job.make_model = [=](const DataSizes& sizes) mutable {
      set_classes(config, asked, given, sizes.classes);
      return build<float>(config);
    };
  });
  if (given("preset")) {
    from_json(find_preset(o.preset).training, fields_of(o.job.config));
  } else {
    o.job.config.schedule = "constant";
    o.job.config.label_smoothing = 0;
    o.job.config.warmup = kFineTuningWarmup;
    o.job.config.learning_rate = kFineTuningRate;
  }
  overlay_given(given, o);
}

/// Whether a model with this configuration reads images.
template <class Config>
bool reads_images(const IsGiven& given, TrainCommand& o, Config config) {
  if constexpr (std::is_base_of_v<ImageOptions, Config>) {
    overlay(o.model_fields(), fields_of(config), given);
    return config.reads_images();
  }
  return false;
}

/// Joins the other ranks, if any; only rank 0 prints messages.
void join(TrainingJob& job, double timeout) {
  job.exchange = join_ranks(timeout);
  if (!job.exchange) return;
  Exchange& exchange = *job.exchange;
  if (exchange.rank() > 0)
    logging::configure({concat(logging::program(), "[", name_of(exchange, exchange.rank()), "]"),
                        logging::Level::quiet, logging::When::never});
  std::size_t bound = 0;
  for (const std::string& rank : all(exchange, job.threads > usable_cores() ? "bound" : ""))
    bound += !rank.empty();
  if (exchange.rank() == 0 && bound > 0)
    logging::warn(
        concat("--threads ", job.threads, ": ", bound, " of ", exchange.size(),
               " ranks may use fewer cores: with mpirun give --bind-to none, with srun --cpus-per-task ",
               job.threads));
}

/// The preset's values, overridden by the given options.
void configure(const IsGiven& given, TrainCommand& o) {
  if (!o.job.init.empty()) return configure_from_model(given, o);
  const Preset& preset = find_preset(o.preset);
  with_architecture(preset.architecture, [&](const auto& architecture) {
    using Architecture = std::decay_t<decltype(architecture)>;
    using Config = typename Architecture::Config;
    Config model;
    from_json(preset.model, fields_of(model));
    o.job.images = reads_images(given, o, model);
    check_files(given, o, Config::kArchitecture, fields_of(model));
    refuse_other_models(given, o, Config::kArchitecture, fields_of(model));
    overlay(o.model_fields(), fields_of(model), given);
    if constexpr (std::is_base_of_v<TransformerOptions, Config> && std::is_base_of_v<ImageOptions, Config>) {
      if (o.job.images && !given("max_length")) model.max_length = model.patches().rows();
    }
    Config trial = model;  // before any text is read, when the sizes that it decides are unknown
    for (const char* size : {"source_vocab_size", "target_vocab_size"}) set_size(fields_of(trial), size, 1);
    if constexpr (requires { trial.causal; })  // which goes with classes, not with masked words
      if (trial.causal && !o.job.training.labels.empty()) trial.n_classes = 2;
    check_config(trial);
    o.job.make_model = [model](const DataSizes& sizes) mutable {
      const std::vector<Field> fields = fields_of(model);
      set_size(fields, "source_vocab_size", sizes.source_vocab);
      set_size(fields, "target_vocab_size", sizes.target_vocab);
      set_size(fields, "n_classes", sizes.classes);
      return build<float>(model);
    };
  });
  from_json(preset.training, fields_of(o.job.config));
  overlay_given(given, o);
}

}  // namespace

std::vector<Field> TrainCommand::model_fields() {
  std::vector<Field> all;
  auto collect = [&](auto& config) {
    for (const Field& field : fields_of(config)) {
      if (!find_field(all, field.name)) all.push_back(field);
    }
  };
  std::apply([&](auto&... config) { (collect(config), ...); }, models);
  return all;
}

/// A corpus file replaces --source and --target; the history names the texts it was made from.
void TrainCommand::map_corpus() {
  if (!job.training.source.empty() || !job.training.target.empty() || !job.training.labels.empty())
    fail<UsageError>(
        "--corpus holds both sides of the training text: leave out --source, --target and --labels");
  job.pairs = std::make_shared<PairFile>(corpus);
  job.training.source = job.training.target = corpus;
  const std::string tool = "train";
  job.command = concat(tool, " ", job.pairs->info().texts, job.command.substr(tool.size()));
}

void TrainCommand::run(const IsGiven& given, const std::function<std::atomic<bool>&()>& stop_flag) {
  if (list_presets) {
    std::cout << preset_table();
    return;
  }
  const NewModelFile file{job.output, job.command, job.overwrite, job.write.scales};
  if (!import.from.empty()) return import.run(file);
  if (!mean.models.empty()) return mean.run(file);
  if (exchange == "auto") join(job, exchange_timeout);
  const bool first = job.ranks().rank() == 0;
  together(job.ranks(), [&] {
    for (const char* option : {"list", "expect", "ignore", "ignore-field"})
      if (given(option)) fail<UsageError>("--", option, " goes with --import");
    if (!corpus.empty()) map_corpus();
    configure(given, *this);
    if (job.pairs && job.images)
      fail<UsageError>("--corpus: the model reads images, and a file of pairs holds text");
    if (job.init.empty() || given("preset")) job.preset = preset;
    check_unvalidated(given, job);
    if (first && !dry_run) protect_finished(job);
  });
  if (dry_run) {
    if (first) std::cout << describe_training(job);
    job.exchange.reset();  // not meet(): the watchdog would count how long the others wait
  } else {
    run_training(job, stop_flag());
    meet(job.ranks());  // rank 0 may still have been writing
    job.exchange.reset();
  }
}

}  // namespace heed
