// The data of an HTML page: JSON for names and shapes, base64 blocks for the numbers.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "draw/select/sentences.h"
#include "draw/select/slice.h"

namespace heed::draw {

/// One kind of attention (encoder, decoder, cross, ...): the tensor that is shown, and the other steps of its
/// computation.
struct PageTensors {
  std::string group;                ///< path of the group; empty: the root
  std::string main;                 ///< path of the tensor [..., query, key] that is shown
  std::vector<std::string> stages;  ///< paths of the group's tensors along query or key
};

/// With a `name` (find_tensor), that tensor and its stages. Otherwise one entry for each group whose signal,
/// or whose tensor `weights`, ends in the dimensions query and key; without such a group, the default of
/// find_tensor. weighted_values are omitted if weights and values are present, because the page multiplies
/// them. Throws Error if nothing can be shown.
std::vector<PageTensors> page_tensors_of(const TensorMap& map, const std::string& name);

/// The JSON:
///   groups: [{name, title, kind, model_layer, main, outer: [dim], quantity: {tensor: text},
///             range: [low, high], start: {dim: index}, items: [item]}]
///   item:   {at: [index], chosen: [text], labels: {dim: [token]},
///            tensors: [{name, dims, shape, first, range, block}]}
/// An item is one sentence (or one element of the dimensions that `outer` names, such as sentence and rank).
/// `block` is the number of the tensor's block; `first` the position of its first element along each
/// dimension.
class PageData {
 public:
  /// `limit`: maximal bytes of all data; `input`: the file's name in messages.
  PageData(std::string input, std::size_t limit) : input_(std::move(input)), limit_(limit) {}

  /// Adds a sentence of `frame` (or the whole tensors, if they have no sentences). Throws UsageError that
  /// suggests a selection if the limit is exceeded.
  void add(const TensorMap& frame, const PageTensors& part, SentenceAt at,
           const std::vector<Selection>& selections);

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
