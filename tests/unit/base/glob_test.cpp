#include "base/glob.h"

#include <boost/test/unit_test.hpp>

#include "base/error.h"

using namespace heed;

BOOST_AUTO_TEST_CASE(a_star_stays_within_a_level) {
  BOOST_TEST(glob_matches("encoder/layer_*/output", "encoder/layer_0/output"));
  BOOST_TEST(!glob_matches("encoder/layer_*/output", "encoder/layer_0/self_attention/output"));
  BOOST_TEST(glob_matches("*", "logits"));
  BOOST_TEST(!glob_matches("*", "decoder/logits"));
  BOOST_TEST(glob_matches("layer_?/[a-k]*", "layer_1/key"));
  BOOST_TEST(!glob_matches("layer?key", "layer/key"));
}

BOOST_AUTO_TEST_CASE(two_stars_stand_for_any_number_of_levels) {
  for (const char* path :
       {"encoder/weights", "encoder/layer_0/weights", "encoder/layer_0/attention/weights"}) {
    BOOST_TEST(glob_matches("encoder/**/weights", path));
    BOOST_TEST(glob_matches("**", path));
    BOOST_TEST(glob_matches("**/weights", path));
    BOOST_TEST(glob_matches("encoder/**", path));
    BOOST_TEST(!glob_matches("**/layer_1/**", path));
  }
  BOOST_CHECK_THROW(glob_matches("encoder/**weights", "encoder/weights"), UsageError);
  BOOST_TEST(is_glob("a/**"));
  BOOST_TEST(!is_glob("a/b"));
}
