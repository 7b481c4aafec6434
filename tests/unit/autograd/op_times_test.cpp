#include "autograd/op_times.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <vector>

#include "autograd/ops.h"
#include "autograd/ops_recurrent.h"

using namespace heed;

BOOST_AUTO_TEST_SUITE(op_times)

BOOST_AUTO_TEST_CASE(operations_are_counted_by_name_in_both_directions) {
  const std::vector<double> values(200, 0.5);
  std::vector<double> gradients(400);
  Tape<double> tape;
  tape.set_with_gradients(true);
  OpTimes times;
  times.start();
  tape.set_op_times(&times);
  const Var<double> x = tape.leaf({values.data(), 6, 4}, {gradients.data(), 6, 4}),
                    w = tape.leaf({values.data(), 4, 8}, {gradients.data() + 100, 4, 8}),
                    u = tape.leaf({values.data(), 8, 4}, {gradients.data() + 200, 8, 4});
  StepLinear<double> step(u, 6);
  const Var<double> y = linear(linear(step(linear(x, w, {})), w, {}), u, {});
  tape.backward(y);
  std::map<std::string, OpTimes::Row> rows;
  double before = 1e9;
  for (const OpTimes::Row& row : times.rows()) {
    rows[row.op] = row;
    BOOST_TEST(row.seconds <= before);
    BOOST_TEST(row.seconds >= 0);
    before = row.seconds;
  }
  BOOST_TEST(rows.size() == 5u);
  BOOST_TEST(rows["loss"].calls == 1);
  const double product = 2 * 6 * 4 * 8;
  BOOST_TEST(rows["linear"].calls == 3);
  BOOST_TEST(rows["linear"].flops == 3 * product);
  BOOST_TEST(rows["linear"].bytes == 8.0 * 6 * (8 + 8 + 4));
  BOOST_TEST(rows["linear, backward"].calls == 3);
  BOOST_TEST(rows["linear, backward"].flops == 2 * 3 * product);
  BOOST_TEST(rows["StepLinear"].flops == product);
  BOOST_TEST(rows["StepLinear, backward"].flops == 2 * product);

  OpTimes twice = times;
  twice.add(times);
  for (const OpTimes::Row& row : twice.rows()) BOOST_TEST(row.flops == 2 * rows[row.op].flops);
}

BOOST_AUTO_TEST_SUITE_END()
