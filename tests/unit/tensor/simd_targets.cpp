// CTest runs these tests once for each set of instructions (HEED_SIMD).
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <string>

#include "base/error.h"
#include "base/simd_level.h"

using heed::simd_level, heed::SimdLevel;

BOOST_AUTO_TEST_CASE(the_limit_on_instruction_sets_holds) {
  const char* most = std::getenv("HEED_SIMD");
  if (!most) return;
  const std::string name = most;
  const SimdLevel limit = name == "plain"    ? SimdLevel::plain
                          : name == "sse4"   ? SimdLevel::sse4
                          : name == "avx2"   ? SimdLevel::avx2
                          : name == "avx512" ? SimdLevel::avx512
                                             : SimdLevel::amx;
  BOOST_TEST((simd_level() <= limit));
}

BOOST_AUTO_TEST_CASE(a_limit_that_is_no_set_of_instructions_is_refused) {
  BOOST_CHECK_EXCEPTION(heed::limit_simd("avx"), heed::Error, [](const heed::Error& e) {
    return std::string(e.what()) == "HEED_SIMD: got 'avx', wanted amx, avx512, avx2, sse4 or plain";
  });
}

BOOST_AUTO_TEST_CASE(of_a_kernel_the_best_version_that_was_compiled_is_taken) {
  using Function = int (*)();
  const heed::KernelVersions<Function> only_plain{{[] { return 0; }, nullptr, nullptr, nullptr}};
  BOOST_TEST(only_plain.best()() == 0);
  const heed::KernelVersions<Function> all{
      {[] { return 0; }, [] { return 1; }, [] { return 2; }, [] { return 3; }}};
  BOOST_TEST(all.best()() == static_cast<int>(std::min(simd_level(), SimdLevel::avx512)));
}
