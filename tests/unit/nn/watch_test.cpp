// Seeing and changing named values.
#include "nn/watch.h"

#include <boost/test/unit_test.hpp>

#include "base/error.h"
#include "nn/recording.h"
#include "nn/recurrent.h"
#include "support/gradient_check.h"

using namespace heed;
using namespace heed::test;

namespace {

const Packing kRows(std::vector<std::int32_t>{3, 1, 4});

/// A recurrent layer over drawn inputs.
struct Layer {
  explicit Layer(const std::string& cell) : sizes{cell, 3} {
    const Init init = Init::uniform(0.7);
    add_recurrent(parameters, "layer", sizes, 2, {init, init, init});
    parameters.initialize(3);
    pass.tape = &tape;
    pass.parameters = &parameters;
  }
  std::vector<double> run(Direction direction) {
    tape.reset();
    const Var<double> h =
        recurrent(Scope<double>(pass) / "layer", sizes, tape.constant({x.data(), 8, 2}), kRows, direction).h;
    return {h.value().data, h.value().data + h.value().size()};
  }

  RecurrentSizes sizes;
  ParameterSet<double> parameters;
  Tape<double> tape;
  Pass<double> pass;
  std::vector<double> x = random_values(16, 4);
};

/// Sets `name` to zero at one place.
struct ZeroAt final : Editor<double> {
  std::string name;
  Place place;
  bool edits(const std::string& other) const override { return other == name; }
  void edit(const std::string&, Matrix<double> value, std::span<const Place> places,
            std::int64_t) const override {
    for (std::int64_t i = 0; i < value.rows; ++i) {
      const Place& at = places[static_cast<std::size_t>(i)];
      if (at.sentence == place.sentence && at.position == place.position)
        std::fill_n(value.row(i), value.cols, 0.0);
    }
  }
  void edit_attention(const std::string&, std::span<double>, const Place&, std::int64_t) const override {}
};

}  // namespace

BOOST_AUTO_TEST_SUITE(watch)

BOOST_AUTO_TEST_CASE(places_of_rows_and_steps) {
  const std::vector<Place> all = places_of(kRows);
  BOOST_REQUIRE_EQUAL(all.size(), 8);
  BOOST_CHECK(all[3].sentence == 1 && all[3].position == 0);
  BOOST_CHECK(all[7].sentence == 2 && all[7].position == 3);
  const std::vector<std::int64_t> sentences{2, 0};
  const std::vector<Place> step = StepRows{sentences, 1, &kRows, true, {}}.places();
  BOOST_CHECK(step[0].sentence == 2 && step[0].position == 2);
  BOOST_CHECK(step[1].sentence == 0 && step[1].position == 1);
}

BOOST_AUTO_TEST_CASE(a_recurrence_names_its_gates_and_states) {
  for (const std::string& cell : cell_names()) {
    for (const Direction direction : {Direction::forward, Direction::backward}) {
      Layer layer(cell);
      Recording<double> recording([](const std::string&) { return true; });
      const std::vector<double> plain = layer.run(direction);
      layer.pass.recorder = &recording;
      BOOST_TEST(layer.run(direction) == plain);  // looking changes no bit
      BOOST_TEST(recording.at("layer/hidden").values == plain);
      for (const std::string& gate : layer.sizes.gates()) BOOST_TEST(recording.has("layer/" + gate));
      BOOST_TEST(recording.has("layer/cell") == (cell == "lstm"));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_change_reaches_what_comes_later_and_nothing_else) {
  for (const std::string& cell : cell_names()) {
    for (const Direction direction : {Direction::forward, Direction::backward}) {
      Layer layer(cell);
      const std::vector<double> plain = layer.run(direction);
      ZeroAt editor;
      editor.name = "layer/candidate";
      editor.place = {2, 1};
      layer.pass.editor = &editor;
      const std::vector<double> changed = layer.run(direction);
      for (std::int64_t row = 0; row < 8; ++row) {
        const bool later = direction == Direction::forward ? row >= 5 : row == 4 || row == 5;
        double most = 0;
        for (std::size_t j = 0; j < 3; ++j) {
          const auto at = static_cast<std::size_t>(row) * 3 + j;
          most = std::max(most, std::abs(changed[at] - plain[at]));
        }
        BOOST_CHECK_MESSAGE(later ? most > 1e-9 : most <= 1e-14,
                            cell << ", row " << row << " moved by " << most);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(a_value_is_named_once) {
  Layer layer("gru");
  Recording<double> recording([](const std::string&) { return true; });
  layer.pass.recorder = &recording;
  layer.run(Direction::forward);
  BOOST_CHECK_THROW(layer.run(Direction::forward), Error);
}

BOOST_AUTO_TEST_CASE(changed_values_have_no_gradient) {
  Layer layer("lstm");
  ZeroAt editor;
  editor.name = "layer/forget";
  layer.pass.editor = &editor;
  layer.tape.set_with_gradients(true);
  BOOST_CHECK_THROW(layer.run(Direction::forward), Error);
}

BOOST_AUTO_TEST_SUITE_END()
