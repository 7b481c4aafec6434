// Text -> a model.
#include "stages/train.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <type_traits>

#include "cli/tool.h"
#include "train/presets.h"

namespace {

using namespace heed;

/// Fields that exactly these architectures have.
struct FieldGroup {
  std::vector<std::string> architectures;
  std::vector<Field> fields;  ///< of the first of them
};

/// The fields of all configs, each once, those of most architectures first.
std::vector<FieldGroup> grouped_fields(TrainCommand& o) {
  std::map<std::string, std::vector<std::string>> owners;
  auto note = [&](auto& config) {
    for (const Field& field : fields_of(config)) owners[field.name].emplace_back(config.kArchitecture);
  };
  std::apply([&](auto&... config) { (note(config), ...); }, o.models);
  std::vector<FieldGroup> groups;
  for (const Field& field : o.model_fields()) {
    auto group = std::ranges::find(groups, owners[field.name], &FieldGroup::architectures);
    if (group == groups.end()) group = groups.insert(groups.end(), {owners[field.name], {}});
    group->fields.push_back(field);
  }
  std::ranges::stable_sort(groups, std::greater(),
                           [](const FieldGroup& g) { return g.architectures.size(); });
  return groups;
}

/// "Transformers (transformer, decoder, encoder)", "bahdanau, cho"
std::string heading_of(const FieldGroup& group, const TrainCommand& o) {
  std::vector<std::string> transformers, recurrent;
  const std::string names = joined(group.architectures);
  auto sort = [&]<class Config>(const Config&) {
    if (std::is_base_of_v<TransformerOptions, Config>) transformers.emplace_back(Config::kArchitecture);
    if (std::is_base_of_v<RecurrentOptions, Config>) recurrent.emplace_back(Config::kArchitecture);
  };
  std::apply([&](const auto&... config) { (sort(config), ...); }, o.models);
  if (group.architectures.size() == std::tuple_size_v<decltype(o.models)>) return "All models";
  if (group.architectures == transformers) return concat("Transformers (", names, ")");
  if (group.architectures == recurrent) return concat("Recurrent models (", names, ")");
  return names;
}

/// Fields determined by the data; given as options they are refused with a reason (check_files).
const std::set<std::string> kOfTheData{"source_vocab_size", "target_vocab_size", "n_classes"};

void declare_models(cli::Tool& tool, TrainCommand& o) {
  for (FieldGroup& group : grouped_fields(o)) {
    const auto of_the_data = [](const Field& field) { return kOfTheData.contains(field.name); };
    const auto own = std::ranges::stable_partition(group.fields, of_the_data);
    tool.heading("");
    tool.bind_over_preset({group.fields.begin(), own.begin()});
    tool.heading(heading_of(group, o));
    tool.bind_over_preset({own.begin(), own.end()});
  }
}

void declare(cli::Tool& tool, TrainCommand& o) {
  tool.option("--source FILE", o.job.training.source,
              "source sentences, one per line; for a model that reads images, a file of arrays, a picture, "
              "or a list of either, one path per line");
  tool.option("--target FILE", o.job.training.target,
              "their translations, line by line; for a language model its training text");
  tool.option("--labels FILE", o.job.training.labels, "classes of the source sentences, one label per line");
  tool.option("--corpus FILE", o.corpus,
              "source and target from tokenize --pairs, memory-mapped, for corpora of any size");
  tool.place({"corpus"});
  tool.option("--valid-source FILE", o.job.validation.source, "source sentences for validation");
  tool.option("--valid-target FILE", o.job.validation.target, "translations, or text, for validation");
  tool.option("--valid-labels FILE", o.job.validation.labels, "classes for validation");
  tool.option("--vocab FILE", o.vocab, "vocabulary for both sides, made by tokenize --train");
  tool.option("--source-vocab FILE", o.job.source_vocab, "vocabulary of the source side");
  tool.option("--target-vocab FILE", o.job.target_vocab, "vocabulary of the target side");
  tool.output(o.job.output, "the model file; checkpoint and metrics of the run are written beside it");
  tool.tensors(o.job.write);
  tool.option("--preset", o.preset, "model and recipe to start from; the options below override them",
              cli::one_of(preset_names()));
  tool.option(
      "--init-from MODEL", o.job.init,
      "fine-tuning: start from this model's parameters and vocabularies; a model file, or a folder of "
      "another program's model. With --labels it gets a new head, unless it already has these classes");
  tool.option("--import FOLDER", o.import.from,
              "convert another program's model, a folder with config.json and model.safetensors, to a model "
              "file instead of training");
  tool.option("--list", o.import.list,
              "with --import: print the mapping of tensors to parameters, and write nothing");
  tool.option(
      "--expect FILE", o.import.expect,
      "with --import: fail unless the model reproduces the results in this file of arrays, stage by stage");
  tool.list("--ignore GLOB", o.import.options.ignored_tensors, "with --import: ignore these tensors");
  tool.list("--ignore-field NAME", o.import.options.ignored_fields,
            "with --import: ignore these fields of config.json");
  tool.list("--mean-of MODEL", o.mean.models,
            "instead of training: write the mean of these models' parameters. If they were trained with "
            "--init-from the same model and different seeds, it is as good as they are on average, or "
            "better");
  tool.option("--list-presets", o.list_presets, "print the presets with their sizes and recipes and exit");
  tool.option("--resume", o.job.resume, "continue from MODEL.checkpoint, exactly");
  tool.option("--resume-previous", o.job.resume_previous, "continue from the checkpoint before the latest");
  tool.option("--overwrite", o.job.overwrite, "replace an existing model");
  tool.option("--dry-run", o.dry_run, "print sizes and memory instead of training");
  tool.option("--exchange", o.exchange,
              "auto: train with the other ranks started by mpirun or srun; none: train alone",
              cli::one_of({"auto", "none"}));
  tool.option("--exchange-timeout SECONDS", o.exchange_timeout,
              "end all ranks if one hears nothing from the others for this long, or for ten updates if that "
              "is longer",
              between(1, 1'000'000));
  tool.option("--allow-mixed-processors", o.job.allow_mixed_processors,
              "allow ranks on different kinds of processors, which compute different bits: the model then "
              "depends on which rank computes which shard");
  declare_models(tool, o);
  tool.heading("Training");
  tool.bind_over_preset(fields_of(o.training));
  tool.describe(
      "Options of model and training that are not given have the preset's values, which --list-presets "
      "shows. An option belongs to the architectures in its heading.");
  tool.example(
      "train --source a.en --target a.fr --valid-source b.en --valid-target b.fr --vocab v.h5 --preset "
      "transformer-tiny -o model.h5");
  tool.example(
      "train --source a.en --target a.fr --valid-source b.en --valid-target b.fr --vocab v.h5 --preset "
      "transformer-tiny -o model.h5 --resume");
  tool.example(
      "mpirun -n 4 --bind-to none train --threads 16 --shards 64 --source a.en --target a.fr --valid-source "
      "b.en --valid-target b.fr --vocab v.h5 -o model.h5");
  tool.example(
      "train --corpus pairs.h5 --valid-source b.en --valid-target b.fr --vocab v.h5 --preset "
      "transformer-tiny -o model.h5");
  tool.example("train --import gpt2/ -o gpt2.h5");
  tool.example("train --init-from gpt2/ --target a.en --valid-target b.en -o mine.h5");
  tool.example(
      "train --init-from bert/ --source a.en --labels a.labels --valid-source b.en --valid-labels b.labels "
      "-o classifier.h5");
  tool.example("train --mean-of seed1.h5 seed2.h5 -o mean.h5");
  tool.example("train --preset gpt-tiny --target a.en --valid-target b.en --vocab v.h5 -o gpt.h5");
  tool.example(
      "train --preset vit-tiny --source a.npy --labels a.labels --valid-source b.npy --valid-labels b.labels "
      "-o vit.h5");
  tool.example(
      "train --preset bert-tiny --source a.en --labels a.labels --valid-source b.en --valid-labels b.labels "
      "--vocab v.h5 -o classifier.h5");
}

}  // namespace

int main(int argc, char** argv) {
  TrainCommand command;
  const int status =
      cli::run_tool("train", "Learn a model from text or pictures.", argc, argv, [&](cli::Tool& tool) {
        declare(tool, command);
        tool.on_run([&] {
          if (command.import.list && !command.import.from.empty())
            tool.allow_only("--list", {"--import", "--ignore", "--ignore-field"});
          if (!command.import.from.empty())
            tool.allow_only("--import",
                            {"--list", "--expect", "--ignore", "--ignore-field", "--output", "--overwrite"});
          if (!command.mean.models.empty())
            tool.allow_only("--mean-of", {"--output", "--no-scales", "--overwrite"});
          command.job.seed = static_cast<std::uint64_t>(tool.common().seed);
          command.job.command = tool.result_command(kWithoutEffect);
          command.job.threads = static_cast<int>(tool.common().threads);
          command.job.times_ops = tool.common().verbose;
          command.run([&](const std::string& name) { return tool.given(name); },
                      [&]() -> std::atomic<bool>& { return tool.stop_flag(); });
        });
      });
  if (status != 0 && command.job.exchange) command.job.exchange->abort(status);
  return status;
}
