// train: learns a translation model from parallel text.
#include <algorithm>
#include <iostream>

#include "base/error.h"
#include "cli/tool.h"
#include "models/architectures.h"
#include "models/config_json.h"
#include "train/presets.h"
#include "train/training.h"

namespace {

using namespace heed;

template <class... Each>
std::tuple<typename Each::Config...> configs_of(const std::tuple<Each...>&) {
  return {};
}

struct Options {
  TrainingJob job;
  std::string preset = "transformer-base", vocab;
  decltype(configs_of(kArchitectures)) models;  ///< bound to the options, like `training`;
  TrainConfig training;                         ///< the preset comes between
  bool dry_run = false;
};

void declare(cli::Tool& tool, Options& o) {
  tool.option("--source FILE", o.job.source, "source sentences, one per line");
  tool.option("--target FILE", o.job.target, "their translations, line by line");
  tool.option("--valid-source FILE", o.job.valid_source, "source sentences for validation");
  tool.option("--valid-target FILE", o.job.valid_target, "their translations");
  tool.option("--vocab FILE", o.vocab, "vocabulary of both sides, made by tokenize --train");
  tool.option("--source-vocab FILE", o.job.source_vocab, "vocabulary of the source side");
  tool.option("--target-vocab FILE", o.job.target_vocab, "vocabulary of the target side");
  tool.output(o.job.output, "the model file; what belongs to the run is written beside it");
  tool.option("--preset", o.preset, "model and recipe that the options below start from",
              cli::one_of(preset_names()));
  tool.option("--resume", o.job.resume, "continue from MODEL.checkpoint, exactly");
  tool.option("--resume-previous", o.job.resume_previous, "continue from the checkpoint before it");
  tool.option("--dry-run", o.dry_run, "print sizes and memory instead of training");
  std::apply([&](auto&... model) { (tool.bind(model), ...); }, o.models);
  tool.bind(o.training);
  tool.describe(
      "Model and training options not given take the preset's values, which may differ from the defaults "
      "shown.");
  tool.example(
      "train --source a.en --target a.fr --valid-source b.en --valid-target b.fr --vocab v.h5 "
      "--preset transformer-tiny -o model.h5");
  tool.example(
      "train --source a.en --target a.fr --valid-source b.en --valid-target b.fr --vocab v.h5 "
      "--preset transformer-tiny -o model.h5 --resume");
}

void require(const std::string& value, const char* option) {
  if (value.empty()) fail<UsageError>(option, ": is missing");
}

void check_files(const cli::Tool& tool, Options& o) {
  if (o.job.source_vocab.empty()) o.job.source_vocab = o.vocab;
  if (o.job.target_vocab.empty()) o.job.target_vocab = o.vocab;
  require(o.job.source, "--source");
  require(o.job.target, "--target");
  require(o.job.valid_source, "--valid-source");
  require(o.job.valid_target, "--valid-target");
  require(o.job.source_vocab, "--vocab");
  require(o.job.target_vocab, "--vocab");
  if (!o.dry_run && (o.job.output.empty() || o.job.output == "-")) {
    fail<UsageError>("-o: a file is wanted, for other files are written beside the model");
  }
  for (const char* field : {"source_vocab_size", "target_vocab_size"}) {
    if (tool.given(field)) fail<UsageError>("--", field, ": the vocabulary files decide it");
  }
}

/// An option of another architecture would change nothing.
void refuse_other_models(const cli::Tool& tool, Options& o, const std::string& architecture,
                         const std::vector<Field>& own) {
  auto refuse = [&](auto& config) {
    for (const Field& field : fields_of(config)) {
      const bool known =
          std::any_of(own.begin(), own.end(), [&](const Field& f) { return f.name == field.name; });
      if (!known && tool.given(field.name)) {
        fail<UsageError>("--preset ", o.preset, " trains a ", architecture, ", which has no ", field.name);
      }
    }
  };
  std::apply([&](auto&... config) { (refuse(config), ...); }, o.models);
}

/// The preset's values with the options given on top.
void configure(const cli::Tool& tool, Options& o) {
  const Preset& preset = find_preset(o.preset);
  with_architecture(preset.architecture, [&](const auto& architecture) {
    using Architecture = std::decay_t<decltype(architecture)>;
    typename Architecture::Config model;
    from_json(preset.model, fields_of(model));
    refuse_other_models(tool, o, architecture.name, fields_of(model));
    tool.overlay(model);
    o.job.make_model = [model](std::int64_t source, std::int64_t target) mutable {
      model.source_vocab_size = source;
      model.target_vocab_size = target;
      model.check();
      return std::make_unique<typename Architecture::template Model<float>>(model);
    };
  });
  from_json(preset.training, fields_of(o.job.config));
  tool.overlay(o.job.config);
  o.job.seed = static_cast<std::uint64_t>(tool.common().seed);
  o.job.threads = static_cast<int>(tool.common().threads);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  return cli::run_tool("train", "Learn a translation model from parallel text.", argc, argv,
                       [&](cli::Tool& tool) {
                         declare(tool, options);
                         tool.on_run([&] {
                           check_files(tool, options);
                           configure(tool, options);
                           if (options.dry_run) {
                             std::cout << describe_training(options.job);
                           } else {
                             run_training(options.job, tool.stop_flag());
                           }
                         });
                       });
}
