// Settings in YAML as JSON.
#include "models/foreign/yaml_config.h"

#include <boost/test/unit_test.hpp>

#include "base/error.h"

namespace heed::foreign {
namespace {

BOOST_AUTO_TEST_CASE(scalars_have_types) {
  const Json json = yaml_object(
      "a: 7\nb: -2\nc: 0.6\nd: true\ne: da\nf: \"\"\ng: \"7\"\nh: []\ni:\n  - 3\n  - x\nj: ~\nk: !!int 4\n",
      "m");
  BOOST_TEST(json.dump() ==
             R"({"a":7,"b":-2,"c":0.6,"d":true,"e":"da","f":"","g":"7","h":[],"i":[3,"x"],"j":null,"k":4})");
  BOOST_TEST(json["a"].is_number_unsigned());
  BOOST_TEST(yaml_object("!A\na: !B {b: &x [1, !!python/tuple [2, 3]]}\nc: *x\n", "m").dump() ==
             R"({"a":{"b":[1,[2,3]]},"c":[1,[2,3]]})");
}

/// None of them costs memory or the stack.
BOOST_AUTO_TEST_CASE(what_is_no_list_of_settings_is_refused) {
  std::string bomb = "a: &a [x, x, x, x, x]\n";
  for (char c = 'b'; c <= 'z'; ++c)
    bomb += concat(c, ": &", c, " [*", char(c - 1), ", *", char(c - 1), ", *", char(c - 1), "]\n");
  for (const std::string& text :
       {std::string("just text"), std::string("- a\n- b\n"), std::string("a: &x [*x]"),
        "a: " + std::string(90, '[') + std::string(90, ']'), std::string("a: 1\na: 2\n"),
        std::string("b: {a: 1, a: 2}"), std::string("[a]: 1"), std::string("a: \"open"), std::string(),
        "a: " + std::string(100'000, '['), std::string(2 << 20, 'a'), bomb}) {
    BOOST_TEST_CONTEXT(text.substr(0, 20)) {
      try {
        yaml_object(text, "model.npz");
        BOOST_ERROR("no error");
      } catch (const Error& error) {
        BOOST_TEST(std::string(error.what()).starts_with("model.npz"));
      }
    }
  }
}

}  // namespace
}  // namespace heed::foreign
