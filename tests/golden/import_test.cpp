// Models of other programs, as scripts/import-goldens saved them, against what transformers computed with
// them: every stage, greedy search and a beam. `mutations` in each file's metadata says how far the stages
// move when one thing is wrong.
#include <algorithm>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <iostream>

#include "golden/imports.h"
#include "io/foreign/safetensors.h"
#include "models/foreign/import.h"
#include "stages/self_test.h"
#include "support/imported_models.h"
#include "support/temporary_folder.h"

namespace heed::golden {
namespace {

BOOST_AUTO_TEST_SUITE(imported_models)

BOOST_DATA_TEST_CASE(agree_with_transformers, boost::unit_test::data::make(test::imported_models()), name) {
  const LoadedModel loaded = load_model(folder_of(name));
  const auto expected = io::ArrayFile::open(folder_of(name) + "/expect.safetensors");
  const std::vector<StageResult> results = self_test(loaded, *expected);
  std::vector<std::string> wanted;  // what the scripts make for a model like this
  if (name == "gpt2-bare")
    wanted = {"decoder.states"};  // saved without its head
  else
    wanted = {loaded.model->sentences ? "sentence" : "logits"};
  if (loaded.model->decoder && name != "gpt2-bare") wanted.emplace_back("generated");
  const bool of_numpy =
      name.starts_with("marian-npz") || name.starts_with("marian-binary") || name.starts_with("sockeye");
  if (loaded.model->decoder && name != "gpt2-bare" && !of_numpy)
    wanted.insert(wanted.end(), {"beam", "scores"});
  for (const std::string& stage : wanted)
    BOOST_CHECK_MESSAGE(std::ranges::count(results, stage, &StageResult::stage) == 1,
                        name << " has no " << stage);
  const bool every_stage = std::getenv("HEED_PARITY") != nullptr;  // for scripts/parity-table
  for (const StageResult& each : results) {
    if (every_stage)
      std::cout << "parity\t" << name << '\t' << each.stage << '\t' << each.difference << '\t' << each.allowed
                << '\n';
    BOOST_CHECK_MESSAGE(each.passed(), name << ", " << each.stage << ": difference " << each.difference
                                            << ", allowed " << each.allowed << ' ' << each.problem);
  }
  std::cout << name << ": " << summary_of(results) << "\n";
}

struct Wrong {
  const char *what, *model;
  void (*change)(TensorMap&);
  const char* words;  ///< of the error or of the summary
};
std::ostream& operator<<(std::ostream& out, const Wrong& wrong) {
  return out << wrong.what;
}

void replace_by(TensorMap& map, const char* name, Tensor tensor) {
  map.erase(name);
  map.add(name, std::move(tensor));
}

const std::vector<Wrong> kWrong{
    {"nothing", "llama", [](TensorMap&) {}, "passed"},
    {"infinite logits", "llama", [](TensorMap& m) { m.at("logits").values<float>()[3] = INFINITY; },
     "logits wants inf"},
    {"NaN logits", "llama", [](TensorMap& m) { m.at("logits").values<float>()[3] = NAN; },
     "logits wants nan"},
    {"NaN scores", "llama", [](TensorMap& m) { m.at("scores").values<float>()[0] = NAN; },
     "scores wants nan"},
    {"infinite scores", "llama", [](TensorMap& m) { m.at("scores").values<float>()[0] = -INFINITY; },
     "scores wants -inf"},
    {"a beam of one axis", "llama",
     [](TensorMap& m) { replace_by(m, "beam", Tensor::zeros<std::int32_t>({24})); },
     "scores is not what this model generates"},
    {"an empty sentence", "llama",
     [](TensorMap& m) { replace_by(m, "mask", Tensor::zeros<std::int32_t>(Shape(m.at("mask").shape()))); },
     "/mask: sentence 0 has no token"},
    {"types of another shape", "bert-masked",
     [](TensorMap& m) { replace_by(m, "types", Tensor::zeros<std::int32_t>({1})); }, "/types: shape [1]"},
    {"types that are no numbers", "bert-masked",
     [](TensorMap& m) {
       replace_by(m, "types", Tensor::of<float>(std::vector<float>(18, NAN), {2, 9}));
     },
     "/types: nan"},
};

/// No file of expectations makes a model pass that was not compared.
BOOST_DATA_TEST_CASE(are_not_passed_by_wrong_expectations, boost::unit_test::data::make(kWrong), wrong) {
  const std::string path = folder_of(wrong.model);
  TensorMap map = read_arrays(path + "/expect.safetensors");
  wrong.change(map);
  const test::TemporaryFolder folder;
  io::write_safetensors(folder / "expect.safetensors", map);
  std::string said;
  try {
    said = summary_of(self_test(load_model(path), *io::ArrayFile::open(folder / "expect.safetensors")));
  } catch (const Error& error) {
    said = error.what();
  }
  BOOST_CHECK_MESSAGE(said.find(wrong.words) != std::string::npos, said);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace heed::golden
