#include "draw/print/listing.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "draw/print/printable.h"
#include "draw/select/tensors.h"
#include "io/layout.h"

namespace heed::draw {
namespace {

using Row = std::vector<std::string>;

TensorSummary summary_of(const std::string& name, const Tensor& tensor) {
  TensorSummary summary{name, name_of(tensor.dtype()), dims_of(tensor), tensor.shape(), tensor.size()};
  summary.min = INFINITY;
  summary.max = -INFINITY;
  visit_values(tensor, [&]<class T>(std::span<const T> values) {
    if constexpr (std::is_same_v<T, std::string>) {
      summary.finite = summary.count;
    } else {
      for (T value : values) {
        const auto v = static_cast<double>(value);
        if (!std::isfinite(v)) continue;
        ++summary.finite;
        summary.sum += v;
        summary.min = std::min(summary.min, v);
        summary.max = std::max(summary.max, v);
      }
    }
  });
  return summary;
}

void merge(TensorSummary& all, const TensorSummary& frame) {
  if (all.type != frame.type || all.dims != frame.dims) {
    fail("/", escaped(all.name), ": its type or dimensions change within the stream");
  }
  const std::ptrdiff_t sentence = io::sentence_axis_of(all.dims);
  if (sentence < 0) return;
  for (std::size_t i = 0; i < all.shape.size(); ++i) {
    const bool adds = static_cast<std::ptrdiff_t>(i) == sentence;
    all.shape[i] = adds ? all.shape[i] + frame.shape[i] : std::max(all.shape[i], frame.shape[i]);
  }
  all.count += frame.count;
  all.finite += frame.finite;
  all.sum += frame.sum;
  all.min = std::min(all.min, frame.min);
  all.max = std::max(all.max, frame.max);
}

bool is_text(const TensorSummary& t) {
  return t.type == name_of(DType::string);
}

bool has_numbers(const TensorSummary& t) {
  return !is_text(t) && t.finite > 0;
}

/// "[sentence 2, position 41, dim 512]"
std::string shape_text(const TensorSummary& t) {
  std::string text = "[";
  for (std::size_t i = 0; i < t.shape.size(); ++i) {
    text += concat(i ? ", " : "", printable(t.dims[i]), " ", t.shape[i]);
  }
  return text + "]";
}

std::string finite_text(const TensorSummary& t) {
  if (is_text(t) || !t.is_read) return "-";
  return t.finite == t.count ? "all" : concat(t.finite, " of ", t.count);
}

Row text_row(const TensorSummary& t) {
  Row row = {"/" + printable(t.name, 200), t.type, shape_text(t)};
  for (double value : {t.min, t.mean(), t.max}) row.push_back(has_numbers(t) ? rounded(value) : "-");
  row.push_back(finite_text(t));
  return row;
}

/// The rows with their columns aligned; columns from the fourth on are flush right.
std::string aligned(const std::vector<Row>& rows) {
  std::vector<int> widths(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line += (i ? "  " : "") + fit(row[i], widths[i], i >= 3);
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string attribute_text(const Attribute& attribute) {
  if (const auto* text = std::get_if<std::string>(&attribute)) return *text;
  if (const auto* integer = std::get_if<std::int64_t>(&attribute)) return std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&attribute)) return shortest(*number);
  std::string list;
  for (const auto& item : std::get<std::vector<std::string>>(attribute)) {
    list += (list.empty() ? "" : ", ") + item;
  }
  return list;
}

/// One line for each line of an attribute (the history has several), each after the attribute's name.
std::string attribute_lines(const std::string& name, const std::string& value) {
  std::string out;
  for (std::size_t start = 0; start <= value.size();) {
    const std::size_t end = std::min(value.find('\n', start), value.size());
    out += concat("# ", printable(name), ": ", printable(value.substr(start, end - start), 400), "\n");
    start = end + 1;
    if (start == value.size()) break;
  }
  return out;
}

std::string json_text(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

TensorSummary* Listing::find(const std::string& name) {
  const auto place = places_.find(name);
  return place == places_.end() ? nullptr : &tensors_[place->second];
}

void Listing::expect_same(const std::string& name, const Tensor& tensor) {
  const std::string digest = concat(to_string(tensor.shape()), io::digest_of(tensor));
  if (digests_.try_emplace(name, digest).first->second != digest)
    fail("/", escaped(name), ": differs from that of the input before it, and has no dimension sentence");
}

void Listing::add(const TensorMap& frame) {
  if (attributes_.empty()) attributes_ = frame.attributes;
  for (const auto& [name, tensor] : frame.tensors()) {
    if (of_several_ && io::sentence_axis_of(dims_of(tensor)) < 0) expect_same(name, tensor);
    TensorSummary* known = find(name);
    if (known && known->type == name_of(tensor.dtype()) && known->dims == dims_of(tensor) &&
        io::sentence_axis_of(known->dims) < 0) {
      continue;
    }
    const TensorSummary summary = summary_of(name, tensor);
    if (known) {
      merge(*known, summary);
    } else {
      places_[name] = tensors_.size();
      tensors_.push_back(summary);
    }
  }
}

void Listing::add(const io::ArrayInfo& array) {
  TensorSummary& summary = tensors_.emplace_back();
  summary.name = array.name;
  summary.type = array.type;
  summary.shape = array.shape;
  summary.count = element_count(array.shape);
  summary.is_read = false;
  for (std::size_t i = 0; i < array.shape.size(); ++i) summary.dims.push_back(concat("dim_", i));
}

void Listing::add_attributes(const Attributes& attributes) {
  attributes_.insert(attributes.begin(), attributes.end());
}

std::string Listing::text() const {
  std::string out;
  for (const auto& [name, value] : attributes_) out += attribute_lines(name, attribute_text(value));
  if (tensors_.empty()) return out + "# no tensors\n";
  std::vector<Row> rows = {{"NAME", "TYPE", "SHAPE", "MIN", "MEAN", "MAX", "FINITE"}};
  for (const auto& tensor : tensors_) rows.push_back(text_row(tensor));
  return out + aligned(rows);
}

std::string Listing::tsv() const {
  std::string out = "name\ttype\tdims\tshape\tmin\tmean\tmax\tfinite\tcount\n";
  for (const auto& t : tensors_) {
    std::string dims;
    std::string shape;
    for (std::size_t i = 0; i < t.shape.size(); ++i) {
      dims += (i ? "," : "") + tsv_field(t.dims[i]);
      shape += (i ? "," : "") + std::to_string(t.shape[i]);
    }
    out += concat(tsv_field(t.name), "\t", tsv_field(t.type), "\t", dims, "\t", shape);
    for (double value : {t.min, t.mean(), t.max}) out += "\t" + (has_numbers(t) ? shortest(value) : "");
    out += concat("\t", t.is_read ? std::to_string(t.finite) : "", "\t", t.count, "\n");
  }
  return out;
}

std::string Listing::json() const {
  nlohmann::ordered_json root;
  root["attributes"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : attributes_) {
    std::visit([&, &name = name](const auto& v) { root["attributes"][name] = v; }, value);
  }
  root["tensors"] = nlohmann::ordered_json::array();
  for (const auto& t : tensors_) {
    nlohmann::ordered_json entry = {
        {"name", t.name}, {"type", t.type}, {"dims", t.dims}, {"shape", t.shape}, {"count", t.count}};
    if (t.is_read) entry["finite"] = t.finite;
    if (has_numbers(t)) {
      entry["min"] = t.min;
      entry["mean"] = t.mean();
      entry["max"] = t.max;
    }
    root["tensors"].push_back(entry);
  }
  return json_text(root) + "\n";
}

}  // namespace heed::draw
