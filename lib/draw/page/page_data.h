// The data of an HTML page: JSON that describes, blocks of base64 that hold the numbers.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "draw/select/selection.h"
#include "draw/page/page_tensors.h"
#include "draw/select/slice.h"
#include "draw/select/sentences.h"

namespace heed::draw {

/// The JSON:
///   groups: [{name, title, kind, model_layer, main, outer: [dim], quantity: {tensor: text}, range: [low,
///   high],
///             start: {dim: index}, items: [...]}]
///   an item is one sentence (and rank, or whatever other dimensions `outer` names):
///            {at: [index], chosen: [text], labels: {dim: [token]}, tensors: [{name, dims, shape, first,
///            range,
///             block}]}
/// `block` is the number of the tensor's block; `first` the position of its first element along each
/// dimension.
class PageData {
 public:
  /// `limit`: bytes that the payload may take; `input`: what messages call the file.
  PageData(std::string input, std::size_t limit) : input_(std::move(input)), limit_(limit) {}

  /// Adds a sentence of `frame` (or all of the tensors, when they have no sentences). Throws UsageError that
  /// says what to choose when the limit is exceeded.
  void add(const TensorMap& frame, const PageTensors& part, SentenceAt at, const std::vector<Selection>& selections);

  const nlohmann::json& groups() const { return groups_; }
  const std::vector<std::string>& blocks() const { return blocks_; }

 private:
  nlohmann::json& group_for(const TensorMap& frame, const PageTensors& part,
                            const std::vector<std::string>& outer);
  void add_item(const TensorMap& frame, const PageTensors& part, nlohmann::json& group,
                const std::vector<Selection>& selections, nlohmann::json at);
  nlohmann::json tensor(const Slice& slice);
  void expect_room(const Slice& slice) const;

  nlohmann::json groups_ = nlohmann::json::array();
  std::vector<std::string> blocks_;
  std::string input_;
  std::size_t limit_;
  std::size_t size_ = 0;
};

}  // namespace heed::draw
