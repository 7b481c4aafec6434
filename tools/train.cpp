// Text -> a model.
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <tuple>
#include <type_traits>

#include "base/error.h"
#include "cli/tool.h"
#include "models/architectures.h"
#include "models/config_json.h"
#include "stages/train.h"
#include "train/presets.h"

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
  bool dry_run = false, list_presets = false;
};

/// Fields that exactly these architectures have.
struct FieldGroup {
  std::vector<std::string> architectures;
  std::vector<Field> fields;  ///< of the first of them
};

/// The fields of all configs, each once, those of most architectures first.
std::vector<FieldGroup> grouped_fields(Options& o) {
  std::vector<Field> all;
  std::map<std::string, std::vector<std::string>> owners;
  auto collect = [&](auto& config) {
    for (const Field& field : fields_of(config)) {
      if (!owners.contains(field.name)) all.push_back(field);
      owners[field.name].emplace_back(config.kArchitecture);
    }
  };
  std::apply([&](auto&... config) { (collect(config), ...); }, o.models);
  std::vector<FieldGroup> groups;
  for (const Field& field : all) {
    auto group = std::ranges::find(groups, owners[field.name], &FieldGroup::architectures);
    if (group == groups.end()) group = groups.insert(groups.end(), {owners[field.name], {}});
    group->fields.push_back(field);
  }
  std::ranges::stable_sort(groups, std::greater(),
                           [](const FieldGroup& g) { return g.architectures.size(); });
  return groups;
}

/// "Transformers (transformer, decoder, encoder)", "bahdanau, cho"
std::string heading_of(const FieldGroup& group, const Options& o) {
  std::vector<std::string> transformers, recurrent;
  std::string names;
  auto sort = [&]<class Config>(const Config&) {
    if (std::is_base_of_v<TransformerOptions, Config>) transformers.emplace_back(Config::kArchitecture);
    if (std::is_base_of_v<RecurrentOptions, Config>) recurrent.emplace_back(Config::kArchitecture);
  };
  std::apply([&](const auto&... config) { (sort(config), ...); }, o.models);
  for (const std::string& name : group.architectures) names += (names.empty() ? "" : ", ") + name;
  if (group.architectures.size() == std::tuple_size_v<decltype(o.models)>) return "All models";
  if (group.architectures == transformers) return concat("Transformers (", names, ")");
  if (group.architectures == recurrent) return concat("Recurrent models (", names, ")");
  return names;
}

/// Fields that the data decides; given as options they are refused with a reason (check_files).
const std::set<std::string> kOfTheData{"source_vocab_size", "target_vocab_size", "n_classes"};

void declare_models(cli::Tool& tool, Options& o) {
  for (FieldGroup& group : grouped_fields(o)) {
    const auto of_the_data = [](const Field& field) { return kOfTheData.contains(field.name); };
    const auto own = std::ranges::stable_partition(group.fields, of_the_data);
    tool.heading("");
    tool.bind_over_preset({group.fields.begin(), own.begin()});
    tool.heading(heading_of(group, o));
    tool.bind_over_preset({own.begin(), own.end()});
  }
}

void declare(cli::Tool& tool, Options& o) {
  tool.option("--source FILE", o.job.training.source, "source sentences, one per line");
  tool.option("--target FILE", o.job.training.target,
              "their translations, line by line; for a language model the text that it learns");
  tool.option("--labels FILE", o.job.training.labels, "classes of the source sentences, a label per line");
  tool.option("--valid-source FILE", o.job.validation.source, "source sentences for validation");
  tool.option("--valid-target FILE", o.job.validation.target, "their translations, or text");
  tool.option("--valid-labels FILE", o.job.validation.labels, "their classes");
  tool.option("--vocab FILE", o.vocab, "vocabulary of both sides, made by tokenize --train");
  tool.option("--source-vocab FILE", o.job.source_vocab, "vocabulary of the source side");
  tool.option("--target-vocab FILE", o.job.target_vocab, "vocabulary of the target side");
  tool.output(o.job.output, "the model file; checkpoint and metrics of the run are written beside it");
  tool.option("--preset", o.preset, "model and recipe that the options below start from",
              cli::one_of(preset_names()));
  tool.option("--list-presets", o.list_presets, "print the presets with their sizes and recipes and exit");
  tool.option("--resume", o.job.resume, "continue from MODEL.checkpoint, exactly");
  tool.option("--resume-previous", o.job.resume_previous, "continue from the checkpoint before it");
  tool.option("--dry-run", o.dry_run, "print sizes and memory instead of training");
  declare_models(tool, o);
  tool.heading("Training");
  tool.bind_over_preset(fields_of(o.training));
  tool.describe(
      "The options of model and training that are not given take the preset's values; --list-presets shows "
      "what "
      "they amount to. An option belongs to the architectures in its heading.");
  tool.example(
      "train --source a.en --target a.fr --valid-source b.en --valid-target b.fr --vocab v.h5 "
      "--preset transformer-tiny -o model.h5");
  tool.example(
      "train --source a.en --target a.fr --valid-source b.en --valid-target b.fr --vocab v.h5 "
      "--preset transformer-tiny -o model.h5 --resume");
  tool.example("train --preset gpt-tiny --target a.en --valid-target b.en --vocab v.h5 -o gpt.h5");
  tool.example(
      "train --preset bert-tiny --source a.en --labels a.labels --valid-source b.en --valid-labels b.labels "
      "--vocab v.h5 -o classifier.h5");
}

