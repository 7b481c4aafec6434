// Models of other programs, as scripts/import-goldens saved them, against what transformers computed with them: every stage,
// greedy search and a beam. `mutations` in each file's metadata says how far the stages move when one thing is wrong.
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <iostream>

#include "models/foreign/import.h"
#include "stages/self_test.h"

namespace heed::golden {
namespace {

const std::vector<std::string> kCases{"gpt2",         "gpt2-bare",  "llama",         "llama-tied",  "llama-3",
                                      "llama-linear", "llama-bf16", "llama-shards",  "mistral",     "qwen2",
                                      "qwen3",        "marian",     "marian-untied", "marian-gelu", "t5",
                                      "t5-gated",     "t5-long", "marian-npz-post", "marian-npz-pre", "marian-npz-new"};

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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace heed::golden
