#include "attend/parameters.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/digest.h"
#include "base/log.h"
#include "base/paths.h"
#include "io/finite.h"
#include "io/frame_stream.h"
#include "tensor/philox.h"

namespace heed {

namespace {

struct Known {
  std::string path;
  std::size_t least_rank, most_rank;
  bool linear;  ///< stored [d_out, d_in] with --out-in
};

/// The projections, the parameters of all score functions, and those of the predicted windows.
const std::vector<Known>& known_parameters() {
  static const std::vector<Known> list = [] {
    std::vector<Known> known;
    for (const std::string scope : {"query", "key", "value", "output", "qkv"}) {
      known.push_back({scope + "/weight", 2, 2, true});
      known.push_back({scope + "/bias", 1, 1, false});
    }
    for (const ScoreFunction& score : score_functions()) {
      for (const ScoreParameter& p : score.parameters) {
        const std::size_t rank = p.shape.size();
        auto same =
            std::find_if(known.begin(), known.end(), [&](const Known& k) { return k.path == p.name; });
        if (same == known.end()) same = known.insert(same, {p.name, rank, rank + 1, p.linear});
        same->least_rank = std::min(same->least_rank, rank);
        same->most_rank = std::max(same->most_rank, rank + 1);
      }
    }
    known.push_back({"position/query/weight", 2, 2, true});
    known.push_back({"position/score/weight", 1, 1, false});
    return known;
  }();
  return list;
}

/// A tensor of this shape whose element i is `from`'s element places[i].
Tensor rearranged(const Tensor& from, const std::vector<std::size_t>& places, Shape shape) {
  return with_type(from.dtype(), [&]<class T>(T) {
    const std::span<const T> values = from.values<T>();
    std::vector<T> moved;
    for (const std::size_t place : places) moved.push_back(values[place]);
    return Tensor::of<T>(std::move(moved), std::move(shape));
  });
}

/// Swaps the last two dimensions.
Tensor transposed(const Tensor& tensor) {
  Shape shape = tensor.shape();
  const auto rows = static_cast<std::size_t>(shape[shape.size() - 2]),
             cols = static_cast<std::size_t>(shape.back());
  std::swap(shape[shape.size() - 2], shape.back());
  std::vector<std::size_t> places(static_cast<std::size_t>(tensor.size()));
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::size_t first = i / (rows * cols) * rows * cols, within = i - first;
    places[i] = first + within % rows * cols + within / rows;
  }
  return rearranged(tensor, places, shape);
}

/// Selects `columns` of the last dimension, in this order.
Tensor pick_columns(const Tensor& tensor, const std::vector<std::int64_t>& columns) {
  Shape shape = tensor.shape();
  std::vector<std::size_t> places;
  for (std::int64_t first = 0; first < tensor.size(); first += shape.back()) {
    for (const std::int64_t column : columns) places.push_back(static_cast<std::size_t>(first + column));
  }
  shape.back() = static_cast<std::int64_t>(columns.size());
  return rearranged(tensor, places, shape);
}

/// Replaces qkv/{weight, bias} by separate parameters of query, key and value.
void unstack(const AttendConfig& config, AttendParameters& parameters) {
  TensorMap& map = parameters.tensors;
  if (!map.contains("qkv/weight")) {
    if (map.contains("qkv/bias")) fail(parameters.name, ": has qkv/bias, but no qkv/weight");
    if (!config.qkv_order.empty()) fail<UsageError>("--qkv-order: ", parameters.name, " has no qkv/weight");
    return;
  }
  if (config.qkv_order.empty()) {
    fail<UsageError>("--qkv-order is needed: ", parameters.name,
                     " has qkv/weight; head-major or part-major?");
  }
  const char* const parts[] = {"query", "key", "value"};
  for (const char* part : parts) {
    if (map.contains(std::string(part) + "/weight")) {
      fail(parameters.name, ": has both qkv/weight and ", part, "/weight, wanted one of them");
    }
  }
  const bool head_major = config.order() == QkvOrder::head_major;
  const std::int64_t heads = config.heads, kv_heads = config.kv_heads ? config.kv_heads : heads;
  const std::int64_t width = map.at("qkv/weight").shape().back(), slots = heads + 2 * kv_heads;
  if (head_major && kv_heads != heads) {
    fail<UsageError>("--qkv-order: head-major needs a key and a value in each head, but there are ", heads,
                     " heads and ", kv_heads, " of key and value");
  }
  if (width % slots != 0) {
    fail<UsageError>("--heads: q, k and v of ", heads, " heads (", slots, " parts) do not divide the width ",
                     width, " of ", parameters.name, "qkv/weight");
  }
  const std::int64_t head_dim = width / slots;
  const std::int64_t counts[] = {heads, kv_heads, kv_heads};
  std::int64_t part_begins = 0;
  for (std::int64_t part = 0; part < 3; ++part) {
    std::vector<std::int64_t> columns;
    for (std::int64_t h = 0; h < counts[part]; ++h) {
      const std::int64_t slot = head_major ? 3 * h + part : part_begins + h;
      for (std::int64_t c = 0; c < head_dim; ++c) columns.push_back(slot * head_dim + c);
    }
    part_begins += counts[part];
    for (const char* field : {"/weight", "/bias"}) {
      const Tensor* stacked = map.find(std::string("qkv") + field);
      if (!stacked) continue;
      if (stacked->shape().back() != width) {
        expect_shape(parameters.name + "qkv/bias", stacked->shape(), {width});
      }
      Tensor picked = pick_columns(*stacked, columns);
      map.add(std::string(parts[part]) + field, std::move(picked));
    }
  }
  map.erase("qkv/weight");
  if (map.contains("qkv/bias")) map.erase("qkv/bias");
}

/// "FILE" or "FILE:GROUP": the file, and the group as "" or "a/b/".
std::pair<std::string, std::string> split_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  const std::string file = text.substr(0, colon);
  std::string group = colon == std::string::npos ? "" : without_root(text.substr(colon + 1));
  if (!group.empty() && !group.ends_with('/')) group += '/';
  if (file.empty()) fail<UsageError>("--parameters: got '", escaped(text), "', wanted FILE or FILE:GROUP");
  return {file, group};
}

}  // namespace

