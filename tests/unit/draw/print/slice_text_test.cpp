#include "draw/print/slice_text.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "draw/print/listing.h"
#include "unit/draw/support.h"

using namespace heed;
using namespace heed::draw;

namespace {

Slice weights(const std::vector<std::string>& texts) {
  std::vector<Selection> selections;
  for (const auto& text : texts) selections.push_back(parse_selection(text));
  return take_slice(attention_map(), "attention/weights", selections);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_matrix_is_a_table_with_labels) {
  BOOST_TEST(tsv(weights({"sentence=1", "layer=0", "head=1", "query=0:2"})) ==
             "query\tit\tis\tasleep\t</s>\n"
             "il\t10100\t10101\t10102\t10103\n"
             "dort\t10110\t10111\t10112\t10113\n");
}

BOOST_AUTO_TEST_CASE(other_slices_have_a_line_per_value) {
  BOOST_TEST(tsv(weights({"sentence=0", "layer=1", "head=0", "query=3", "key=1:3"})) ==
             "key\tkey_label\tvalue\n1\tcat\t1031\n2\tis\t1032\n");
  BOOST_TEST(tsv(weights({"sentence=0", "layer=1", "head=0", "query=3", "key=1"})) == "value\n1031\n");
}

BOOST_AUTO_TEST_CASE(following_slices_share_their_columns) {
  TsvLines lines;
  const Slice labelled = weights({"sentence=0", "layer=0", "head=0", "query=0", "key=0:1"});
  Slice bare = labelled;
  bare.axes[0].labels.clear();
  BOOST_TEST(lines.add(labelled, 0) == "sentence\tkey\tkey_label\tvalue\n0\t0\tthe\t0\n");
  BOOST_TEST(lines.add(bare, 1) == "1\t0\t0\t0\n");
}

BOOST_AUTO_TEST_CASE(json_holds_values_labels_and_choices) {
  const auto parsed = nlohmann::json::parse(json(weights({"sentence=1", "layer=2", "head=0", "key=0:2"})));
  BOOST_TEST(parsed["name"] == "attention/weights");
  BOOST_TEST(parsed["shape"] == nlohmann::json({3, 2}));
  BOOST_TEST(parsed["dims"] == nlohmann::json({"query", "key"}));
  BOOST_TEST(parsed["labels"]["key"] == nlohmann::json({"it", "is"}));
  BOOST_TEST(parsed["values"][2][1] == 12021);
  BOOST_TEST(parsed["chosen"][0] == "sentence 1");
}

BOOST_AUTO_TEST_CASE(hostile_text_and_odd_numbers_survive) {
  TensorMap map;
  map.add("t", Tensor::of<std::string>({"a\tb\n", "\"</script>\x1b", "\xff"}, {3}, {"position"}));
  map.add("f", Tensor::of<float>({0.1f, NAN, -INFINITY, 1e-30f}, {4}, {"dim"}));
  map.add("i", Tensor::of<std::int64_t>({9007199254740993}, {1}, {"dim"}));
  BOOST_TEST(tsv(take_slice(map, "t", {})) ==
             "position\tvalue\n0\ta\\tb\\n\n1\t\"</script>\\x1b\n2\t\\xff\n");
  const auto text = nlohmann::json::parse(json(take_slice(map, "t", {})));
  BOOST_TEST(text["values"][1] == "\"</script>\x1b");
  BOOST_TEST(tsv(take_slice(map, "f", {})) == "dim\tvalue\n0\t0.1\n1\tnan\n2\t-inf\n3\t1e-30\n");
  BOOST_TEST(nlohmann::json::parse(json(take_slice(map, "f", {})))["values"][1].is_null());
  BOOST_TEST(tsv(take_slice(map, "i", {})) == "dim\tvalue\n0\t9007199254740993\n");
}

BOOST_AUTO_TEST_CASE(a_listing_accumulates_over_frames) {
  Listing listing;
  for (int frame = 0; frame < 3; ++frame) {
    TensorMap map;
    const std::int64_t positions = frame + 4;
    map.add("embeddings/values",
            Tensor::of(std::vector<float>(static_cast<std::size_t>(2 * positions), static_cast<float>(frame)),
                       {2, positions}, {"sentence", "position"}));
    map.add("model/bias", Tensor::of<double>({1, NAN, 5}, {3}, {"dim"}));
    listing.add(map);
  }
  BOOST_REQUIRE(listing.tensors().size() == 2u);
  const auto& values = listing.tensors()[0];
  BOOST_TEST(values.shape == (Shape{6, 6}));
  BOOST_TEST(values.count == 2 * (4 + 5 + 6));
  BOOST_TEST(values.min == 0);
  BOOST_TEST(values.max == 2);
  BOOST_TEST(values.mean() == (0.0 * 8 + 1 * 10 + 2 * 12) / 30);
  const auto& bias = listing.tensors()[1];
  BOOST_TEST(bias.shape == (Shape{3}));
  BOOST_TEST(bias.finite == 2);
  BOOST_TEST(bias.mean() == 3);
  BOOST_TEST(listing.text().find("[sentence 6, position 6]") != std::string::npos);
  BOOST_TEST(listing.text().find("2 of 3") != std::string::npos);
  BOOST_TEST(nlohmann::json::parse(listing.json())["tensors"][1]["max"] == 5);
  BOOST_TEST(listing.tsv().find("embeddings/values\tfloat32\tsentence,position\t6,6\t0\t") !=
             std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_listing_shows_where_a_file_comes_from) {
  TensorMap map = attention_map();
  map.attributes["history"] = std::string("tokenize\nembed \x1b[0m\n");
  Listing listing;
  listing.add(map);
  BOOST_TEST(listing.text().find("# history: tokenize\n# history: embed \u241b[0m\n") != std::string::npos);
  TensorMap other;
  other.add("attention/weights", Tensor::of<double>({1}, {1}, {"sentence"}));
  BOOST_CHECK_THROW(listing.add(other), std::runtime_error);
}
