#include "draw/print/slice_text.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "draw/print/printable.h"
#include "draw/select/values.h"

namespace heed::draw {
namespace {

std::string json_string(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
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
    std::vector<std::string> fields;
    fields.reserve(values.size());
    for (const T& value : values) {
      if constexpr (std::is_same_v<T, std::string>) {
        fields.push_back(tsv_field(value));
      } else {
        fields.push_back(number_text(value));
      }
    }
    return fields;
  });
}

template <class T>
std::string json_value(const T& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    return json_string(value);
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

std::string json_list(const std::vector<std::string>& items) {
  std::string out = "[";
  for (const auto& item : items) out += (out.size() > 1 ? "," : "") + json_string(item);
  return out + "]";
}

std::string label_at(const Axis& axis, std::int64_t index) {
  return axis.labels.empty() ? std::to_string(axis.first + index)
                             : tsv_field(axis.labels[static_cast<std::size_t>(index)]);
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

}  // namespace

std::string TsvLines::add(const Slice& slice,
                          const std::vector<std::pair<std::string, std::string>>& leading) {
  std::string out;
  std::string start;
  for (const auto& [name, value] : leading) start += tsv_field(value) + "\t";
  if (!started_) {
    started_ = true;
    for (const auto& axis : slice.axes) labelled_.push_back(!axis.labels.empty());
    for (const auto& [name, value] : leading) out += tsv_field(name) + "\t";
    for (const auto& axis : slice.axes) out += tsv_field(axis.name) + "\t";
    for (std::size_t a = 0; a < labelled_.size(); ++a) {
      if (labelled_[a]) out += tsv_field(slice.axes[a].name) + "_label\t";
    }
    out += "value\n";
  }
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

std::string tsv(const Slice& slice) {
  return slice.axes.size() == 2 ? matrix_tsv(slice) : TsvLines().add(slice);
}

std::string json(const Slice& slice) {
  std::string labels;
  std::string shape;
  for (const auto& axis : slice.axes) {
    if (axis.labels.empty()) continue;
    labels += concat(labels.empty() ? "" : ",", json_string(axis.name), ":", json_list(axis.labels));
  }
  for (std::int64_t size : slice.values.shape()) shape += (shape.empty() ? "" : ",") + std::to_string(size);
  std::string values;
  visit_values(slice.values, [&]<class T>(std::span<const T> all) {
    std::size_t place = 0;
    append_nested(values, all, slice.values.shape(), 0, place);
  });
  return concat("{\"name\":", json_string(slice.name), ",\"dims\":", json_list(slice.values.dims()),
                ",\"shape\":[", shape, "],\"chosen\":", json_list(slice.chosen), ",\"labels\":{", labels,
                "},\"values\":", values, "}\n");
}

}  // namespace heed::draw
