// Models of other programs as heed models: recognised by their content, and checked completely before any of
// it is used.
//   - every setting is understood, or the import fails with all reasons (config_fields.h);
//   - every tensor of the weights is mapped, known to have no effect, or ignored by the user; every
//     parameter is filled exactly once (mapping.h); shapes, types and finiteness are checked;
//   - the vocabulary has a piece for each row, with the source's ids (family.h).
// Weights are read one tensor at a time, of safetensors some rows at a time: memory holds the model and little
// else, or the largest tensor.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/foreign/family.h"
#include "models/model_file.h"

namespace heed::foreign {

/// Whether `path` is a folder with config.json or weights, or a file that a family recognises.
bool is_foreign_model(const std::string& path);

/// A line of the report: what became of a tensor of the weights.
struct ReportLine {
  std::string source, type;
  Shape source_shape;
  std::string transform, parameter;  ///< for an ignored tensor the reason, and ""
  Shape shape;
};

/// The mapping, checked against names and shapes of the weights; values are read only to compare tied copies.
std::vector<ReportLine> report(const std::string& path, const ImportOptions& options = {});

/// The model that load() gives, without values: its config, JSON, and the shapes of its parameters.
struct Outline {
  std::string config;
  std::map<std::string, Shape> shapes;
};
Outline outline(const std::string& path, const ImportOptions& options = {});

/// Loads the model; parameters that are not `needed` are checked and left out. Throws Error on anything not
/// understood, OptionError if `options` name something that is not there.
LoadedModel load(const std::string& path, const ImportOptions& options = {},
                 Needed needed = Needed::everything);
/// Loads only the vocabulary of a side, without weights.
text::Tokenizer load_tokenizer(const std::string& path, Side side);

}  // namespace heed::foreign
