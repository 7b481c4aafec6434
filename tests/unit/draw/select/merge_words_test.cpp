#include "draw/select/merge_words.h"

#include <boost/test/unit_test.hpp>

#include "base/error.h"
#include "unit/draw/support.h"

using namespace heed;
using namespace heed::draw;

namespace {

std::string shown(const std::vector<std::string>& pieces) {
  std::string text;
  for (const Word& word : words_of(pieces))
    text += word.text + "(" + std::to_string(word.pieces.count) + ") ";
  return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(pieces_become_words) {
  BOOST_TEST(shown({"\u2581the", "\u2581o", "ak", "\u2581.", "</s>"}) == "the(1) oak(2) .(1) </s>(1) ");
  BOOST_TEST(shown({"the", "o@@", "a@@", "k", "</s>"}) == "the(1) oak(3) </s>(1) ");
  BOOST_TEST(shown({"the", "oak"}) == "the(1) oak(1) ");
  BOOST_TEST(shown({"\u2581", "\u6a39", "\u2581", "a"}) == "\u6a39(2) a(2) ");  // characters
  BOOST_TEST(shown({"\u2581ch", "<0xC3>", "<0xAA>", "ne"}) == "ch\u00eane(4) ");
  BOOST_TEST(shown({"o@@", "<unk>", "k"}) == "o(1) <unk>(1) k(1) ");
  BOOST_TEST(shown({}) == "");
}

BOOST_AUTO_TEST_CASE(keys_add_up_and_queries_are_averaged) {
  Slice slice{"a", Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3}, {"query", "key"}), {}, {}};
  slice.axes = {{"query", 0, {"x@@", "y"}}, {"key", 0, {"a", "b@@", "c"}}};
  const Slice merged = merge_words(slice);
  BOOST_TEST(merged.values.shape() == (Shape{1, 2}));
  BOOST_TEST(merged.values.values<double>()[0] == 2.5);
  BOOST_TEST(merged.values.values<double>()[1] == 8);
  BOOST_TEST(merged.axes[1].labels == (std::vector<std::string>{"a", "bc"}));
}

BOOST_AUTO_TEST_CASE(labels_choose) {
  const auto cut = [](const std::string& label) {
    return take_slice(attention_map(), "attention/weights",
                      {parse_selection("sentence=0"), parse_selection("layer=0"), parse_selection("head=0"),
                       parse_selection("key=" + label)});
  };
  BOOST_TEST(cut("asleep").values.values<float>()[0] == 3);
  BOOST_CHECK_THROW(cut("dog"), Error);
  BOOST_CHECK_THROW(cut("=3"), Error);  // a label, not an index
  BOOST_CHECK_EXCEPTION(take_slice(attention_map(), "attention/weights", {parse_selection("key=cat")}), Error,
                        [](const Error& error) {
                          return std::string(error.what()).find("labels differ by sentence") !=
                                 std::string::npos;
                        });
}
