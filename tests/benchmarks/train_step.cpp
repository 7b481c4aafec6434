// train_step: times the updates of `train` (batches, gradients of shards, optimizer: lib/train) and prints a
// line of JSON. The script of the same name sets it beside PyTorch; there the workload is explained.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/parallel.h"
#include "cli/tool.h"
#include "io/frame_stream.h"
#include "io/text_writer.h"
#include "models/architectures.h"
#include "models/config_json.h"
#include "tensor/gemm.h"
#include "text/tokenizer.h"
#include "train/gradients.h"
#include "train/optimizer.h"
#include "train/schedule.h"
#include "workloads.h"

namespace {

using namespace heed;
using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

struct Options {
  std::string source, target, vocab, model = "transformer-tiny", dropout = "all", workload,
                                     precision = "float32";
  std::int64_t batch_tokens = 0, shards = 0, warmup = 2, steps = 10;
  bool gemm = false;
};

void declare(cli::Tool& tool, Options& o) {
  tool.option("--source", o.source, "source sentences, one per line");
  tool.option("--target", o.target, "their translations, line by line");
  tool.option("--vocab", o.vocab, "vocabulary of both sides");
  tool.option("--model", o.model, "model to train: a preset, or one of this program's own",
              cli::one_of(workload_names()));
  tool.option("--dropout", o.dropout, "dropout everywhere at the preset's rate, or where the preset has it",
              cli::one_of({"all", "preset"}));
  tool.option("--precision", o.precision, "of the products with parameters",
              cli::one_of(kTrainPrecisions.words));
  tool.option("--batch-tokens", o.batch_tokens,
              "target tokens per update, at most; 0: the model's own number", cli::at_least(0));
  tool.option("--shards", o.shards, "parts of a batch; 0: the model's own number", cli::at_least(0));
  tool.option("--warmup", o.warmup, "updates before the clock starts", cli::at_least(0));
  tool.option("--steps", o.steps, "updates that are timed", cli::at_least(1));
  tool.option("--write-workload", o.workload,
              "instead, write the updates' batches to this file, and the model's config to FILE.json");
  tool.option("--gemm", o.gemm,
              "instead, measure the matrix products: every thread its own 1024 x 1024 x 1024");
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// FLOP/s of large products, one per thread at a time.
double gemm_speed(int threads) {
  constexpr std::int64_t n = 1024, repetitions = 24;
  const std::vector<float> a(n * n, 0.5f), b(n * n, 0.25f);
  std::vector<std::vector<float>> c(static_cast<std::size_t>(threads), std::vector<float>(n * n));
  auto multiply = [&](std::int64_t times) {
    parallel_for(threads, threads, [&](std::int64_t i) {
      const Matrix<float> result(c[static_cast<std::size_t>(i)].data(), n, n);
      for (std::int64_t k = 0; k < times; ++k) gemm<float>(1, {a.data(), n, n}, {b.data(), n, n}, 0, result);
    });
  };
  multiply(2);
  const auto start = Clock::now();
  multiply(repetitions);
  return 2.0 * n * n * n * static_cast<double>(repetitions * threads) / seconds_since(start);
}

/// A model to train and how many operations its products take.
struct Job {
  std::string model_json;
  TrainConfig recipe;
  std::function<double(double n, double m)> pair_flops;
};

void drop_out_everywhere(TransformerConfig& config) {
  config.attention_dropout = config.activation_dropout = config.dropout;
}
template <class Config>
void drop_out_everywhere(Config&) {}

Job make_job(const Options& o, std::int64_t vocab_size) {
  Job job;
  const Workload workload = find_workload(o.model);
  with_architecture(workload.architecture, [&](const auto& architecture) {
    using Architecture = std::decay_t<decltype(architecture)>;
    typename Architecture::Config config;
    from_json(workload.model, fields_of(config));
    for (const Field& field : fields_of(config)) {
      if (field.name == "source_vocab_size" || field.name == "target_vocab_size")
        *std::get<std::int64_t*>(field.value) = vocab_size;
    }
    if (o.dropout == "all") drop_out_everywhere(config);
    check_config(config);
    job.model_json = to_json(config);
    if constexpr (requires { pair_flops(config, 1.0, 1.0); }) {
      job.pair_flops = [config](double n, double m) { return pair_flops(config, n, m); };
    } else {
      fail<UsageError>("--model ", o.model, ": the products of this architecture are not counted yet");
    }
  });
  from_json(workload.training, fields_of(job.recipe));
  if (o.batch_tokens > 0) job.recipe.batch_tokens = o.batch_tokens;
  job.recipe.precision = o.precision;
  if (o.shards > 0) job.recipe.shards = o.shards;
  return job;
}

double batch_flops(const Job& job, const Corpus& corpus, const Batch& batch) {
  double flops = 0;
  for (const auto& shard : batch.shards) {
    for (std::int64_t i : shard) {
      const auto pair = static_cast<std::size_t>(i);
      flops += job.pair_flops(static_cast<double>(corpus.source[pair].size()),
                              static_cast<double>(corpus.target[pair].size()));
    }
  }
  return flops;
}

void write_ids(std::ostream& out, const TokenIds& ids) {
  for (std::size_t i = 0; i < ids.size(); ++i) out << (i ? " " : "") << ids[i];
}

/// For the PyTorch twin: a pair a line, source TAB target; an empty line after each batch.
void write_batches(const std::string& path, const Corpus& corpus, const std::vector<Batch>& batches) {
  std::ostringstream out;
  for (const Batch& batch : batches) {
    for (const auto& shard : batch.shards) {
      for (std::int64_t i : shard) {
        write_ids(out, corpus.source[static_cast<std::size_t>(i)]);
        out << '\t';
        write_ids(out, corpus.target[static_cast<std::size_t>(i)]);
        out << '\n';
      }
    }
    out << '\n';
  }
  io::write_file(path, out.str());
}

/// As many batches as there are updates, from the start of the epoch again when it is too short.
std::vector<Batch> batches_for(const Corpus& corpus, const TrainConfig& config, std::uint64_t seed,
                               std::int64_t updates) {
  const Batches epoch = make_batches(corpus, config.batch_tokens, config.shards, seed, 0);
  std::vector<Batch> batches;
  for (std::int64_t i = 0; i < updates; ++i)
    batches.push_back(epoch[static_cast<std::size_t>(i) % epoch.size()]);
  return batches;
}

long peak_megabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

/// Of all threads: what a busy machine distorts least.
double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// What Trainer::update does, by the clock.
Json timed_updates(const Options& o, const Corpus& corpus, const std::vector<Batch>& batches, const Job& job,
                   Model<float>& model, const cli::Common& common) {
  const int threads = static_cast<int>(common.threads);
  const auto seed = static_cast<std::uint64_t>(common.seed);
  const TrainConfig& recipe = job.recipe;
  model.parameters.initialize(seed);
  Gradients gradients(model, Objective(model), corpus, threads, seed, recipe);
  Optimizer optimizer(recipe, model.parameters.values().size(), threads);

  std::vector<double> seconds;
  double tokens = 0, total = 0, processor = 0, flops = 0, loss = 0;
  for (std::int64_t step = 1; step <= o.warmup + o.steps; ++step) {
    const Batch& batch = batches[static_cast<std::size_t>(step - 1)];
    const auto start = Clock::now();
    const double processor_start = processor_seconds();
    const CrossEntropySums sums = gradients.compute(batch, step);
    optimizer.apply(step, learning_rate(recipe, model.encoder->sizes().d_model, step, 0, 1), gradients.norm(),
                    gradients.flat(), model.parameters.values());
    if (step <= o.warmup) continue;
    seconds.push_back(seconds_since(start));
    total += seconds.back();
    processor += processor_seconds() - processor_start;
    tokens += static_cast<double>(batch.tokens);
    flops += batch_flops(job, corpus, batch);
    loss = sums.loss / static_cast<double>(batch.tokens);
  }
  return {{"program", "heed"},
          {"threads", threads},
          {"steps", o.steps},
          {"parameters", model.parameters.count()},
          {"loss", loss},
          {"target_tokens_per_second", tokens / total},
          {"target_tokens_per_cpu_second", tokens / processor},
          {"median_step_seconds", median(seconds)},
          {"flop_per_target_token", flops / tokens},
          {"peak_megabytes", peak_megabytes()}};
}

void run(const Options& o, const cli::Common& common) {
  if (o.gemm) {
    std::cout << Json{{"gemm_flop_per_second", gemm_speed(static_cast<int>(common.threads))}} << '\n';
    return;
  }
  const text::Tokenizer tokenizer = text::Tokenizer::of_side(io::read_map(o.vocab), "source");
  const Job job = make_job(o, tokenizer.size());
  auto encode = [&](const std::string& line) { return tokenizer.sentence(line); };
  const std::unique_ptr<Model<float>> model = make_model<float>(job.model_json);
  const Corpus corpus =
      read_corpus({o.source, o.target, ""}, encode, encode,
                  {model->sizes(Side::source).max_length, model->sizes(Side::target).max_length});
  const std::vector<Batch> batches =
      batches_for(corpus, job.recipe, static_cast<std::uint64_t>(common.seed), o.warmup + o.steps);
  if (o.workload.empty()) {
    std::cout << timed_updates(o, corpus, batches, job, *model, common) << '\n';
    return;
  }
  write_batches(o.workload, corpus, batches);
  io::write_file(o.workload + ".json", job.model_json);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  return cli::run_tool("train_step", "Time the updates of training.", argc, argv, [&](cli::Tool& tool) {
    declare(tool, options);
    tool.on_run([&] { run(options, tool.common()); });
  });
}
