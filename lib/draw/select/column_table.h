// Tables of named columns, such as the metrics of a training run.
#pragma once

#include <string>
#include <vector>

namespace heed::draw {

struct Column {
  std::string name;
  std::vector<std::string> texts;  ///< one per row
  std::vector<double> values;      ///< the texts as numbers; NaN where a cell is empty, "-" or "nan"
  bool is_numeric = false;         ///< every cell is a number or missing, and at least one is a number
};

/// Whether a cell is neither a number nor missing.
bool is_word(const std::string& cell);

struct ColumnTable {
  std::string name;  ///< of the file, for messages
  std::vector<Column> columns;
  std::size_t rows() const { return columns.empty() ? 0 : columns.front().texts.size(); }

  const Column* find(const std::string& column) const;
  /// Throws Error that lists the columns.
  const Column& at(const std::string& column) const;
};

/// Reads a table. From an HDF5 file it takes the vectors of equal length in `group` (empty: model/training,
/// or the only group with several such vectors). Any other file is text: a line of names, then a line per
/// row, fields separated by tabs; lines that begin with # are skipped. "-", which is stdin, and pipes are
/// always text. Throws Error naming file and line.
ColumnTable read_columns(const std::string& path, const std::string& group);

}  // namespace heed::draw
