#include "attend/parameters.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "base/error.h"
#include "base/digest.h"
#include "base/log.h"
#include "io/finite.h"
#include "io/frame_stream.h"
#include "tensor/gemm.h"
#include "tensor/kernels.h"
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

/// Calls visit(span of float or double).
template <class Visit>
void with_values(const Tensor& tensor, Visit&& visit) {
  tensor.dtype() == DType::f64 ? visit(tensor.values<double>()) : visit(tensor.values<float>());
}

template <class T>
Tensor tensor_like(std::span<const T>, std::vector<T> values, Shape shape) {
  return Tensor::of<T>(std::move(values), std::move(shape));
}

/// The last two dimensions change places.
Tensor transposed(const Tensor& tensor) {
  Shape shape = tensor.shape();
  const std::int64_t rows = shape[shape.size() - 2], cols = shape.back();
  std::swap(shape[shape.size() - 2], shape.back());
  Tensor result;
  with_values(tensor, [&](auto values) {
    std::vector<std::remove_const_t<typename decltype(values)::element_type>> turned(values.size());
    for (std::int64_t at = 0; at < tensor.size(); at += rows * cols) {
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < cols; ++j)
          turned[static_cast<std::size_t>(at + j * rows + i)] =
              values[static_cast<std::size_t>(at + i * cols + j)];
      }
    }
    result = tensor_like(values, std::move(turned), shape);
  });
  return result;
}

/// `columns` of the last dimension, in this order.
Tensor pick_columns(const Tensor& tensor, const std::vector<std::int64_t>& columns) {
  Shape shape = tensor.shape();
  const std::int64_t width = shape.back();
  shape.back() = static_cast<std::int64_t>(columns.size());
  Tensor result;
  with_values(tensor, [&](auto values) {
    std::vector<std::remove_const_t<typename decltype(values)::element_type>> picked;
    for (std::int64_t at = 0; at < tensor.size(); at += width) {
      for (const std::int64_t column : columns)
        picked.push_back(values[static_cast<std::size_t>(at + column)]);
    }
    result = tensor_like(values, std::move(picked), shape);
  });
  return result;
}

/// Replaces qkv/{weight, bias} by those of query, key and value.
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
  for (const char* part : {"query", "key", "value"}) {
    if (map.contains(std::string(part) + "/weight")) {
      fail(parameters.name, ": has both qkv/weight and ", part, "/weight, wanted one of them");
    }
  }
  const bool head_major = config.qkv_order == "head-major";
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
      map.add(std::string(part == 0 ? "query" : part == 1 ? "key" : "value") + field, std::move(picked));
    }
  }
  map.erase("qkv/weight");
  if (map.contains("qkv/bias")) map.erase("qkv/bias");
}

/// "FILE" or "FILE:GROUP": the file, and the group as "" or "a/b/".
std::pair<std::string, std::string> split_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  std::string file = text.substr(0, colon), group = colon == std::string::npos ? "" : text.substr(colon + 1);
  while (group.starts_with('/')) group.erase(0, 1);
  if (!group.empty() && !group.ends_with('/')) group += '/';
  if (file.empty()) fail<UsageError>("--parameters: got '", escaped(text), "', wanted FILE or FILE:GROUP");
  return {file, group};
}

bool is_parameter(const std::string& path) {
  return path.ends_with("/weight") || path.ends_with("/bias");
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
  std::string words;
  for (auto& [path, tensor] : map.tensors()) {
    if (!path.starts_with(group)) continue;
    const std::string name = path.substr(group.size());
    if (!is_parameter(name)) continue;
    const auto& list = known_parameters();
    const auto known = std::find_if(list.begin(), list.end(), [&](const Known& k) { return k.path == name; });
    if (known == list.end()) {
      std::string names;
      for (const Known& k : list) names += (names.empty() ? "" : ", ") + k.path;
      fail(parameters.name, escaped(name), ": no parameter of attention has this name, wanted some of ",
           names, "; --parameters FILE:GROUP reads one group");
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
    words += (words.empty() ? "" : ", ") + name + " " + to_string(tensor.shape());
    parameters.tensors.add(name, config.out_in && known->linear ? transposed(tensor) : std::move(tensor));
  }
  if (words.empty()) {
    fail(parameters.name, ": holds no parameters (query/weight, score/weight, ...): is this the group?");
  }
  logging::note("read " + words + " from " + parameters.name);
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
  std::string& words = parameters.drawn;
  for (const NamedShape& parameter : wanted) {
    Random random(static_cast<std::uint64_t>(seed), hash(parameter.name));
    const double deviation = 1 / std::sqrt(static_cast<double>(parameter.shape.front()));
    std::vector<float> values(static_cast<std::size_t>(element_count(parameter.shape)));
    for (float& value : values) value = static_cast<float>(deviation * random.normal());
    parameters.tensors.add(parameter.name, Tensor::of<float>(std::move(values), parameter.shape));
    words += (words.empty() ? "" : ", ") + parameter.name + " " + to_string(parameter.shape);
  }
}

template <class T>
Weight<T>::Weight(const AttendParameters& parameters, const std::string& path, std::size_t rank,
                  std::int64_t heads)
    : name(parameters.name + path) {
  const Tensor* tensor = parameters.tensors.find(path);
  if (!tensor) return;
  shape = tensor->shape();
  by_head = shape.size() == rank + 1;
  if (shape.size() != rank && (!by_head || shape[0] != heads)) {
    fail(name, ": shape ", to_string(shape), ", wanted ", rank, " dimensions, or ", rank + 1,
         " of which the first is heads = ", heads);
  }
  if (by_head) shape.erase(shape.begin());
  with_values(*tensor, [&](auto from) { values.assign(from.begin(), from.end()); });
}

template <class T>
Matrix<const T> Weight<T>::head(std::int64_t h) const {
  const std::int64_t rows = shape.size() == 1 ? 1 : shape[0];
  return {values.data() + (by_head ? h * rows * shape.back() : 0), rows, shape.back()};
}

template <class T>
void Weight<T>::expect(const Shape& wanted, const std::string& because) const {
  bool fits = wanted.size() == shape.size();
  for (std::size_t i = 0; fits && i < shape.size(); ++i) fits = wanted[i] < 0 || wanted[i] == shape[i];
  if (fits) return;
  std::string sizes;
  for (const std::int64_t size : wanted)
    sizes += (sizes.empty() ? "" : ", ") + (size < 0 ? "any" : std::to_string(size));
  fail(name, ": shape ", to_string(shape), by_head ? " of each head" : "", ", wanted [", sizes, "] ",
       because);
}

template <class T>
Projection<T>::Projection(const AttendParameters& parameters, const std::string& scope)
    : weight(parameters, scope + "/weight", 2, 0), bias(parameters, scope + "/bias", 1, 0) {
  if (bias && !weight) fail(bias.name, ": has no weight beside it");
  if (bias) bias.expect({width()}, "as wide as its weight");
}

template <class T>
void Projection<T>::apply(Matrix<const T> x, Matrix<T> y) const {
  gemm<T>(1, x, weight.head(0), 0, y);
  if (bias) bias_activation_dropout<T>(bias.values, Activation::none, Dropout{}, y);
}

template struct Weight<float>;
template struct Weight<double>;
template struct Projection<float>;
template struct Projection<double>;

}  // namespace heed
