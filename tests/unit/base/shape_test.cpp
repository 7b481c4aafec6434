#include "base/shape.h"

#include <boost/test/unit_test.hpp>

#include "base/error.h"

using namespace heed;

BOOST_AUTO_TEST_SUITE(shapes)

BOOST_AUTO_TEST_CASE(elements_are_counted_without_overflow) {
  BOOST_CHECK_EQUAL(element_count({}), 1);
  BOOST_CHECK_EQUAL(element_count({2, 3, 5}), 30);
  BOOST_CHECK_EQUAL(element_count({7, 0}), 0);
  BOOST_CHECK_THROW(element_count({2, -1}), Error);
  BOOST_CHECK_THROW(element_count({std::int64_t{1} << 32, std::int64_t{1} << 32}), Error);
}

BOOST_AUTO_TEST_CASE(a_wrong_shape_is_shown_with_the_wanted_one) {
  BOOST_CHECK_NO_THROW(expect_shape("key", {5, 12}, {-1, 12}));
  BOOST_CHECK_EXCEPTION(expect_shape("key", {5, 12}, {-1, 128}), Error, [](const Error& e) {
    return std::string(e.what()) == "key: shape [5, 12], wanted [any, 128]";
  });
  BOOST_CHECK_THROW(expect_shape("key", {5, 12}, {5, 12, 1}), Error);
}

BOOST_AUTO_TEST_SUITE_END()
