#include "pipeline/alignment.h"

#include <optional>
#include <set>
#include <utility>

#include "base/error.h"

namespace heed {

namespace {

/// The key among the first `keys` with the largest sum over the heads; ties go to the earlier one. None when
/// the query looks at none of them: behind a window's end, or at </s> alone.
std::optional<std::int64_t> strongest_key(const float* layer, const Shape& shape, std::int64_t query,
                                          std::int64_t keys) {
  const std::int64_t heads = shape[2], queries = shape[3], width = shape[4];
  std::optional<std::int64_t> best;
  float most = 0;
  for (std::int64_t key = 0; key < keys; ++key) {
    float sum = 0;
    for (std::int64_t head = 0; head < heads; ++head) sum += layer[(head * queries + query) * width + key];
    if (sum > most) {
      most = sum;
      best = key;
    }
  }
  return best;
}

}  // namespace

std::vector<std::string> pharaoh_links(const Tensor& weights, std::int64_t layer,
                                       const std::vector<WordNumbers>& words) {
  const Shape& shape = weights.shape();  // [sentence, layer, head, query, key]
  expect_shape("attention_cross/weights", shape, {static_cast<std::int64_t>(words.size()), -1, -1, -1, -1});
  if (layer < 0 || layer >= shape[1]) {
    fail<UsageError>("--align-layer is ", layer, ", but the decoder has layers 0 to ", shape[1] - 1);
  }
  std::vector<std::string> lines;
  for (std::size_t s = 0; s < words.size(); ++s) {
    const float* block = weights.values<float>().data() +
                         (static_cast<std::int64_t>(s) * shape[1] + layer) * shape[2] * shape[3] * shape[4];
    std::set<std::pair<std::int32_t, std::int32_t>> links;
    const auto keys = static_cast<std::int64_t>(words[s].source.size());
    for (std::size_t query = 0; query < words[s].target.size(); ++query) {
      if (const auto key = strongest_key(block, shape, static_cast<std::int64_t>(query), keys))
        links.emplace(words[s].source[static_cast<std::size_t>(*key)], words[s].target[query]);
    }
    std::string line;
    for (const auto& [source, target] : links) line += concat(line.empty() ? "" : " ", source, "-", target);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace heed
