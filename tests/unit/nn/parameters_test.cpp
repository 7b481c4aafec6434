// Parameters by name and by place, and the scopes that go down to them.
#include "nn/parameters.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <limits>
#include <string>
#include <utility>

#include "base/error.h"
#include "nn/scope.h"

using namespace heed;

namespace {

ParameterSet<float> parameters() {
  ParameterSet<float> set;
  set.add("table/weight", {4, 3}, Init::ones());
  set.add_stacked("encoder/layer_0/attention", {"query", "key"}, 3, 2, Init::ones(), Init::zeros());
  set.add("encoder/layer_0/norm", {3}, Init::ones());
  set.add("encoder/layer_0/norm/gamma", {3}, Init::ones());
  set.add("encoder/layer_1/norm/gamma", {3}, Init::ones());
  set.values();
  return set;
}

/// A check of an error's whole text.
auto says(const std::string& text) {
  return [text](const Error& e) { return e.what() == text; };
}

}  // namespace

BOOST_AUTO_TEST_SUITE(parameter_places)

BOOST_AUTO_TEST_CASE(every_name_leads_to_its_parameter_at_once_and_word_by_word) {
  const ParameterSet<float> original = parameters(), set = original;  // a copy has places of its own
  for (const Parameter& p : set.list()) {
    BOOST_TEST_CONTEXT(p.name) {
      BOOST_TEST(set.parameter_at(set.below(0, p.name)) == &set.find(p.name));
      std::int32_t place = 0;
      for (std::size_t word = 0; word < p.name.size();) {
        const std::size_t end = std::min(p.name.find('/', word), p.name.size());
        place = set.below(place, p.name.substr(word, end - word));
        BOOST_TEST(set.path_of(place) == p.name.substr(0, end));
        word = end + 1;
      }
      BOOST_TEST(set.parameter_at(place) == &set.find(p.name));
    }
  }
  BOOST_TEST(!set.parameter_at(set.below(0, "encoder/layer_0")));
}

BOOST_AUTO_TEST_CASE(what_no_name_begins_with_is_nowhere) {
  const ParameterSet<float> set = parameters();
  for (const char* name :
       {"decoder", "encoder/layer", "encoder/layer_00", "encoder/layer_0/norm/gamma/x", "weight", "/table"})
    BOOST_TEST(set.below(0, name) == set.kNowhere);
  BOOST_TEST(set.below(set.below(0, "nothing"), "table") == set.kNowhere);
  BOOST_TEST(!set.parameter_at(set.kNowhere));
}

BOOST_AUTO_TEST_CASE(scopes_find_parameters_and_keep_paths_that_have_none) {
  const ParameterSet<float> set = parameters();
  Tape<float> tape;
  Pass<float> pass(tape, set);
  const Scope<float> root(pass), layer = root / "encoder" / "layer_0", other = root / "decoder" / "layer_0";
  BOOST_TEST(layer.path() == "encoder/layer_0");
  BOOST_TEST(other.path() == "decoder/layer_0");
  BOOST_TEST((layer / "context" / "x").path() == "encoder/layer_0/context/x");
  BOOST_TEST(Scope<float>(pass, "encoder/layer_0").parameter("norm/gamma").value().data ==
             set.view("encoder/layer_0/norm/gamma").data);
  BOOST_TEST(layer.has("norm"));
  BOOST_TEST(!layer.has("attention"));
  BOOST_TEST(!other.has("norm"));
  BOOST_CHECK_EXCEPTION(other.parameter("norm"), Error,
                        says("the model has no parameter decoder/layer_0/norm"));
  BOOST_CHECK_EXCEPTION(layer.parameter("attention"), Error,
                        says("the model has no parameter encoder/layer_0/attention"));
}

BOOST_AUTO_TEST_CASE(stacked_parts_are_one_matrix) {
  const ParameterSet<float> set = parameters();
  const std::int32_t place = set.below(0, "encoder/layer_0/attention");
  const Matrix<const float> both = set.stacked(place, {"query", "key"}, "weight").in(set.values().data());
  const Matrix<const float> query = set.view("encoder/layer_0/attention/query/weight");
  BOOST_TEST(both.data == query.data);
  BOOST_TEST(both.rows == 3);
  BOOST_TEST(both.cols == 4);
  BOOST_TEST(both.row_stride == query.row_stride);
  BOOST_TEST(both.columns(2, 2).data == set.view("encoder/layer_0/attention/key/weight").data);
  BOOST_CHECK_EXCEPTION(set.stacked(place, {"key", "query"}, "weight"), Error,
                        says("encoder/layer_0/attention: query/weight does not lie beside key"));
  BOOST_CHECK_EXCEPTION(set.stacked(place, {"query", "value"}, "weight"), Error,
                        says("the model has no parameter encoder/layer_0/attention/value/weight"));
  BOOST_CHECK_EXCEPTION(set.stacked(set.kNowhere, {"query", "key"}, "weight"), Error,
                        says("the model has no parameters in the scope of the stacked query/weight"));
}

