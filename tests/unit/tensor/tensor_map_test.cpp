#include "tensor/tensor_map.h"

#include <boost/test/unit_test.hpp>

#include "base/error.h"

using namespace heed;

BOOST_AUTO_TEST_SUITE(tensor_map)

BOOST_AUTO_TEST_CASE(missing_tensor_is_reported_with_what_is_there) {
  TensorMap map;
  map.add("tokens/ids", Tensor::zeros<std::int32_t>({2, 3}, {"sentence", "position"}));
  BOOST_CHECK_EXCEPTION(map.at("tokens/length"), Error, [](const Error& e) {
    return std::string(e.what()) == "/tokens/length is missing; present: /tokens/ids";
  });
  BOOST_CHECK_THROW(map.add("tokens/ids", Tensor()), Error);
  for (int i = 0; i < 14; ++i) map.add(concat("x", i), Tensor());
  BOOST_CHECK_EXCEPTION(map.at("y"), Error, [](const Error& e) {
    return std::string(e.what()).ends_with(
        ": /tokens/ids, /x0, /x1, /x2, /x3, /x4, /x5, /x6, /x7, /x8, /x9, /x10 and 3 more");
  });
}

BOOST_AUTO_TEST_CASE(values_fit_their_shape_and_type) {
  Tensor t = Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  BOOST_CHECK(t.dtype() == DType::f32);
  BOOST_CHECK_EQUAL(t.values<float>()[4], 5.0f);
  BOOST_CHECK_THROW(t.values<double>(), Error);
  BOOST_CHECK_THROW(Tensor::of<float>({1, 2}, {3}), Error);
  BOOST_CHECK_THROW(Tensor::zeros<float>({std::int64_t{1} << 62, 4}), Error);
}

BOOST_AUTO_TEST_SUITE_END()