AttendParameters read_parameters(const AttendConfig& config) {
  AttendParameters parameters{"the drawn ", {}, ""};
  if (config.parameters.empty()) return parameters;
  const auto [file, group] = split_address(config.parameters);
  io::ReadOptions options;
  if (!group.empty()) options.only = {group.substr(0, group.size() - 1)};
  TensorMap map = io::read_map(file, options);
  parameters.name = file + ":/" + group;
  std::vector<std::string> words;
  for (auto& [path, tensor] : map.tensors()) {
    if (!path.starts_with(group)) continue;
    const std::string name = path.substr(group.size());
    if (!name.ends_with("/weight") && !name.ends_with("/bias")) continue;
    const auto& list = known_parameters();
    const auto known = std::find_if(list.begin(), list.end(), [&](const Known& k) { return k.path == name; });
    if (known == list.end()) {
      std::vector<std::string> names;
      for (const Known& k : list) names.push_back(k.path);
      fail(parameters.name, escaped(name), ": no parameter of attention has this name, wanted some of ",
           joined(names), "; --parameters FILE:GROUP reads one group");
    }
    if (tensor.dtype() != DType::f32 && tensor.dtype() != DType::f64) {
      fail(parameters.name, name, ": holds ", name_of(tensor.dtype()), " values, wanted float32 or float64");
    }
    const std::size_t rank = tensor.shape().size();
    if (rank < known->least_rank || rank > known->most_rank || tensor.size() == 0) {
      fail(parameters.name, name, ": shape ", to_string(tensor.shape()), ", wanted rank ", known->least_rank,
           known->most_rank > known->least_rank ? concat(" to ", known->most_rank) : "", ", not empty");
    }
    io::expect_finite(parameters.name + name, tensor);
    words.push_back(name + " " + to_string(tensor.shape()));
    parameters.tensors.add(name, config.out_in && known->linear ? transposed(tensor) : std::move(tensor));
  }
  if (words.empty()) {
    fail(parameters.name, ": holds no parameters (query/weight, score/weight, ...): is this the group?");
  }
  logging::note("read " + joined(words) + " from " + parameters.name);
  unstack(config, parameters);
  return parameters;
}

void draw_parameters(const AttendConfig& config, const DrawSizes& sizes, std::int64_t seed,
                     AttendParameters& parameters) {
  if (!config.parameters.empty()) return;
  const ScoreFunction& score = score_function(config.score);
  const std::int64_t head_dim = sizes.d_q / sizes.heads;
  std::int64_t hidden = config.hidden ? config.hidden : sizes.d_q;
  std::vector<NamedShape> wanted;
  ScoreSizes of_score{head_dim, sizes.d_k / sizes.kv_heads, hidden,
                      config.hidden ? config.hidden : sizes.keys};
  if (score.projected) {
    if (sizes.by_head) hidden = sizes.d_q;
    if (hidden % sizes.heads != 0) {
      fail<UsageError>("--hidden: ", sizes.heads, " heads do not divide the width ", hidden);
    }
    of_score.hidden = hidden / sizes.heads;
    if (!sizes.by_head) {
      wanted = {{"query/weight", {sizes.d_q, hidden}},
                {"key/weight", {sizes.d_k, of_score.hidden * sizes.kv_heads}}};
    }
  }
  for (const ScoreParameter& p : score.parameters) {
    if (!p.optional) wanted.push_back({p.name, p.shape_of(of_score)});
  }
  if (config.window_kind() == Window::local_p) {
    wanted.push_back({"position/query/weight", {sizes.d_q, hidden}});
    wanted.push_back({"position/score/weight", {hidden}});
  }
  std::vector<std::string> words;
  for (const NamedShape& parameter : wanted) {
    Random random(static_cast<std::uint64_t>(seed), hash(parameter.name));
    const double deviation = 1 / std::sqrt(static_cast<double>(parameter.shape.front()));
    std::vector<float> values(static_cast<std::size_t>(element_count(parameter.shape)));
    for (float& value : values) value = static_cast<float>(deviation * random.normal());
    parameters.tensors.add(parameter.name, Tensor::of<float>(std::move(values), parameter.shape));
    words.push_back(parameter.name + " " + to_string(parameter.shape));
  }
  parameters.drawn = joined(words);
}

}  // namespace heed
