// Seeing and changing named values.
#include "nn/named_values.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

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
  explicit Layer(const std::string& cell, bool peepholes = false, bool layer_norm = false)
      : sizes{cell, 3, peepholes, layer_norm} {
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

using Values = std::vector<double>;

/// Ba, Kiros, Hinton 2016, eq. 4, without the shift.
Values normed(const Values& v, Matrix<const double> gain) {
  double mean = 0, variance = 0;
  for (double x : v) mean += x / static_cast<double>(v.size());
  for (double x : v) variance += (x - mean) * (x - mean) / static_cast<double>(v.size());
  Values y;
  for (double x : v)
    y.push_back(gain(0, static_cast<std::int64_t>(y.size())) * (x - mean) / std::sqrt(variance + 1e-5));
  return y;
}

/// h of all words of an LSTM by the equations of nn/recurrent.h, a word and a number at a time; the value of
/// that name is zero at one place.
Values lstm_by_equations(Layer& layer, const std::string& zeroed, const Place& place) {
  const auto d = static_cast<std::size_t>(layer.sizes.d_hidden);
  const RecurrentSizes& sizes = layer.sizes;
  auto parameter = [&](const std::string& name) {
    return Matrix<const double>(layer.parameters.view("layer/" + name));
  };
  auto at = [&](const std::string& name, std::size_t i, std::size_t j) {
    return parameter(name)(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
  };
  // W x or U h' of all gates, one behind the other.
  auto products = [&](const std::string& part, const Values& in) {
    Values sums;
    for (const std::string& gate : sizes.gates()) {
      for (std::size_t j = 0; j < d; ++j) {
        sums.push_back(0);
        for (std::size_t i = 0; i < in.size(); ++i)
          sums.back() += in[i] * at(part + "/" + gate + "/weight", i, j);
      }
    }
    return sizes.layer_norm ? normed(sums, parameter(part + "_norm/gamma")) : sums;
  };
  Values all;
  for (std::int64_t s = 0; s < kRows.sentences(); ++s) {
    Values h(d), c(d);
    for (std::int64_t t = 0; t < kRows.length(s); ++t) {
      auto value = [&](const std::string& name, const auto& compute) {
        Values v(d);
        for (std::size_t j = 0; j < d; ++j)
          v[j] = name == zeroed && s == place.sentence && t == place.position ? 0 : compute(j);
        return v;
      };
      const auto first = layer.x.begin() + (kRows.offset(s) + t) * 2;
      const Values w = products("input", {first, first + 2}), u = products("recurrent", h);
      auto gate = [&](std::size_t number, const Values* seen) {
        const std::string name = sizes.gates()[number];
        const Values from_x = value("input_norm/" + name, [&](std::size_t j) {
          return w[number * d + j] + at("input/" + name + "/bias", 0, j);
        });
        const Values from_h =
            value("recurrent_norm/" + name, [&](std::size_t j) { return u[number * d + j]; });
        return value(name, [&](std::size_t j) {
          const double sum = from_x[j] + from_h[j];
          if (!seen) return std::tanh(sum);
          const double peephole = sizes.peepholes ? at("peephole/" + name + "/weight", 0, j) * (*seen)[j] : 0;
          return 1 / (1 + std::exp(-sum - peephole));
        });
      };
      const Values i = gate(0, &c), f = gate(1, &c), g = gate(3, nullptr);
      c = value("cell", [&](std::size_t j) { return f[j] * c[j] + i[j] * g[j]; });
      const Values o = gate(2, &c);
      const Values shown = sizes.layer_norm ? normed(c, parameter("cell_norm/gamma")) : c;
      const Values out = value("cell_norm/output", [&](std::size_t j) {
        return shown[j] + (sizes.layer_norm ? at("cell_norm/beta", 0, j) : 0);
      });
      h = value("hidden", [&](std::size_t j) { return o[j] * std::tanh(out[j]); });
      all.insert(all.end(), h.begin(), h.end());
    }
  }
  return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(named_values)

BOOST_AUTO_TEST_CASE(places_of_rows_and_steps) {
  const std::vector<Place> all = places_of(kRows);
  BOOST_REQUIRE_EQUAL(all.size(), 8);
  BOOST_CHECK(all[3].sentence == 1 && all[3].position == 0);
  BOOST_CHECK(all[7].sentence == 2 && all[7].position == 3);
  const StepOrder order(kRows, Direction::backward);
  const std::vector<Place> step = order.rows_of(1, kRows).places();
  BOOST_CHECK(step[0].sentence == 2 && step[0].position == 2);
  BOOST_CHECK(step[1].sentence == 0 && step[1].position == 1);
}

// Sequences of 3, 1 and 4 rows that are parts of two sentences: 3 + 1 of the first, 4 of the second.
BOOST_AUTO_TEST_CASE(places_of_parts_of_sentences) {
  const Packing whole(std::vector<std::int32_t>{4, 4});
  const std::vector<std::int64_t> sentences{0, 0, 1}, before{0, 3, 0};
  const Continuation in_whole{sentences, before, &whole};
  for (const Direction direction : {Direction::forward, Direction::backward}) {
    const StepOrder order(kRows, direction, &in_whole);
    const bool forward = direction == Direction::forward;
    const StepRows all = order.rows_of_all(kRows), first = order.rows_of(0, kRows);
    BOOST_CHECK(all.rows == &whole && first.rows == &whole);
    std::vector<Place> places = all.places();
    std::ranges::sort(places, {}, [](const Place& p) { return std::pair(p.sentence, p.position); });
    const std::vector<Place> wanted = places_of(whole);
    BOOST_CHECK(std::ranges::equal(places, wanted, [](const Place& a, const Place& b) {
      return a.sentence == b.sentence && a.position == b.position;
    }));
    places = first.places();  // longest first: the second sentence, then both parts of the first
    BOOST_CHECK(places[0].sentence == 1 && places[0].position == (forward ? 0 : 3));
    BOOST_CHECK(places[1].sentence == 0 && places[1].position == (forward ? 0 : 2));
    BOOST_CHECK(places[2].sentence == 0 && places[2].position == 3);
  }
}

BOOST_AUTO_TEST_CASE(a_recurrence_names_its_gates_and_states) {
  for (const std::string& cell : cell_names()) {
    for (const Direction direction : {Direction::forward, Direction::backward}) {
      Layer layer(cell);
      Recording<double> recording([](const std::string&) { return true; });
      const std::vector<double> plain = layer.run(direction);
      layer.pass.recorder = &recording;
      BOOST_TEST(layer.run(direction) == plain);  // recording changes no bit
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

BOOST_AUTO_TEST_CASE(what_a_changed_lstm_computes_is_what_its_equations_say) {
  for (const bool layer_norm : {false, true}) {
    std::vector<std::string> names{"none", "input", "forget", "output", "candidate", "cell", "hidden"};
    if (layer_norm)
      names.insert(names.end(), {"input_norm/forget", "recurrent_norm/output", "recurrent_norm/input",
                                 "input_norm/candidate", "cell_norm/output"});
    for (const std::string& name : names) {
      Layer layer("lstm", true, layer_norm);
      const Values plain = layer.run(Direction::forward);
      ZeroAt editor;
      editor.name = "layer/" + name;
      editor.place = {2, 1};
      layer.pass.editor = &editor;
      const Values changed = layer.run(Direction::forward), wanted = lstm_by_equations(layer, name, {2, 1});
      double moved = 0;
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        BOOST_CHECK_MESSAGE(std::abs(changed[i] - wanted[i]) <= 1e-12,
                            name << ", number " << i << ": " << changed[i] << ", wanted " << wanted[i]);
        moved = std::max(moved, std::abs(changed[i] - plain[i]));
      }
      BOOST_TEST((moved > 1e-6) == (name != "none"));
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
