#include "inspect/trace.h"

#include <algorithm>

#include "base/error.h"
#include "tensor/kernels.h"
#include "tensor/padding.h"

namespace heed {

namespace {

Packing packing(const TraceFrame::Sides& sides, Rows of) {
  switch (of) {
    case Rows::source:
      return sides.source;
    case Rows::target:
      return sides.target;
    case Rows::segments:
      return sides.segments;
    case Rows::one:
      break;
  }
  return Packing::uniform(sides.source.sentences(), 1);
}

/// The pieces of the rows; none if they are unknown.
Pieces tokens(const TraceFrame::Sides& sides, Rows of) {
  return of == Rows::source ? sides.source_tokens : of == Rows::target ? sides.target_tokens : Pieces();
}

/// The largest elements of each row, and their columns.
void keep_top(Matrix<const float> rows, Matrix<float> values, Matrix<std::int32_t> ids) {
  std::vector<float> unused(static_cast<std::size_t>(rows.rows * ids.cols));
  log_softmax_top_k<float>(rows, ids.cols, {unused.data(), rows.rows, ids.cols}, ids.row_range(0, rows.rows));
  for (std::int64_t i = 0; i < rows.rows; ++i) {
    for (std::int64_t k = 0; k < ids.cols; ++k) values(i, k) = rows(i, ids(i, k));
  }
}

/// Rows beyond the frame's size do not belong to its sentences.
void expect_room(const NamedValue& value, const Matrix<const float>& rows, std::int64_t most_rows,
                 std::int64_t most_cols) {
  if (rows.rows <= most_rows && rows.cols <= most_cols) return;
  fail(value.name, ": [", rows.rows, ", ", rows.cols, "] was computed, but the trace expects at most [",
       most_rows, ", ", most_cols, "]: do the frame's tensors belong together?");
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
  const std::int64_t sentences = sides_.source.sentences(), longest = packing(sides_, v.rows).longest();
  std::vector<std::string> dims = v.dims();
  Shape shape{sentences};
  if (v.attention || v.n_heads > 1) shape.push_back(v.n_heads);
  shape.push_back(longest);
  shape.push_back(v.attention ? packing(sides_, v.keys).longest() : v.cols);
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

// Sentences are stored separately, and the memory was allocated before.
void TraceFrame::add(const Recording<float>& recording, const std::vector<std::int64_t>& sentences) {
  for (Value& value : values_) {
    const NamedValue& v = *value.named;
    const Recorded<float>& from = recording.at(v.name);
    for (std::size_t i = 0; i < sentences.size(); ++i) {
      const auto number = static_cast<std::int64_t>(i);
      auto place = [&](std::int64_t head) {
        const bool by_head = v.attention || v.n_heads > 1;
        return matrix_at<float>(value.values, by_head ? Shape{sentences[i], head} : Shape{sentences[i]});
      };
      if (v.attention) {
        for (std::int64_t h = 0; h < v.n_heads; ++h) {
          const Matrix<float> to = place(h);
          expect_room(v, from.block(number, h), to.rows, to.cols);
          copy_rows(from.block(number, h), to);
        }
        continue;
      }
      const Matrix<const float> rows =
          from.matrix().row_range(from.rows.offset(number), from.rows.length(number));
      expect_room(v, rows, place(0).rows, v.n_heads * v.cols);
      if (value.id.size() > 0) {
        keep_top(rows, place(0), matrix_at<std::int32_t>(value.id, {sentences[i]}));
      } else {
        for (std::int64_t h = 0; h < v.n_heads; ++h) copy_rows(rows.columns(h * v.cols, v.cols), place(h));
      }
    }
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
  const Packing rows = packing(sides_, v.rows);
  const Pieces of_rows = tokens(sides_, v.rows);
  if (v.attention) {
    const Packing keys = packing(sides_, v.keys);
    map.add(group + "query_length", lengths_of(rows));
    map.add(group + "key_length", lengths_of(keys));
    if (!of_rows.empty()) map.add(group + "query_token", token_labels(of_rows, "query", rows.longest()));
    Pieces of_keys = tokens(sides_, v.keys);
    if (v.keys == Rows::target && !of_keys.empty())
      of_keys = pieces_read(std::move(of_keys), *sides_.target_tokenizer, sides_.reads_as_given);
    if (!of_keys.empty()) map.add(group + "key_token", token_labels(of_keys, "key", keys.longest()));
    return;
  }
  if (v.rows == Rows::one) return;  // a state of the whole sentence: it has no piece
  map.add(group + "length", lengths_of(rows));
  if (!of_rows.empty()) map.add(group + "token", token_labels(of_rows, "position", rows.longest()));
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
  if (!filters.empty()) report_matches("--trace-filter " + joined(filters, " "), values_);
  std::stable_partition(values_.begin(), values_.end(),
                        [](const NamedValue& v) { return !v.name.ends_with("/weights"); });
}

void TraceWriter::write(TraceFrame& frame, const Attributes& attributes) {
  TensorMap map = frame.take();
  map.attributes = attributes;
  writer_.write(map);
}

}  // namespace heed
