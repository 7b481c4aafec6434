#include "inspect/alignment.h"

#include <boost/test/unit_test.hpp>

#include "base/error.h"

using namespace heed;

BOOST_AUTO_TEST_SUITE(alignment)

BOOST_AUTO_TEST_CASE(each_target_piece_links_the_words_of_its_strongest_source_piece) {
  // 1 sentence, 2 layers, 2 heads, 3 queries (the last is </s>), 4 keys (the last is </s>).
  Tensor weights = Tensor::zeros<float>({1, 2, 2, 3, 4});
  auto set = [&](int layer, int head, int query, std::vector<float> row) {
    std::copy(row.begin(), row.end(), weights.values<float>().begin() + ((layer * 2 + head) * 3 + query) * 4);
  };
  set(1, 0, 0, {0.6f, 0.1f, 0.3f, 0.0f});
  set(1, 1, 0, {0.0f, 0.1f, 0.4f, 0.5f});  // together key 2 is strongest; </s> does not count
  set(1, 0, 1, {0.9f, 0.1f, 0.0f, 0.0f});
  set(1, 1, 1, {0.2f, 0.3f, 0.1f, 0.4f});
  set(0, 0, 0, {0.0f, 1.0f, 0.0f, 0.0f});
  const std::vector<WordNumbers> words{{{0, 0, 1}, {0, 1}}};  // the first two source pieces are one word
  BOOST_CHECK_EQUAL(pharaoh_links(weights, 1, -1, words).at(0), "0-1 1-0");
  BOOST_CHECK_EQUAL(pharaoh_links(weights, 0, -1, words).at(0), "0-0");
  BOOST_CHECK_THROW(pharaoh_links(weights, 2, -1, words), UsageError);
  BOOST_CHECK_EQUAL(pharaoh_links(weights, 1, -1, {{{}, {}}}).at(0), "");
}

BOOST_AUTO_TEST_CASE(a_word_that_attends_to_no_source_word_is_linked_to_none) {
  // 1 sentence, 1 layer, 1 head: the first query attends to </s> alone, the second to key 1, the third to
  // nothing.
  const Tensor weights = Tensor::of<float>({0, 0, 1, 0, 1, 0, 0, 0, 0}, {1, 1, 1, 3, 3});
  BOOST_CHECK_EQUAL(pharaoh_links(weights, 0, -1, {{{0, 1}, {0, 1, 2}}}).at(0), "1-1");
}

BOOST_AUTO_TEST_CASE(no_end_is_a_word) {
  const text::Tokenizer digits = text::Tokenizer::of_ids(9, {0, 1, 2, 3, -1, -1, -1});
  const auto target = [&](const std::vector<std::int32_t>& ids) {
    return word_numbers(digits, {4, 5, 3}, digits, ids, {8}).target.size();
  };
  BOOST_CHECK_EQUAL(target({4, 5, 3}), 2u);
  BOOST_CHECK_EQUAL(target({4, 5, 8}), 2u);
  BOOST_CHECK_EQUAL(target({4, 8, 5}), 3u);  // cut at the maximal length
  BOOST_CHECK_EQUAL(target({}), 0u);
}

BOOST_AUTO_TEST_SUITE_END()
