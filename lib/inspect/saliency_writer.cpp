#include "inspect/saliency_writer.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "base/error.h"
#include "base/log.h"
#include "models/shards.h"
#include "text/token_map.h"

namespace heed {

namespace {

/// Whether the encoder makes this memory of the embeddings, but for rounding.
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
  config.check();
  if (loaded.model->needed_decoder().sizes().picks_positions)
    logging::warn(
        "--saliency: hard attention reads one source word in each step; the gradients are those "
        "through the most likely alone");
}

PackedStates SaliencyWriter::embeddings_of(const TensorMap& frame, const PackedStates& memory) const {
  if (!frame.contains("embeddings/values"))
    fail("/embeddings is missing: --saliency follows the gradients through the encoder to the embeddings");
  PackedStates embeddings = read_embeddings(frame, *loaded_.model);
  if (!gives(*loaded_.model, embeddings, memory, threads_))
    fail("/encoder/states are not what the encoder makes of /embeddings: was one of them changed?");
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
