// HEED_TEST_SIMD=avx2, sse4 or plain makes the kernels run as on a processor that has no more than that;
// CTest runs these tests once for each.
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <map>
#include <string>

#include "tensor/simd_level.h"

namespace {

using heed::SimdLevel;

SimdLevel limit() {
  static const std::map<std::string, SimdLevel> levels{
      {"avx2", SimdLevel::avx2}, {"sse4", SimdLevel::sse4}, {"plain", SimdLevel::plain}};
  const char* name = std::getenv("HEED_TEST_SIMD");
  return name ? levels.at(name) : SimdLevel::avx512;
}

struct SimdLimit {
  SimdLimit() { heed::limit_simd(limit()); }
};

}  // namespace

BOOST_TEST_GLOBAL_CONFIGURATION(SimdLimit);

BOOST_AUTO_TEST_CASE(the_limit_on_instruction_sets_holds) {
  BOOST_TEST((heed::simd_level() <= limit()));
}

BOOST_AUTO_TEST_CASE(of_a_kernel_the_best_version_that_was_compiled_is_taken) {
  using Function = int (*)();
  const heed::KernelVersions<Function> only_plain{{[] { return 0; }, nullptr, nullptr, nullptr}};
  BOOST_TEST(only_plain.best()() == 0);
  const heed::KernelVersions<Function> all{
      {[] { return 0; }, [] { return 1; }, [] { return 2; }, [] { return 3; }}};
  BOOST_TEST(all.best()() == static_cast<int>(heed::simd_level()));
}
