#include "draw/print/slice_text.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "draw/print/printable.h"
#include "draw/select/statistics.h"
#include "draw/select/tensors.h"
#include "io/foreign/npy_writer.h"
#include "text/unicode.h"

namespace heed::draw {
namespace {

template <class Json>
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

template <class T>
std::string number_text(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return shortest(value);
  } else {
    return std::to_string(value);
  }
}

/// Every value as a field of a TSV file.
std::vector<std::string> tsv_values(const Tensor& tensor) {
  return visit_values(tensor, []<class T>(std::span<const T> values) {
    std::vector<std::string> fields(values.size());
    if constexpr (std::is_same_v<T, std::string>) {
      std::transform(values.begin(), values.end(), fields.begin(), tsv_field);
    } else {
      std::transform(values.begin(), values.end(), fields.begin(), number_text<T>);
    }
    return fields;
  });
}

template <class T>
std::string json_value(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return text_of(nlohmann::json(value));
  } else {
    return std::isfinite(static_cast<double>(value)) ? number_text(value) : "null";
  }
}

/// Nested arrays of the values from `place` on, one level per dimension.
template <class T>
void append_nested(std::string& out, std::span<const T> values, const Shape& shape, std::size_t axis,
                   std::size_t& place) {
  if (axis == shape.size()) {
    out += json_value(values[place++]);
    return;
  }
  out += '[';
  for (std::int64_t i = 0; i < shape[axis]; ++i) {
    if (i) out += ',';
    append_nested(out, values, shape, axis + 1, place);
  }
  out += ']';
}

std::string label_at(const Axis& axis, std::int64_t index) {
  return tsv_field(axis.name_at(index));
}

std::string matrix_tsv(const Slice& slice) {
  const auto values = tsv_values(slice.values);
  const std::int64_t rows = slice.values.shape()[0];
  const std::int64_t columns = slice.values.shape()[1];
  std::string out = tsv_field(slice.axes[0].name);
  for (std::int64_t c = 0; c < columns; ++c) out += "\t" + label_at(slice.axes[1], c);
  out += "\n";
  for (std::int64_t r = 0; r < rows; ++r) {
    out += label_at(slice.axes[0], r);
    for (std::int64_t c = 0; c < columns; ++c) {
      out += "\t" + values[static_cast<std::size_t>(r * columns + c)];
    }
    out += "\n";
  }
  return out;
}

/// Advances `index` to the next element in row-major order.
void advance(std::vector<std::int64_t>& index, const Shape& shape) {
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (++index[axis] < shape[axis]) return;
    index[axis] = 0;
  }
}

// ---- arrays ----

static_assert(std::endian::native == std::endian::little, "the values are written as they lie in memory");

/// The code points of `text`.
std::u32string code_points(const std::string& text) {
  const std::string valid = text::replace_invalid_utf8(text);
  std::u32string points;
  for (std::string_view character : text::characters(valid)) points += text::code_point(character);
  return points;
}

/// Strings of equal width, padded with zeros.
std::pair<std::string, std::string> unicode_array(std::span<const std::string> values) {
  std::vector<std::u32string> texts;
  std::size_t width = 1;
  for (const auto& value : values) {
    texts.push_back(code_points(value));
    width = std::max(width, texts.back().size());
  }
  std::string bytes(texts.size() * width * 4, '\0');
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::memcpy(bytes.data() + i * width * 4, texts[i].data(), texts[i].size() * 4);
  }
  return {concat("<U", width), bytes};
}

}  // namespace

std::string TsvLines::add(const Slice& slice, std::optional<std::int64_t> sentence) {
  std::string out;
  if (!started_) {
    started_ = true;
    if (sentence) out += "sentence\t";
    for (const auto& axis : slice.axes) labelled_.push_back(!axis.labels.empty());
    for (const auto& axis : slice.axes) out += tsv_field(axis.name) + "\t";
    for (std::size_t a = 0; a < labelled_.size(); ++a) {
      if (labelled_[a]) out += tsv_field(slice.axes[a].name) + "_label\t";
    }
    out += "value\n";
  }
  const std::string start = sentence ? concat(*sentence, "\t") : "";
  std::vector<std::int64_t> index(slice.axes.size());
  for (const auto& value : tsv_values(slice.values)) {
    out += start;
    for (std::size_t a = 0; a < index.size(); ++a) {
      out += std::to_string(slice.axes[a].first + index[a]) + "\t";
    }
    for (std::size_t a = 0; a < index.size(); ++a) {
      if (labelled_.at(a)) out += label_at(slice.axes[a], index[a]) + "\t";
    }
    out += value + "\n";
    advance(index, slice.values.shape());
  }
  return out;
}

std::string StrongestLines::add(const Slice& slice, std::optional<std::int64_t> sentence) {
  std::string out;
  if (!started_) {
    started_ = true;
    if (sentence) out += "sentence\t";
    for (const auto& axis : slice.axes) {
      const std::string name = tsv_field(axis.name);
      out += concat(&axis == &slice.axes.back() ? "place\t" : "", name, "\t", name, "_label\t");
    }
    out += "value\n";
  }
  for (const Strongest& row : strongest(slice, count_)) {
    std::string start = sentence ? concat(*sentence, "\t") : "";
    for (std::size_t a = 0; a < row.at.size(); ++a) {
      const Axis& axis = slice.axes[a];
      start += concat(axis.first + row.at[a], "\t", label_at(axis, row.at[a]), "\t");
    }
    const Axis& last = slice.axes.back();
    for (std::size_t place = 0; place < row.entries.size(); ++place) {
      const auto [index, value] = row.entries[place];
      const bool is_float = slice.values.dtype() == DType::f32;
      out += concat(start, place, "\t", last.first + index, "\t", label_at(last, index), "\t",
                    is_float ? shortest(static_cast<float>(value)) : shortest(value), "\n");
    }
  }
  return out;
}

std::string tsv(const Slice& slice) {
  return slice.axes.size() == 2 ? matrix_tsv(slice) : TsvLines().add(slice);
}

std::string json(const Slice& slice) {
  using Json = nlohmann::ordered_json;
  Json about{{"name", slice.name},
             {"dims", slice.values.dims()},
             {"shape", slice.values.shape()},
             {"chosen", slice.chosen},
             {"labels", Json::object()}};
  for (const auto& axis : slice.axes)
    if (!axis.labels.empty()) about["labels"][axis.name] = axis.labels;
  std::string out = text_of(about);
  out.pop_back();  // the brace: the values follow; the library would print floats with the digits of doubles
  out += ",\"values\":";
  visit_values(slice.values, [&]<class T>(std::span<const T> all) {
    std::size_t place = 0;
    append_nested(out, all, slice.values.shape(), 0, place);
  });
  return out + "}\n";
}

std::string npy(const Tensor& tensor) {
  return visit_values(tensor, [&]<class T>(std::span<const T> values) {
    if constexpr (std::is_same_v<T, std::string>) {
      const auto [type, bytes] = unicode_array(values);
      return io::npy_header(type, tensor.shape()) + bytes;
    } else {
      return io::npy_header(io::npy_type<T>(), tensor.shape())
          .append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    }
  });
}

}  // namespace heed::draw
