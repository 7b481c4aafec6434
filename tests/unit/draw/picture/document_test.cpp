#include "draw/picture/document.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "base/error.h"

using namespace heed;
using namespace heed::draw;

namespace {

Slice weights(std::vector<float> values, Shape shape, std::vector<std::string> words) {
  Slice slice{"weights", Tensor::of<float>(std::move(values), std::move(shape), {"query", "key"}), {}, {}};
  slice.axes = {{"query", 0, {}}, {"key", 0, std::move(words)}};
  return slice;
}

/// "it rained ." of weight 0.25, "we won" of weight 0.75
Document example(float of_won = 0.8f) {
  return document_of(
      weights({0.3f, 0.5f, 0.2f, 0, 0, 0, 0, 0, 0.2f, of_won}, {2, 5}, {"it", "rained", ".", "we", "won"}),
      weights({0.25f, 0.75f}, {1, 2}, {}));
}

}  // namespace

BOOST_AUTO_TEST_CASE(words_of_a_document_stand_with_their_sentence) {
  const Document document = example();
  BOOST_REQUIRE_EQUAL(document.sentences.size(), 2U);
  const auto& [first, second] = std::pair(document.sentences[0], document.sentences[1]);
  BOOST_REQUIRE_EQUAL(first.words.size(), 3U);
  BOOST_REQUIRE_EQUAL(second.words.size(), 2U);
  BOOST_TEST(first.words[1].text == "rained");
  BOOST_TEST(second.words[1].text == "won");
  BOOST_TEST(second.words[1].weight == 0.8f);
  BOOST_TEST(second.weight == 0.75f);
  BOOST_TEST(std::abs(Document::shade(first, first.words[1]) - 0.5 * 0.5) < 1e-6);  // the root of 0.25
  BOOST_CHECK_THROW(document_of(weights({1, 0}, {2, 1}, {}), weights({1}, {1, 1}, {})), Error);
  // A word without weight, by an edit, is of the sentence before.
  const Document faint = example(0);
  BOOST_REQUIRE_EQUAL(faint.sentences[1].words.size(), 2U);
}

BOOST_AUTO_TEST_CASE(documents_are_drawn) {
  const Document document = example();
  const std::string plain = draw_on_terminal(document, {40, 0, ColorDepth::none});
  const std::string wanted =
      "0.25 ##       it[0.15] rained[0.25]\n"
      "              .[0.10]\n"
      "0.75 ######   we[0.17] won[0.69]\n";
  BOOST_TEST(plain.substr(0, wanted.size()) == wanted);
  const std::string colored = draw_on_terminal(document, {80, 0, ColorDepth::full});
  BOOST_TEST(colored.find("won\x1b[0m") != std::string::npos);
  const std::string svg = draw_document(document, PictureFormat::svg);
  BOOST_TEST(svg.find("<svg") != std::string::npos);
  BOOST_TEST(svg != draw_document(example(0.1f), PictureFormat::svg));
  BOOST_CHECK_THROW(document_of(weights({}, {0, 0}, {}), weights({}, {1, 0}, {})), Error);
  BOOST_CHECK_THROW(example(std::nanf("")), Error);
  BOOST_CHECK_THROW(example(2), Error);
}
