#include "inspect/trace.h"

#include <algorithm>

#include "base/error.h"
#include "tensor/kernels.h"
#include "tensor/padding.h"

namespace heed {

namespace {

const Packing& packing(const TraceFrame::Sides& sides, bool source) {
  return source ? sides.source : sides.target;
}

}  // namespace

TraceFrame::TraceFrame(const std::vector<NamedValue>& wanted, Sides sides, std::int64_t top)
    : sides_(std::move(sides)), top_(top) {
  for (const NamedValue& named : wanted) {
    values_.push_back({&named, {}, {}});
    make_room(values_.back());
  }
}

void TraceFrame::make_room(Value& value) {
  const NamedValue& v = *value.named;
  const Packing& rows = packing(sides_, v.of_source);
  const std::int64_t sentences = sides_.source.sentences(), longest = v.once ? 1 : rows.longest();
  std::vector<std::string> dims = v.dims();
  Shape shape{sentences};
  if (v.attention || v.n_heads > 1) shape.push_back(v.n_heads);
  shape.push_back(longest);
  shape.push_back(v.attention ? packing(sides_, v.keys_of_source).longest() : v.cols);
  if (v.of_vocabulary && top_ > 0) {
    dims.back() = "choice";
    shape.back() = std::min(top_, v.cols);
    value.id = Tensor::zeros<std::int32_t>(shape, dims);
  }
  value.values = Tensor::zeros<float>(shape, dims);
}

bool TraceFrame::wants(const std::string& name) const {
  return std::any_of(values_.begin(), values_.end(), [&](const Value& v) { return v.named->name == name; });
}

// Different sentences lie apart, and the room was made before.
void TraceFrame::add(const Recording<float>& recording, const std::vector<std::int64_t>& sentences) {
  for (Value& value : values_) {
    const Recorded<float>& from = recording.at(value.named->name);
    for (std::size_t i = 0; i < sentences.size(); ++i) {
      const auto number = static_cast<std::int64_t>(i);
      if (value.named->attention)
        add_attention(value, from, sentences[i], number);
      else if (value.id.size() > 0)
        add_top(value, from, sentences[i], number);
      else
        add_rows(value, from, sentences[i], number);
    }
  }
}

void TraceFrame::add_rows(Value& value, const Recorded<float>& from, std::int64_t sentence,
                          std::int64_t i) const {
  const NamedValue& v = *value.named;
  const std::int64_t width = value.values.shape()[value.values.shape().size() - 2];
  float* out = value.values.values<float>().data() + sentence * v.n_heads * width * v.cols;
  const Matrix<const float> rows = from.matrix().row_range(from.rows.offset(i), from.rows.length(i));
  for (std::int64_t h = 0; h < v.n_heads; ++h) {
    for (std::int64_t p = 0; p < rows.rows; ++p)
      std::copy_n(rows.row(p) + h * v.cols, v.cols, out + (h * width + p) * v.cols);
  }
}

void TraceFrame::add_top(Value& value, const Recorded<float>& from, std::int64_t sentence,
                         std::int64_t i) const {
  const Shape& shape = value.values.shape();  // [sentence, position, choice]
  const Matrix<const float> rows = from.matrix().row_range(from.rows.offset(i), from.rows.length(i));
  std::vector<float> unused(static_cast<std::size_t>(rows.rows * shape[2]));
  std::vector<std::int32_t> ids(unused.size());
  log_softmax_top_k<float>(rows, shape[2], {unused.data(), rows.rows, shape[2]},
                           {ids.data(), rows.rows, shape[2]});
  const std::int64_t first = sentence * shape[1] * shape[2];
  std::copy(ids.begin(), ids.end(), value.id.values<std::int32_t>().begin() + first);
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const auto at = static_cast<std::int64_t>(k);
    value.values.values<float>()[static_cast<std::size_t>(first + at)] = rows(at / shape[2], ids[k]);
  }
}

