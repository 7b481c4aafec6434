#include "draw/select/coordinates.h"

#include <algorithm>
#include <sstream>

#include "draw/select/find_tensor.h"
#include "draw/select/values.h"

namespace heed::draw {
namespace {

using State = SlicedDim::State;

/// `coordinate` (whose dimensions are some of `dims`) sliced like the tensor that it describes; none when
/// it has another dimension or another size and so describes something else.
std::optional<Tensor> matching_part(const Tensor& coordinate, const std::vector<SlicedDim>& dims) {
  Tensor part = coordinate;
  std::size_t axis = 0;
  for (std::size_t i = 0; i < coordinate.dims().size(); ++i) {
    const auto dim =
        std::find_if(dims.begin(), dims.end(), [&](auto& d) { return d.name == coordinate.dims()[i]; });
    if (dim == dims.end() || coordinate.shape()[i] != dim->size) return std::nullopt;
    part = take_range(part, axis, dim->first, dim->count);
    if (dim->state == State::fixed) {
      part = drop_axis(part, axis);
    } else {
      ++axis;
    }
  }
  return part;
}

const Tensor* find_length(const TensorMap& map, const std::string& group, const std::string& dim) {
  if (const Tensor* own = map.find(in_group(group, dim + "_length"))) return own;
  return dim == "position" ? map.find(in_group(group, "length")) : nullptr;
}

std::vector<std::string> label_paths(const std::string& group, const std::string& dim) {
  std::vector<std::string> paths = {in_group(group, dim + "_token"), in_group(group, dim + "_label")};
  if (dim == "position") {
    for (const char* name : {"piece", "token"}) paths.push_back(in_group(group, name));
    paths.emplace_back("tokens/piece");
  }
  if (dim == "choice") paths.push_back(in_group(group, "piece"));
  return paths;
}

/// The words of the sentence in /tokens, when they are as many as the positions (with or without the end
/// mark).
std::vector<std::string> words_of_text(const TensorMap& map, const std::vector<SlicedDim>& dims,
                                       const SlicedDim& dim) {
  const Tensor* text = map.find("tokens/text");
  if (!text || text->dtype() != DType::string || dim.first != 0) return {};
  const auto sentence = matching_part(*text, dims);
  if (!sentence || !sentence->shape().empty()) return {};
  std::istringstream line(sentence->values<std::string>()[0]);
  std::vector<std::string> words;
  for (std::string word; line >> word;) words.push_back(word);
  if (static_cast<std::int64_t>(words.size()) + 1 == dim.count) words.emplace_back("</s>");
  return static_cast<std::int64_t>(words.size()) == dim.count ? words : std::vector<std::string>{};
}

}  // namespace

std::optional<std::int64_t> length_along(const TensorMap& map, const std::string& group,
                                         const std::vector<SlicedDim>& dims, const SlicedDim& dim) {
  const Tensor* length = find_length(map, group, dim.name);
  if (!length || !holds_integers(*length)) return std::nullopt;
  const auto part = matching_part(*length, dims);
  if (!part || part->size() == 0) return std::nullopt;
  const auto values = numbers(*part);
  const double longest = *std::max_element(values.begin(), values.end());
  return static_cast<std::int64_t>(std::clamp(longest, 0.0, static_cast<double>(dim.size)));
}

std::vector<std::string> labels_along(const TensorMap& map, const std::string& group,
                                      const std::vector<SlicedDim>& dims, const SlicedDim& dim) {
  for (const auto& path : label_paths(group, dim.name)) {
    const Tensor* words = map.find(path);
    if (!words || words->dtype() != DType::string) continue;
    const bool along = std::find(words->dims().begin(), words->dims().end(), dim.name) != words->dims().end();
    const auto part = along ? matching_part(*words, dims) : std::nullopt;
    if (!part || part->shape() != Shape{dim.count}) continue;
    const auto values = part->values<std::string>();
    return {values.begin(), values.end()};
  }
  return dim.name == "position" ? words_of_text(map, dims, dim) : std::vector<std::string>{};
}

}  // namespace heed::draw
