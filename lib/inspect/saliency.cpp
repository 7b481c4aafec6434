#include "inspect/saliency.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "autograd/ops_recurrent.h"
#include "base/log.h"
#include "models/shards.h"
#include "tensor/padding.h"
#include "text/token_map.h"

namespace heed {

namespace {

/// The number of rows of one pass: each observed word of a translation has its own copy of the sentence.
constexpr std::int64_t kRowsAtOnce = 1024;

/// One sentence and its translation.
class Sentence {
 public:
  Sentence(const Model<float>& model, std::span<const float> x, std::int64_t length,
           std::vector<std::int32_t> target)
      : model_(model),
        x_(x),
        length_(length),
        width_(static_cast<std::int64_t>(x.size()) / length),
        target_(std::move(target)) {}

  /// log p(y_t) for t in first .. first + count - 1 when the encoder reads `x`, and its gradients d x, one
  /// after the other, into `gradients` [count, length, width] when there is room.
  std::vector<float> run(std::span<const float> x, std::int64_t first, std::int64_t count,
                         std::span<float> gradients) const {
    InferencePass pass(model_);
    Tape<float>& tape = *pass.tape;
    tape.set_with_gradients(!gradients.empty());
    std::vector<float> copies;
    const Packing rows = Packing::uniform(count, length_);
    PackedTokens read, wanted;
    std::vector<RowOf> last;  // of each copy: the state that gives y_t
    for (std::int64_t t = first; t < first + count; ++t) {
      copies.insert(copies.end(), x.begin(), x.end());
      read.append(std::span(target_).first(static_cast<std::size_t>(t + 1)));
      wanted.append(std::span(target_).subspan(static_cast<std::size_t>(t), 1));
      last.push_back({0, read.rows.rows() - 1});
    }
    std::fill(gradients.begin(), gradients.end(), 0.0f);
    const Matrix<const float> values(copies.data(), count * length_, width_);
    const Matrix<float> d_x(gradients.data(), gradients.empty() ? 0 : count * length_, width_);
    const Encoded<float> memory = model_.encode(pass, tape.leaf(values, d_x), rows);
    const Var<float> states = select_rows<float>({model_.decode(pass, &memory, read).states}, last);
    const Matrix<const float> logits = model_.words->logits(pass, states).value();
    std::vector<float> log_p(static_cast<std::size_t>(count));
    log_sum_exp_rows<float>(logits, log_p);
    for (std::size_t i = 0; i < log_p.size(); ++i)
      log_p[i] = logits(static_cast<std::int64_t>(i), wanted.ids[i]) - log_p[i];
    if (gradients.empty()) return log_p;
    model_.loss(pass, {states, {}}, wanted, 0, -1);  // the loss is -log p
    tape.backward();
    return log_p;
  }

  /// s_tj [target, length] and, of integrated gradients, the gaps [target].
  void scores(const SaliencyConfig& config, std::span<const float> baseline, std::span<float> scores,
              std::span<float> gaps) const {
    const auto size = static_cast<std::int64_t>(x_.size()), words = static_cast<std::int64_t>(target_.size());
    const std::int64_t at_once = std::max<std::int64_t>(kRowsAtOnce / (length_ + words), 1);
    for (std::int64_t first = 0; first < words; first += at_once) {
      const std::int64_t count = std::min(at_once, words - first);
      std::vector<float> gradients(static_cast<std::size_t>(count * size));
      if (config.integrated()) {
        integrate(config.saliency_steps, baseline, first, count, gradients);
      } else {
        run(x_, first, count, gradients);
      }
      for (std::int64_t t = 0; t < count; ++t) {
        for (std::int64_t i = 0; i < size; ++i) {
          const auto at = static_cast<std::size_t>(i);
          const float from = config.integrated() ? baseline[at] : 0.0f;
          scores[static_cast<std::size_t>((first + t) * length_ + i / width_)] +=
              (x_[at] - from) * gradients[static_cast<std::size_t>(t * size + i)];
        }
      }
      if (!config.integrated()) continue;
      const std::vector<float> whole = run(x_, first, count, {}), without = run(baseline, first, count, {});
      for (std::int64_t t = 0; t < count; ++t) {
        const auto row = scores.subspan(static_cast<std::size_t>((first + t) * length_),
                                        static_cast<std::size_t>(length_));
        double sum = 0;
        for (float s : row) sum += s;
        const auto i = static_cast<std::size_t>(t);
        gaps[static_cast<std::size_t>(first + t)] = static_cast<float>(sum - (whole[i] - without[i]));
      }
    }
  }

