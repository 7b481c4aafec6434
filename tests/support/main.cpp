// HEED_SIMD=avx512, avx2, sse4 or plain makes the kernels run as on a processor that has no more than that, as in the tools.
#define BOOST_TEST_MODULE heed
#include <boost/test/unit_test.hpp>
#include <cstdlib>

#include "base/simd_level.h"

namespace {

struct SimdLimit {
  SimdLimit() {
    if (const char* most = std::getenv("HEED_SIMD")) heed::limit_simd(most);
  }
};

}  // namespace

BOOST_TEST_GLOBAL_CONFIGURATION(SimdLimit);
