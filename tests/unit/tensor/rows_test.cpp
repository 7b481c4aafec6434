#include "kernel_testing.h"

using namespace heed;
using namespace heed::testing;

BOOST_AUTO_TEST_SUITE(row_kernels)

BOOST_AUTO_TEST_CASE_TEMPLATE(biases_and_their_gradients, T, Floats) {
  for (Index d : kSizes) {
    const auto bias = Both<T>::normal(d, 1);
    BothMatrix<T> rows(5, d, 2, 1, 3);
    auto sum = Both<T>::normal(d, 3);
    sum_rows<T>(rows.in(), sum.out());
    naive::sum_rows<double>(rows.in_exact(), sum.out_exact());
    check_close(sum, 8);
    broadcast_row(bias.in(), rows.fast());
    naive::broadcast_row(bias.in_exact(), rows.exact());
    check_close(rows, 0);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_follows_a_linear_layer, T, Floats) {
  for (auto f : {Activation::none, Activation::relu, Activation::tanh, Activation::sigmoid}) {
    for (double p : {0.0, 0.4}) {
      for (Index d : kSizes) {
        const Dropout drop = make_dropout(p, 5, 6);
        const auto bias = Both<T>::normal(d, 4);
        BothMatrix<T> y(3, d, 5), d_y(3, d, 6), d_z(3, d);
        bias_activation_dropout(bias.in(), f, drop, y.fast());
        naive::bias_activation_dropout(bias.in_exact(), f, drop, y.exact());
        check_close(y, 12);
        y.values.exact.assign(y.values.fast.begin(), y.values.fast.end());
        bias_activation_dropout_backward<T>(f, drop, y.in(), d_y.in(), d_z.fast());
        naive::bias_activation_dropout_backward<double>(f, drop, y.in_exact(), d_y.in_exact(), d_z.exact());
        check_close(d_z, 12);
        bias_activation_dropout_backward<T>(f, drop, y.in(), d_y.in(), d_y.fast());
        BOOST_CHECK(
            std::equal(d_y.values.fast.begin() + 1, d_y.values.fast.end(), d_z.values.fast.begin() + 1));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_empty_bias_adds_nothing, T, Floats) {
  BothMatrix<T> y(2, 19, 1, 1, 4);
  bias_activation_dropout<T>({}, Activation::relu, {}, y.fast());
  naive::bias_activation_dropout<double>({}, Activation::relu, {}, y.exact());
  check_close(y, 0);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(rows_of_tables, T, Floats) {
  const std::vector<std::int32_t> ids = {4, 0, 4, 2}, places = {1, 2, 0, 1};
  for (Index d : kSizes) {
    BothMatrix<T> table(5, d, 1, 1, 2), positions(3, d, 2), y(4, d), d_table(5, d, 3, 1, 1);
    gather_rows<T>(table.in(), ids, T(1.5), positions.in(), places, y.fast());
    naive::gather_rows<double>(table.in_exact(), ids, 1.5, positions.in_exact(), places, y.exact());
    check_close(y, 3);
    scatter_add_rows<T>(ids, T(0.5), y.in(), d_table.fast());
    naive::scatter_add_rows<double>(ids, 0.5, y.in_exact(), d_table.exact());
    check_close(d_table, 8);
    gather_rows<T>(table.in(), ids, T(2), {}, {}, y.fast());
    naive::gather_rows<double>(table.in_exact(), ids, 2, {}, {}, y.exact());
    check_close(y, 1);
  }
}

BOOST_AUTO_TEST_SUITE_END()
