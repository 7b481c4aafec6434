#include "inspect/trace.h"

#include <boost/test/unit_test.hpp>

#include "base/error.h"

using namespace heed;

BOOST_AUTO_TEST_CASE(a_value_larger_than_its_room_is_refused) {
  const std::vector<NamedValue> wanted{{.name = "decoder/output", .cols = 2}};
  for (const std::int64_t length : {2, 3}) {  // of what is recorded; there is room for 2
    Packing room, rows;
    room.append(2);
    rows.append(length);
    TraceFrame frame(wanted, {room, room, {}, {}}, 0);
    Recording<float> recording([](const std::string&) { return true; });
    const std::vector<float> values(static_cast<std::size_t>(2 * length), 1.0f);
    recording.record("decoder/output", {values.data(), length, 2}, places_of(rows), {&rows});
    if (length == 2) {
      frame.add(recording, {0});
      const TensorMap map = frame.take();
      for (const float x : map.at("decoder/output/values").values<float>()) BOOST_CHECK_EQUAL(x, 1.0f);
    } else {
      BOOST_CHECK_THROW(frame.add(recording, {0}), Error);
    }
  }
}