 private:
  /// The mean gradient at the midpoints of `steps` intervals between the baseline and x.
  void integrate(std::int64_t steps, std::span<const float> baseline, std::int64_t first, std::int64_t count,
                 std::span<float> mean) const {
    std::vector<double> sum(mean.size());
    std::vector<float> between(x_.size());
    for (std::int64_t k = 0; k < steps; ++k) {
      const double a = (static_cast<double>(k) + 0.5) / static_cast<double>(steps);
      for (std::size_t i = 0; i < x_.size(); ++i)
        between[i] = static_cast<float>(baseline[i] + a * (static_cast<double>(x_[i]) - baseline[i]));
      run(between, first, count, mean);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += mean[i];
    }
    for (std::size_t i = 0; i < sum.size(); ++i)
      mean[i] = static_cast<float>(sum[i] / static_cast<double>(steps));
  }

  const Model<float>& model_;
  std::span<const float> x_;
  std::int64_t length_, width_;
  std::vector<std::int32_t> target_;
};

/// The baseline: a sentence without words.
std::vector<float> baseline_of(const Model<float>& model, const SaliencyConfig& config, std::int64_t length) {
  if (config.from_zeros())
    return std::vector<float>(static_cast<std::size_t>(length * model.needed_encoder().sizes().d_embedding));
  InferencePass pass(model);
  PackedTokens unknown;
  unknown.append(std::vector<std::int32_t>(static_cast<std::size_t>(length), model.source_special.unk));
  const Matrix<const float> x = model.embed(pass, Side::source, unknown).value();
  return {x.data, x.data + x.size()};
}

}  // namespace

TensorMap saliency(const Model<float>& model, const SaliencyConfig& config, const PackedStates& embeddings,
                   const std::vector<std::vector<std::int32_t>>& targets, int threads) {
  const Packing& source = embeddings.rows;
  Packing target;
  for (const auto& ids : targets) target.append(static_cast<std::int64_t>(ids.size()));
  if (target.sentences() != source.sentences())
    fail("there are ", target.sentences(), " targets for ", source.sentences(), " source sentences");
  const std::int64_t n = target.longest(), m = source.longest(),
                     d = model.needed_encoder().sizes().d_embedding;
  Tensor scores = Tensor::zeros<float>({source.sentences(), n, m}, {"sentence", "query", "key"});
  Tensor gaps = Tensor::zeros<float>({source.sentences(), n}, {"sentence", "query"});
  parallel_for(source.sentences(), threads, [&](std::int64_t s) {
    const std::int64_t words = target.length(s), length = source.length(s);
    const std::span<const float> x(embeddings.values.data() + source.offset(s) * d,
                                   static_cast<std::size_t>(length * d));
    std::vector<float> own(static_cast<std::size_t>(words * length)), gap(static_cast<std::size_t>(words));
    Sentence(model, x, length, targets[static_cast<std::size_t>(s)])
        .scores(config, baseline_of(model, config, length), own, gap);
    copy_rows({own.data(), words, length}, matrix_at<float>(scores, {s}));
    std::copy(gap.begin(), gap.end(), gaps.values<float>().begin() + s * n);
  });
  scores.attributes["long_name"] = std::string("share in the log-probability");
  scores.attributes["interpretation"] = std::string("image");
  TensorMap map;
  map.add("saliency/query_length", lengths_of(target));
  map.add("saliency/key_length", lengths_of(source));
  if (config.integrated()) map.add("saliency/gap", std::move(gaps));
  map.add("saliency/scores", std::move(scores));
  map.groups["saliency"] = {"scores",
                            "Saliency of the source words (" + config.saliency_method + ")",
                            {"0", ".", "."},
                            {{"method", config.saliency_method}}};
  return map;
}

namespace {

/// Whether the encoder's output for the embeddings is this memory, except for rounding.
bool gives(const Model<float>& model, const PackedStates& embeddings, const PackedStates& memory,
           int threads) {
  if (embeddings.rows != memory.rows) return false;
  std::atomic<bool> equal = true;
  for_each_shard(memory.rows.sentences(), threads, [&](SentenceRange range) {
    InferencePass pass(model);
    const Selection in(embeddings, range.numbers()), out(memory, range.numbers());
    const Encoded<float> embedded = in.on(pass);
    const Matrix<const float> got = model.encode(pass, embedded.states, *embedded.rows).states.value(),
                              wanted = out.on(pass).states.value();
    for (std::int64_t i = 0; i < got.rows; ++i) {
      for (std::int64_t j = 0; j < got.cols; ++j)
        if (!(std::abs(got(i, j) - wanted(i, j)) <= 1e-4f * (1 + std::abs(wanted(i, j))))) equal = false;
    }
  });
  return equal;
}

}  // namespace

SaliencyWriter::SaliencyWriter(const SaliencyConfig& config, const std::string& path,
                               const io::WriteOptions& write, const LoadedModel& loaded, int threads)
    : config_(config), loaded_(loaded), threads_(threads), writer_(path, write) {
  check_ranges(config);
  if (loaded.model->needed_decoder().sizes().picks_positions)
    logging::warn(
        "--saliency: hard attention reads one source word per step; gradients pass only through the most "
        "likely one");
}

PackedStates SaliencyWriter::embeddings_of(const TensorMap& frame, const PackedStates& memory) const {
  if (!frame.contains("embeddings/values"))
    fail("/embeddings is missing: --saliency follows the gradients through the encoder to the embeddings");
  PackedStates embeddings = read_embeddings(frame, *loaded_.model);
  if (!gives(*loaded_.model, embeddings, memory, threads_))
    fail("/encoder/states do not match the encoder's output for /embeddings: was one of them changed?");
  return embeddings;
}

void SaliencyWriter::write(const TensorMap& frame, const PackedStates& memory,
                           const std::vector<std::vector<std::int32_t>>& targets) {
  TensorMap map = saliency(*loaded_.model, config_, embeddings_of(frame, memory), targets, threads_);
  if (const Tensor* gap = map.find("saliency/gap")) {
    for (float g : gap->values<float>()) largest_gap_ = std::max(largest_gap_, std::abs(g));
  }
  const Shape shape = map.at("saliency/scores").shape();
  Pieces produced;
  for (const auto& ids : targets) produced.push_back(loaded_.target.pieces(ids));
  const Pieces source = pieces_of(frame, loaded_.source, memory.rows);
  Tensor scores = std::move(map.at("saliency/scores"));
  map.erase("saliency/scores");
  map.add("saliency/query_token", token_labels(produced, "query", shape[1]));
  if (!source.empty()) map.add("saliency/key_token", token_labels(source, "key", shape[2]));
  map.add("saliency/scores", std::move(scores));
  map.attributes = frame.attributes;
  writer_.write(map);
}

void SaliencyWriter::finish() {
  writer_.finish();
  if (config_.integrated()) {
    logging::note(concat("integrated gradients: the sums miss the differences of log-probability by at most ",
                         largest_gap_, " (--saliency-steps ", config_.saliency_steps, ")"));
  }
}

}  // namespace heed
