#define BOOST_TEST_MODULE heed
#include <boost/test/unit_test.hpp>
