// Models of other programs, as scripts/import-goldens saved them, against what transformers computed with them: every stage,
// greedy search and a beam. `mutations` in each file's metadata says how far the stages move when one thing is wrong.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <iostream>

#include "models/foreign/export.h"
#include "models/foreign/import.h"
#include "stages/self_test.h"
#include "support/temporary_folder.h"

namespace heed::golden {
namespace {

const std::vector<std::string> kCases{"bert-masked",
                                      "bert-classes",
                                      "bert-gamma-beta",
                                      "bert-sentence",
                                      "roberta-masked",
                                      "roberta-classes",
                                      "vit",
                                      "vit-no-bias",
                                      "gpt2",
                                      "gpt2-bare",
                                      "llama",
                                      "llama-tied",
                                      "llama-3",
                                      "llama-linear",
                                      "llama-bf16",
                                      "llama-shards",
                                      "mistral",
                                      "qwen2",
                                      "qwen3",
                                      "marian",
                                      "marian-untied",
                                      "marian-gelu",
                                      "t5",
                                      "t5-gated",
                                      "t5-long",
                                      "marian-npz-post",
                                      "marian-npz-pre",
                                      "marian-npz-new"};

std::string folder_of(const std::string& name) {
  return std::string(HEED_TESTDATA) + "/import/" + name;
}

BOOST_AUTO_TEST_SUITE(imported_models)

BOOST_DATA_TEST_CASE(agree_with_transformers, boost::unit_test::data::make(kCases), name) {
  const LoadedModel loaded = load_model(folder_of(name));
  const auto expected = io::ArrayFile::open(folder_of(name) + "/expect.safetensors");
  const std::vector<StageResult> results = self_test(loaded, *expected);
  BOOST_CHECK_GE(results.size(), 4);
  for (const StageResult& each : results)
    BOOST_CHECK_MESSAGE(each.passed(), name << ", " << each.stage << ": difference " << each.difference
                                            << ", allowed " << each.allowed << ' ' << each.problem);
  std::cout << name << ": " << summary_of(results) << "\n";
}

const std::vector<std::string> kExported{"bert-masked",   "bert-classes",   "bert-gamma-beta",
                                         "bert-sentence", "roberta-masked", "roberta-classes"};

/// Config, parameters and vocabularies come back to the bit.
BOOST_DATA_TEST_CASE(come_back_from_export, boost::unit_test::data::make(kExported), name) {
  const test::TemporaryFolder folder;
  const LoadedModel loaded = load_model(folder_of(name));
  foreign::export_model(loaded, folder / "copy", io::FloatsAs::float32);
  const LoadedModel copy = load_model(folder / "copy");
  BOOST_TEST(copy.digest == loaded.digest);
  BOOST_TEST(copy.classes == loaded.classes, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace heed::golden