BOOST_AUTO_TEST_CASE(tensors_that_come_one_at_a_time_fill_the_parameters) {
  const std::string prefix = "model/parameters/";
  ParameterSet<float> drawn = parameters(), filled = parameters();
  drawn.initialize(3);
  TensorMap map;
  drawn.to_map(std::as_const(drawn).values(), prefix, map);
  ParameterFilling<float> filling(filled, prefix, filled.values());
  for (const auto& [path, tensor] : map.tensors()) {
    BOOST_CHECK_EXCEPTION(filling.finish(), Error,
                          [](const Error& e) { return std::string(e.what()).ends_with(" is missing"); });
    filling.add(path, tensor);
  }
  filling.finish();
  BOOST_TEST(std::ranges::equal(filled.values(), drawn.values()));
  BOOST_CHECK_EXCEPTION(
      filling.add(prefix + "table/bias", Tensor::of<float>({1}, {1})), Error,
      says("/model/parameters/table/bias: no parameter of this model: is the config that of another?"));
}

BOOST_AUTO_TEST_CASE(values_are_read_to_where_they_belong) {
  ParameterSet<float> set;
  set.add("table", {3, 20}, Init::ones());  // there are unused elements between its rows
  set.add("vector", {20}, Init::ones());
  ParameterFilling<float> filling(set, "p/", set.values());
  BOOST_CHECK_EXCEPTION(filling.place("p/other", {3}), Error,
                        says("/p/other: no parameter of this model: is the config that of another?"));
  BOOST_CHECK_THROW(filling.place("p/table", {20, 3}), Error);
  const Matrix<float> table = filling.place("p/table", {3, 20});
  BOOST_CHECK_THROW(filling.finish(), Error);
  const Matrix<float> vector = filling.place("p/vector", {20});
  for (const auto& [place, name] : {std::pair(table, "table"), {vector, "vector"}}) {
    const Matrix<float> own = set.view(name);
    BOOST_TEST((place.data == own.data && place.row_stride == own.row_stride));
    BOOST_TEST((place.rows == own.rows && place.cols == own.cols));
  }
  filling.finish();
  table(2, 19) = std::numeric_limits<float>::quiet_NaN();
  BOOST_CHECK_EXCEPTION(filling.finish(), Error, says("/p/table: element 59 is nan"));
}

BOOST_AUTO_TEST_CASE(new_values_are_zeros) {
  ParameterSet<float> set;
  for (const char* name : {"one", "two", "three"}) {  // also where there were values before
    set.add(name, {37, 100}, Init::ones());
    const std::span<float> values = set.values();
    const auto wanted = [&](float x) { return x == 0 || x == 1; };
    BOOST_TEST(std::ranges::all_of(values, wanted));
    BOOST_TEST(std::ranges::count(set.view(name).data, set.view(name).data + 100, 0.0f) == 100);
    set.initialize(1);
  }
  // Where there were values of parameters that were left out, too.
  set.leave_out([](const std::string& name) { return name != "one"; });
  const auto kept = std::ssize(set.values());
  set.add("four", {37, 100}, Init::ones());
  const std::span<float> values = set.values();
  BOOST_TEST(std::ssize(values) > kept);
  BOOST_TEST(std::ranges::count(values.subspan(static_cast<std::size_t>(kept)), 0.0f) ==
             std::ssize(values) - kept);
}

BOOST_AUTO_TEST_CASE(orthogonal_matrices_are_orthonormal_along_their_shorter_side) {
  // Rows are made orthogonal several at a time: also a number of them that this does not divide.
  for (const auto& [rows, cols] : {std::pair<std::int64_t, std::int64_t>{7, 7}, {6, 9}, {9, 6}, {1, 5}}) {
    ParameterSet<double> set;
    set.add("m", {rows, cols}, Init::orthogonal());
    set.initialize(3);
    const Matrix<const double> m = set.view("m"), y = rows <= cols ? m : m.t();
    for (std::int64_t i = 0; i < y.rows; ++i) {
      for (std::int64_t k = 0; k <= i; ++k) {
        double dot = 0;
        for (std::int64_t j = 0; j < y.cols; ++j) dot += y(i, j) * y(k, j);
        BOOST_TEST(std::abs(dot - (i == k ? 1 : 0)) < 1e-12);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(several_threads_draw_the_same_parameters) {
  ParameterSet<float> one;
  for (const char* name : {"a", "b", "c", "d"}) one.add(name, {5, 8}, Init::normal(1));
  one.add("orthogonal", {9, 5}, Init::orthogonal());
  ParameterSet<float> several = one;
  one.initialize(4);
  several.initialize(4, 3);
  BOOST_TEST(std::ranges::equal(one.values(), several.values()));
  several.initialize(5, 3);
  BOOST_TEST(!std::ranges::equal(one.values(), several.values()));
}

BOOST_AUTO_TEST_SUITE_END()
