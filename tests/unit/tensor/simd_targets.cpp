// HEED_TEST_SIMD=avx2, sse4 or plain makes the kernels run as on a processor that has no more than that;
// CTest runs these tests once for each.
#include <hwy/targets.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <string>

namespace {

struct SimdLimit {
  SimdLimit() {
    const char* limit = std::getenv("HEED_TEST_SIMD");
    if (!limit) return;
    std::int64_t disabled = HWY_AVX3 | HWY_AVX3_DL;
    if (std::string(limit) != "avx2") disabled |= HWY_AVX2;
    if (std::string(limit) == "plain") disabled |= HWY_SSE4 | HWY_SSSE3;
    hwy::DisableTargets(disabled);
  }
};

}  // namespace

BOOST_TEST_GLOBAL_CONFIGURATION(SimdLimit);

BOOST_AUTO_TEST_CASE(the_limit_on_instruction_sets_holds) {
  const char* limit = std::getenv("HEED_TEST_SIMD");
  if (limit) BOOST_TEST((hwy::SupportedTargets() & (HWY_AVX3 | HWY_AVX3_DL)) == 0);
  if (limit && std::string(limit) != "avx2") BOOST_TEST((hwy::SupportedTargets() & HWY_AVX2) == 0);
}
