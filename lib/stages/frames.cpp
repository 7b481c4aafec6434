#include "stages/frames.h"

#include <algorithm>
#include <cmath>
#include <iostream>

#include "base/paths.h"
#include "io/provenance.h"
#include "stages/nbest_lists.h"

namespace heed {

SentenceProgress::SentenceProgress(std::int64_t total) : start_(logging::Progress::Clock::now()) {
  progress_.emplace("sentences", total);
}

std::string SentenceProgress::speed() const {
  const double seconds = logging::seconds_since(start_);
  return concat(std::llround(static_cast<double>(done_) / std::max(seconds, 1e-3)), " sentences/s");
}

void SentenceProgress::add(std::int64_t sentences) {
  done_ += sentences;
  progress_->update(done_, speed());
}

void SentenceProgress::finish() {
  progress_.reset();
  const double seconds = logging::seconds_since(start_);
  logging::verbose(concat(done_, " sentences in ", logging::duration(seconds), ", ", speed()));
}

std::optional<io::FrameReader> begin_reading(const StageFiles& files, const InspectionConfig& inspect) {
  if (inspect.list) return std::nullopt;
  return io::FrameReader::begin(files.input, {.batch = files.batch});
}

void run_stage(std::optional<io::FrameReader> input, const StageFiles& files, const InspectionConfig& inspect,
               const LoadedModel& loaded, const Stages& stages, std::uint64_t seed, int threads,
               const Claim& claim,
               const std::function<std::unique_ptr<FrameWork>(TensorMap&, Inspection&)>& begin,
               const std::function<void()>& at_end) {
  if (inspect.list) {
    std::cout << value_list(inspect, *loaded.model, stages);
    return;
  }
  Inspection inspection(inspect, loaded, stages, files.write, seed);
  (void)input->sentences();  // an input that cannot be read makes no output
  io::FrameWriter writer(files.output, files.write, files.keep);
  for_each_frame(
      *input, claim, [&](TensorMap& frame) { return begin(frame, inspection); },
      [&](TensorMap& frame, FrameWork&) { writer.write(frame); }, threads, inspect.active());
  if (at_end) at_end();
  inspection.finish();
  writer.finish();
}

void expect_stage(const TensorMap& frame, const std::string& source, const std::string& group) {
  constexpr std::pair<const char*, const char*> kMadeBy[] = {
      {"tokens", "tokenize"}, {"embeddings", "embed"}, {"encoder", "encode"}};
  const auto has = [&](const std::string& name) {
    return std::ranges::any_of(frame.tensors(),
                               [&](const auto& tensor) { return tensor.first.starts_with(name + "/"); });
  };
  if (frame.contains("model/config"))
    fail(source, ": is a model: give it as -m ", source, ", and as input what the stage before wrote");
  std::string last, missing;
  for (const auto& [made, tool] : kMadeBy) {
    if (has(made)) {
      last = tool;
      missing.clear();
    } else {
      missing += concat(missing.empty() ? "" : " | ", tool);
    }
    if (made != group) continue;
    if (!last.empty() && !missing.empty())
      fail(source, ": is the output of ", last, ": pipe it through ", missing, " first");
    return;
  }
}

void claim_for_model(TensorMap& frame, const std::string& source, const LoadedModel& model,
                     const std::string& path) {
  io::expect_digest(frame, source, io::kModelDigest, model.digest, path);
  frame.attributes[io::kModelDigest] = model.digest;
}

std::vector<std::vector<std::int32_t>> Targets::next(std::int64_t count) {
  std::vector<std::vector<std::int32_t>> ids;
  for (std::string line; std::ssize(ids) < count;) {
    if (!lines_.next(line))
      fail(lines_.name(), ": has ", lines_.line_number(), " lines, the input has more sentences");
    if (std::int64_t number = 0; is_first_ && end_of_number(line, number) != std::string::npos)
      fail(lines_.name(), ":1: ", escaped(line),
           " is a line of an n-best list: give --n-best with decode --force, or texts only");
    is_first_ = false;
    ids.push_back(
        at_place([&] { return lines_.place(); },
                 [&] { return are_ == Are::whole ? tokenizer_.with_eos(line) : tokenizer_.encode(line); }));
    unknown_.add(line, ids.back());
  }
  return ids;
}

void Targets::expect_end() {
  if (std::string line; lines_.next(line))
    fail(lines_.name(), ": has more lines than the input has sentences");
  if (const std::string text = unknown_.complaint(); !text.empty())
    logging::note(concat(lines_.name(), ": ", text));
}

}  // namespace heed
