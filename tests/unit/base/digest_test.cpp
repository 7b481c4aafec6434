#include "base/digest.h"

#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_CASE(sha256_of_the_examples_in_fips_180) {
  BOOST_TEST(heed::sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  BOOST_TEST(heed::sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}
