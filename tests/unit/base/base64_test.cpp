#include "base/digest.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(base64_text)

BOOST_AUTO_TEST_CASE(examples_of_rfc_4648) {
  BOOST_TEST(heed::base64("") == "");
  BOOST_TEST(heed::base64("f") == "Zg==");
  BOOST_TEST(heed::base64("fo") == "Zm8=");
  BOOST_TEST(heed::base64("foo") == "Zm9v");
  BOOST_TEST(heed::base64("foob") == "Zm9vYg==");
  BOOST_TEST(heed::base64("foobar") == "Zm9vYmFy");
}

BOOST_AUTO_TEST_CASE(bytes_above_127_and_zeros) {
  BOOST_TEST(heed::base64(std::string("\xff\xfe\xfd\x00\x00\x80", 6)) == "//79AACA");
}

BOOST_AUTO_TEST_SUITE_END()
