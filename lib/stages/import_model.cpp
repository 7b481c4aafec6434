#include "stages/import_model.h"

#include <iostream>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "io/provenance.h"
#include "models/foreign/import.h"
#include "models/model_file.h"
#include "stages/self_test.h"

namespace heed {
namespace {

/// name<TAB>type<TAB>shape<TAB>transform<TAB>parameter<TAB>shape
std::string table_of(const std::vector<foreign::ReportLine>& lines) {
  std::string table = "source\ttype\tshape\ttransform\tparameter\tshape\n";
  for (const foreign::ReportLine& line : lines)
    table += concat(escaped(line.source, 4096), '\t', line.type, '\t', to_string(line.source_shape), '\t',
                    line.transform, '\t', line.parameter, '\t',
                    line.parameter.empty() ? std::string() : to_string(line.shape), '\n');
  return table;
}

}  // namespace

void ImportCommand::run(const NewModelFile& file) const {
  if (list) {
    std::cout << table_of(foreign::report(from, options)) << std::flush;
    return;
  }
  file.expect_possible("the imported model");
  foreign::ImportOptions spoken = options;
  spoken.says_notes = spoken.states_files = true;
  const LoadedModel loaded = foreign::load(from, spoken);
  auto origin = nlohmann::ordered_json::parse(loaded.origin);
  origin["verified"] = "not verified";
  if (!expect.empty()) {
    const auto expected = io::ArrayFile::open(expect);
    const std::vector<StageResult> stages = self_test(loaded, *expected);
    for (const StageResult& each : stages)
      logging::verbose(
          concat("stage ", each.stage, ' ', each.difference, " of ", each.allowed, each.problem));
    const std::string result = summary_of(stages);
    if (!result.starts_with("passed"))
      fail(escaped(from), ": does not give what ", escaped(expect), " expects: ", result);
    logging::note(concat("self-test: ", result));
    origin["verified"] = result;
  }
  TensorMap about = origin_map(origin.dump());
  io::add_history(about.attributes, file.command);
  save_model(file.path, *loaded.model, texts_of(loaded), about, {{}, file.scales});
  logging::note(concat("imported ", origin.value("kind", ""), ": ", loaded.model->parameters.count(),
                       " parameters, ", (loaded.model->encoder ? loaded.source : loaded.target).size(),
                       " pieces"));
}

}  // namespace heed
