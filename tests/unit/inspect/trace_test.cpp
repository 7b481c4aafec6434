#include "inspect/trace.h"

#include <boost/test/unit_test.hpp>

#include "base/error.h"
#include "inspect/value_names.h"
#include "models/xu.h"

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

BOOST_AUTO_TEST_CASE(values_of_captions_are_rows_of_the_right_side) {
  for (const std::int64_t places : {2, 3, 5}) {
    XuConfig config;
    config.source_vocab_size = 1;
    config.target_vocab_size = 7;
    config.d_embedding = config.d_hidden = config.d_align = 2;
    config.feature_places = places;
    config.feature_width = 2;
    Stages stages;
    stages.last = 1;
    stages.decode = stages.logits = true;
    const auto model = build<float>(config);
    model->parameters.initialize(1);
    for (const NamedValue& value : value_names(*model, stages)) {
      BOOST_TEST_CONTEXT(value.text()) {
        const bool of_image = value.name.starts_with("encoder/") || value.name.ends_with("attention/key") ||
                              value.name.ends_with("attention/value");
        const bool is_sided = value.rows == Rows::source || value.rows == Rows::target;
        if (is_sided) BOOST_TEST((value.rows == Rows::source) == of_image);
        if (value.attention) BOOST_TEST((value.rows == Rows::target && value.keys == Rows::source));
      }
    }
  }
}