void TraceFrame::add_attention(Value& value, const Recorded<float>& from, std::int64_t sentence,
                               std::int64_t i) const {
  const Shape& shape = value.values.shape();  // [sentence, head, query, key]
  for (std::int64_t h = 0; h < shape[1]; ++h) {
    const Matrix<const float> block = from.block(i, h);
    float* out = value.values.values<float>().data() + (sentence * shape[1] + h) * shape[2] * shape[3];
    for (std::int64_t q = 0; q < block.rows; ++q) std::copy_n(block.row(q), block.cols, out + q * shape[3]);
  }
}

TensorMap TraceFrame::take() {
  TensorMap map;
  for (Value& value : values_) {
    const NamedValue& v = *value.named;
    std::vector<std::string> slice(value.values.shape().size() - 2, "0");
    slice.insert(slice.end(), {".", "."});
    map.groups[v.name] = {"values", v.name, slice, {}};
    value.values.attributes["long_name"] = v.name;
    if (v.attention) value.values.attributes["interpretation"] = std::string("image");
    label(map, value);
    if (value.id.size() > 0) map.add(v.name + "/id", std::move(value.id));
    map.add(v.name + "/values", std::move(value.values));
  }
  return map;
}

void TraceFrame::label(TensorMap& map, const Value& value) const {
  const NamedValue& v = *value.named;
  const std::string group = v.name + "/";
  Packing ones;
  for (std::int64_t s = 0; v.once && s < sides_.source.sentences(); ++s) ones.append(1);
  const Packing& rows = v.once ? ones : packing(sides_, v.of_source);
  const auto& tokens = v.of_source ? sides_.source_tokens : sides_.target_tokens;
  if (v.attention) {
    const Packing& keys = packing(sides_, v.keys_of_source);
    Packing one_each;  // a query for each sentence, which no piece stands for
    for (std::int64_t s = 0; v.once && s < keys.sentences(); ++s) one_each.append(1);
    map.add(group + "query_length", lengths_of(v.once ? one_each : rows));
    map.add(group + "key_length", lengths_of(keys));
    if (!v.once && !tokens.empty())
      map.add(group + "query_token", token_labels(tokens, "query", rows.longest()));
    if (v.keys_of_source && !sides_.source_tokens.empty())
      map.add(group + "key_token", token_labels(sides_.source_tokens, "key", keys.longest()));
    if (!v.keys_of_source && !tokens.empty())
      map.add(group + "key_token",
              token_labels(shifted_right(tokens, *sides_.target_tokenizer), "key", keys.longest()));
    return;
  }
  if (v.once) return;
  map.add(group + "length", lengths_of(rows));
  if (!tokens.empty()) map.add(group + "token", token_labels(tokens, "position", rows.longest()));
  if (v.of_vocabulary && value.id.size() == 0) map.add(group + "word_token", words(v.cols));
  if (value.id.size() == 0) return;
  Tensor piece = Tensor::zeros<std::string>(value.id.shape(), value.id.dims());
  for (std::int64_t s = 0; s < rows.sentences(); ++s) {
    const std::int64_t choices = value.id.shape()[2], first = s * value.id.shape()[1] * choices;
    for (std::int64_t at = first; at < first + rows.length(s) * choices; ++at) {
      const auto i = static_cast<std::size_t>(at);
      piece.values<std::string>()[i] = sides_.target_tokenizer->piece(value.id.values<std::int32_t>()[i]);
    }
  }
  map.add(group + "piece", std::move(piece));
}

Tensor TraceFrame::words(std::int64_t count) const {
  Tensor words = Tensor::zeros<std::string>({count}, {"word"});
  for (std::int32_t id = 0; std::string & word : words.values<std::string>())
    word = sides_.target_tokenizer->piece(id++);
  return words;
}

TraceWriter::TraceWriter(const std::string& path, const io::WriteOptions& write,
                         const std::vector<NamedValue>& values, const std::vector<std::string>& filters,
                         std::int64_t top)
    : values_(matching(values, filters, "--trace-filter")), top_(top), writer_(path, write) {
  std::stable_partition(values_.begin(), values_.end(),
                        [](const NamedValue& v) { return !v.name.ends_with("/weights"); });
}

void TraceWriter::write(TraceFrame& frame, const Attributes& attributes) {
  TensorMap map = frame.take();
  map.attributes = attributes;
  writer_.write(map);
}

}  // namespace heed
