// Models of other programs as models of heed: recognised by their content, checked whole before any of it is used.
//   - every setting is understood, or the import fails with all reasons (config_fields.h);
//   - every tensor of the weights is mapped, or known to be without effect, or named by the user; every parameter is
//     filled exactly once (mapping.h); shapes, types and finiteness are checked;
//   - the vocabulary has a piece for each row, with the source's ids (family.h).
// Weights are read one tensor at a time: memory is the model's, and the largest tensor's.
#pragma once

#include <string>
#include <vector>

#include "models/foreign/family.h"
#include "models/model_file.h"

namespace heed::foreign {

/// Whether `path` is a folder with config.json or weights, or a file that a family recognises.
bool is_foreign_model(const std::string& path);

/// A line of the report: what a tensor of the weights became.
struct ReportLine {
  std::string source, type;
  Shape source_shape;
  std::string transform, parameter;  ///< for a tensor that is left out the reason, and ""
  Shape shape;
};

/// The mapping, checked against names and shapes of the weights; no value is read but those of tied copies.
std::vector<ReportLine> report(const std::string& path, const ImportOptions& options = {});

/// The model. Throws Error on anything that is not understood, OptionError where `options` name what is not there.
LoadedModel load(const std::string& path, const ImportOptions& options = {});
/// Only the vocabulary of a side; no weights are read.
text::Tokenizer load_tokenizer(const std::string& path, Side side);

}  // namespace heed::foreign