void require(const std::string& value, const char* option) {
  if (value.empty()) fail<UsageError>(option, ": is missing");
}

bool has_field(const std::vector<Field>& fields, const std::string& name) {
  return std::any_of(fields.begin(), fields.end(), [&](const Field& f) { return f.name == name; });
}

/// Which texts a model learns from follows from the fields of its config.
void check_files(const cli::Tool& tool, Options& o, const std::string& architecture,
                 const std::vector<Field>& own) {
  const bool reads_source = has_field(own, "source_vocab_size"),
             reads_target = has_field(own, "target_vocab_size"), classifies = has_field(own, "n_classes");
  auto check = [&](const char* name, bool wanted, bool may_miss, const std::string& training,
                   const std::string& validation) {
    const std::string option = concat("--", name), valid = concat("--valid-", name);
    if (!wanted && !(training.empty() && validation.empty()))
      fail<UsageError>(training.empty() ? valid : option, ": --preset ", o.preset, " is of architecture ",
                       architecture, ", which reads no ", name);
    if (may_miss && training.empty() && validation.empty()) return;
    if (wanted) require(training, option.c_str());
    if (wanted) require(validation, valid.c_str());
  };
  check("source", reads_source, false, o.job.training.source, o.job.validation.source);
  check("target", reads_target, false, o.job.training.target, o.job.validation.target);
  check("labels", classifies, true, o.job.training.labels, o.job.validation.labels);
  if (o.job.source_vocab.empty()) o.job.source_vocab = o.vocab.empty() ? o.job.target_vocab : o.vocab;
  if (o.job.target_vocab.empty()) o.job.target_vocab = o.vocab.empty() ? o.job.source_vocab : o.vocab;
  if (reads_source && reads_target && o.vocab.empty() &&
      (!tool.given("source-vocab") || !tool.given("target-vocab")))
    require("", "--vocab");
  require(o.job.source_vocab, "--vocab");
  if (!o.dry_run && (o.job.output.empty() || o.job.output == "-")) {
    fail<UsageError>("-o: wanted a file: checkpoint and metrics are written beside it");
  }
  for (const char* option : {"--source-vocab-size", "--target-vocab-size"}) {
    if (tool.given(option)) fail<UsageError>(option, ": the vocabulary files decide it");
  }
  if (tool.given("n_classes")) fail<UsageError>("--n-classes: the labels decide it");
}

void set_size(const std::vector<Field>& fields, const char* name, std::int64_t size) {
  for (const Field& field : fields)
    if (field.name == name) *std::get<std::int64_t*>(field.value) = size;
}

/// An option of another architecture would change nothing.
void refuse_other_models(const cli::Tool& tool, Options& o, const std::string& architecture,
                         const std::vector<Field>& own) {
  auto refuse = [&](auto& config) {
    for (const Field& field : fields_of(config)) {
      if (!has_field(own, field.name) && tool.given(field.name)) {
        fail<UsageError>("--preset ", o.preset, " is of architecture ", architecture, ", which has no ",
                         field.name);
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
    check_files(tool, o, Architecture::Config::kArchitecture, fields_of(model));
    refuse_other_models(tool, o, Architecture::Config::kArchitecture, fields_of(model));
    tool.overlay(model);
    o.job.make_model = [model](const DataSizes& sizes) mutable {
      const std::vector<Field> fields = fields_of(model);
      set_size(fields, "source_vocab_size", sizes.source_vocab);
      set_size(fields, "target_vocab_size", sizes.target_vocab);
      set_size(fields, "n_classes", sizes.classes);
      return build<float>(model);
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
  return cli::run_tool("train", "Learn a model from text.", argc, argv, [&](cli::Tool& tool) {
    declare(tool, options);
    tool.on_run([&] {
      if (options.list_presets) {
        std::cout << preset_table();
        return;
      }
      configure(tool, options);
      if (options.dry_run) {
        std::cout << describe_training(options.job);
      } else {
        run_training(options.job, tool.stop_flag());
      }
    });
  });
}
