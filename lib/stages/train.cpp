#include "stages/train.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/fields.h"
#include "base/log.h"
#include "io/frame_stream.h"
#include "models/model_file.h"
#include "text/tokenizer.h"
#include "train/corpus.h"
#include "train/valid_bleu.h"

namespace heed {

namespace {

text::Tokenizer read_tokenizer(const std::string& path, const char* side) {
  try {
    return text::Tokenizer::of_side(io::read_map(path), side);
  } catch (const Error& error) {
    fail(escaped(path), ": no vocabulary: ", error.what());
  }
}

void note_skipped(const char* what, const Corpus& corpus, const LongestSides& longest) {
  if (corpus.skipped_empty > 0) {
    logging::note(concat(what, ": skipped ", corpus.skipped_empty, " sentences with an empty side"));
  }
  if (corpus.skipped_long > 0) {
    logging::note(concat(what, ": skipped ", corpus.skipped_long, " sentences of ", describe(longest)));
  }
}

Corpus read_text(const char* what, const CorpusFiles& files, const text::Tokenizer& source,
                 const text::Tokenizer& target, const Model<float>& model,
                 const std::vector<std::string>& classes) {
  auto most = [&](Side side) { return model.has(side) ? model.sizes(side).max_length : 0; };
  const LongestSides longest{most(Side::source), most(Side::target)};
  Corpus corpus = read_corpus(
      files, [&](const std::string& line) { return source.sentence(line); },
      [&](const std::string& line) { return model.encoder ? target.with_eos(line) : target.sentence(line); },
      longest, classes);
  note_skipped(what, corpus, longest);
  return corpus;
}

std::vector<std::string> classes_of(const TrainingJob& job) {
  return job.training.labels.empty() ? std::vector<std::string>{} : read_classes(job.training.labels);
}

/// Texts, vocabularies and the model, initialised by the seed.
struct Ingredients {
  explicit Ingredients(const TrainingJob& job)
      : source(read_tokenizer(job.source_vocab, "source")),
        target(read_tokenizer(job.target_vocab, "target")),
        classes(classes_of(job)),
        model(job.make_model({source.size(), target.size(), static_cast<std::int64_t>(classes.size())})),
        training(read_text("training text", job.training, source, target, *model, classes)),
        validation(read_text("validation text", job.validation, source, target, *model, classes)) {
    model->source_special = source.special();
    model->target_special = target.special();
    model->parameters.initialize(job.seed);
  }

  text::Tokenizer source, target;
  std::vector<std::string> classes;
  std::unique_ptr<Model<float>> model;
  Corpus training, validation;
};

std::string text_of(const Field& field) {
  return std::visit([](const auto* value) { return nlohmann::json(*value).dump(); }, field.value);
}

Identity identity_of(const TrainingJob& job, const Ingredients& in) {
  Identity identity;
  const auto model = nlohmann::ordered_json::parse(in.model->config_json);
  const auto defaults = nlohmann::ordered_json::parse(default_config_json(in.model->architecture));
  for (const auto& [name, value] : model.items())
    identity.push_back({name, value.dump(), value == defaults[name]});
  TrainConfig config = job.config, plain;
  const std::vector<Field> fields = fields_of(config), plain_fields = fields_of(plain);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!part_of_identity(fields[i].name)) continue;
    identity.push_back({fields[i].name, text_of(fields[i]), text_of(fields[i]) == text_of(plain_fields[i])});
  }
  identity.push_back({"seed", std::to_string(job.seed)});
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

TrainSetup setup_of(const TrainingJob& job, const Ingredients& in) {
  TrainSetup setup;
  setup.config = job.config;
  setup.seed = job.seed;
  setup.threads = job.threads;
  setup.output = job.output;
  setup.identity = identity_of(job, in);
  setup.vocabularies = vocabulary_map(in.source, in.target);
  if (!in.classes.empty()) setup.vocabularies.merge(classes_map(in.classes));
  if (in.model->encoder && in.model->decoder)
    setup.bleu = make_bleu_scorer(*in.model, in.validation, in.target, job.threads);
  else if (job.config.valid_bleu || job.config.stop_on == "bleu")
    fail<UsageError>("--valid-bleu: a ", in.model->architecture, " makes no translations");
  return setup;
}

void note_start(const TrainingJob& job, const Ingredients& in, const Trainer& trainer) {
  const std::int64_t step = trainer.state().step;
  logging::note(concat(
      in.model->architecture, " of ", in.model->parameters.count(), " parameters, ", in.training.size(),
      in.model->encoder && in.model->decoder ? " sentence pairs, " : " sentences, ", in.training.tokens(),
      in.model->decoder ? " target tokens, " : " tokens, ", job.threads,
      job.threads == 1 ? " thread" : " threads", step > 0 ? concat(", continuing after update ", step) : ""));
}

void note_phases(const PhaseSeconds& seconds) {
  const double total = std::max(seconds.shards + seconds.sum + seconds.update, 1e-9);
  auto percent = [&](double part) { return std::lround(100 * part / total); };
  logging::verbose(concat("updates took ", std::lround(total), " s: forward and backward ",
                          percent(seconds.shards), "%, sum of gradients ", percent(seconds.sum),
                          "%, optimizer ", percent(seconds.update), "%"));
}

const Batch& largest(const std::vector<Batch>& batches) {
  return *std::max_element(batches.begin(), batches.end(),
                           [](const Batch& a, const Batch& b) { return a.tokens < b.tokens; });
}

}  // namespace

Trainer::Outcome run_training(const TrainingJob& job, const std::atomic<bool>& stop) {
  check(job.config);
  Ingredients in(job);
  Trainer trainer(*in.model, in.training, in.validation, setup_of(job, in));
  if (job.resume_previous) {
    trainer.resume_previous();
  } else if (job.resume && !trainer.resume()) {
    logging::note("no checkpoint to resume from: starting a new run");
  }
  note_start(job, in, trainer);
  const Trainer::Outcome outcome = trainer.run(stop);
  note_phases(trainer.seconds());
  return outcome;
}

std::string describe_training(const TrainingJob& job) {
  check(job.config);
  Ingredients in(job);
  const std::vector<Batch> batches =
      make_batches(in.training, job.config.batch_tokens, job.config.shards, job.seed, 0);
  Gradients gradients(*in.model, Objective(*in.model), in.training, job.config.shards, job.threads, job.seed,
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
