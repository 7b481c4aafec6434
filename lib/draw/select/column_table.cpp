#include "draw/select/column_table.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/paths.h"
#include "draw/print/printable.h"
#include "draw/select/tensors.h"
#include "io/foreign/array_file.h"
#include "io/frame_stream.h"
#include "io/superblock.h"
#include "text/line_reader.h"

namespace heed::draw {
namespace {

constexpr const char* kTraining = "model/training";

std::vector<std::string> split_fields(const std::string& line) {
  std::vector<std::string> fields;
  for (std::size_t start = 0;;) {
    const std::size_t tab = line.find('\t', start);
    fields.push_back(line.substr(start, tab - start));
    if (tab == std::string::npos) return fields;
    start = tab + 1;
  }
}

/// Sets `values` and `is_numeric` from the texts.
void read_numbers(Column& column) {
  column.is_numeric = false;
  for (const std::string& text : column.texts) {
    const auto value = parse_number<double>(text);
    if (is_word(text)) {
      column.values.assign(column.texts.size(), NAN);
      column.is_numeric = false;
      return;
    }
    column.values.push_back(value.value_or(NAN));
    column.is_numeric |= value && !std::isnan(*value);
  }
}

ColumnTable read_text(const std::string& path) {
  text::LineReader reader(path);
  ColumnTable table{reader.name(), {}};
  for (std::string line; reader.next(line);) {
    if (line.empty() || line.starts_with('#')) continue;
    const auto fields = split_fields(line);
    if (table.columns.empty()) {
      for (const auto& name : fields) {
        if (table.find(name)) {
          fail(escaped(table.name), ":", reader.line_number(), ": two columns are named '", escaped(name),
               "'");
        }
        table.columns.push_back({name, {}, {}});
      }
      continue;
    }
    if (fields.size() != table.columns.size()) {
      fail(escaped(table.name), ":", reader.line_number(), ": ", fields.size(), " fields, wanted ",
           table.columns.size(), " as in the line of names: are they separated by tabs?");
    }
    for (std::size_t i = 0; i < fields.size(); ++i) table.columns[i].texts.push_back(fields[i]);
  }
  if (table.columns.empty()) fail(escaped(table.name), ": empty: wanted a line of column names");
  for (auto& column : table.columns) read_numbers(column);
  return table;
}

Column column_of(const std::string& name, const Tensor& tensor) {
  Column column{name, {}, {}};
  visit_values(tensor, [&]<class T>(std::span<const T> values) {
    for (const T& value : values) {
      if constexpr (std::is_same_v<T, std::string>) {
        column.texts.push_back(value);
      } else {
        column.texts.push_back(rounded(static_cast<double>(value), 6));
        column.values.push_back(static_cast<double>(value));
      }
    }
  });
  if (tensor.dtype() == DType::string) {
    read_numbers(column);
  } else {
    column.is_numeric = true;
  }
  return column;
}

/// The vectors of each group that are as long as its first.
std::map<std::string, std::vector<Column>> vectors_by_group(const TensorMap& map) {
  std::map<std::string, std::vector<Column>> groups;
  for (const auto& [path, tensor] : map.tensors()) {
    if (tensor.shape().size() != 1 || path.starts_with("model/parameters/")) continue;
    auto& columns = groups[parent_of(path)];
    Column column = column_of(leaf_of(path), tensor);
    if (columns.empty() || columns.front().texts.size() == column.texts.size()) columns.push_back(column);
  }
  std::erase_if(groups, [](const auto& group) { return group.second.size() < 2; });
  return groups;
}

ColumnTable read_group(const std::string& path, const std::string& name) {
  auto groups = vectors_by_group(io::read_map(path));
  if (groups.empty())
    fail(escaped(path), ": not a table: wanted a group with several vectors of equal length");
  std::string group = without_root(name);
  if (group.empty()) group = groups.size() == 1 ? groups.begin()->first : kTraining;
  const auto found = groups.find(group);
  if (found != groups.end()) return {path, std::move(found->second)};
  std::string list;
  for (const auto& [known, columns] : groups) list += concat(list.empty() ? "" : ", ", "/", escaped(known));
  fail(escaped(path), ": /", escaped(group),
       " is not a group with several vectors of equal length; choose by --name among ", list);
}

}  // namespace

bool is_word(const std::string& cell) {
  return !cell.empty() && cell != "-" && !parse_number<double>(cell);
}

const Column* ColumnTable::find(const std::string& column) const {
  const auto found =
      std::find_if(columns.begin(), columns.end(), [&](const Column& c) { return c.name == column; });
  return found == columns.end() ? nullptr : &*found;
}

const Column& ColumnTable::at(const std::string& column) const {
  if (const Column* found = find(column)) return *found;
  std::string list;
  for (const auto& known : columns) list += (list.empty() ? "" : ", ") + escaped(known.name);
  fail(escaped(name), ": there is no column '", escaped(column), "'; there are ", list);
}

ColumnTable read_columns(const std::string& path, const std::string& group) {
  return io::is_hdf5_file(path) || io::is_array_file(path) ? read_group(path, group) : read_text(path);
}

}  // namespace heed::draw
