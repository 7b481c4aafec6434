// Histories, digests, format versions, and the gate against NaN.
#include "io/provenance.h"

#include <limits>

#include "base/digest.h"
#include "io/finite.h"
#include "samples.h"

using namespace heed;
using namespace heed::io;
using namespace heed::io::test;

// FIPS 180-2, appendix B.
BOOST_AUTO_TEST_CASE(sha256_of_the_published_examples) {
  BOOST_CHECK_EQUAL(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  BOOST_CHECK_EQUAL(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  BOOST_CHECK_EQUAL(sha256_hex(std::string(1000000, 'a')),
                    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

BOOST_AUTO_TEST_CASE(history_is_one_line_per_command) {
  Attributes root;
  add_history(root, "");
  BOOST_CHECK(root.empty());
  add_history(root, "tokenize a.txt");
  add_history(root, "embed\n-m model.h5");
  BOOST_CHECK_EQUAL(std::get<std::string>(root["history"]), "tokenize a.txt\nembed -m model.h5");
}

BOOST_AUTO_TEST_CASE(tensors_of_another_model_are_refused) {
  TensorMap frame;
  expect_digest(frame, "x.h5", kModelDigest, "0123456789abcdef", "model.h5");  // says nothing: passes
  frame.attributes[kModelDigest] = "0123456789abcdef";
  expect_digest(frame, "x.h5", kModelDigest, "0123456789abcdef", "model.h5");
  check_fails([&] { expect_digest(frame, "x.h5", kModelDigest, "ffff456789abcdef", "model.h5"); },
              {"x.h5", "another model", "0123456789ab", "ffff456789ab", "model.h5"});
  frame.attributes[kVocabularyDigest] = std::int64_t{3};
  check_fails([&] { expect_digest(frame, "x.h5", kVocabularyDigest, "aa", "v.h5"); }, {"another vocabulary"});
}

BOOST_AUTO_TEST_CASE(only_known_formats_pass) {
  expect_known_format({}, "x.h5");
  expect_known_format({{"format", "something else"}, {"format_version", std::int64_t{99}}}, "x.h5");
  expect_known_format({{"format", "heed"}, {"format_version", kFormatVersion}}, "x.h5");
  check_fails(
      [] {
        expect_known_format({{"format", "heed"}, {"format_version", kFormatVersion + 1}}, "x.h5");
      },
      {"x.h5", concat("format version ", kFormatVersion + 1), concat("up to version ", kFormatVersion)});
  for (const Attribute& version : {Attribute(std::int64_t{0}), Attribute("1"), Attribute(std::int64_t{-1})}) {
    check_fails(
        [&] {
          expect_known_format({{"format", "heed"}, {"format_version", version}}, "x.h5");
        },
        {"format_version"});
  }
}

BOOST_AUTO_TEST_CASE(values_that_are_not_finite_are_named) {
  Tensor tensor = Tensor::zeros<float>({2, 3, 5});
  expect_finite("x", tensor);
  tensor.values<float>()[1 * 15 + 2 * 5 + 4] = std::numeric_limits<float>::quiet_NaN();
  check_fails([&] { expect_finite("in.h5:/x", tensor); }, {"in.h5:/x[1, 2, 4] = nan"});
  Tensor wide = Tensor::of<double>({1, -std::numeric_limits<double>::infinity()}, {2});
  check_fails([&] { expect_finite("y", wide); }, {"y[1] = -inf"});
  expect_finite("z", Tensor::of<std::string>({"nan"}, {1}));
}
