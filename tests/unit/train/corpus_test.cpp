#include "train/corpus.h"

#include <boost/test/unit_test.hpp>

#include "base/error.h"
#include "support.h"

using namespace heed;
using namespace heed::test;

namespace {

/// One id per character.
TokenIds spell(const std::string& line) {
  TokenIds ids(line.begin(), line.end());
  ids.push_back(kDefaultSpecialIds.eos);
  return ids;
}

std::string write(const TemporaryFolder& folder, const std::string& name, const std::string& text) {
  std::ofstream(folder / name) << text;
  return folder / name;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(corpus)

BOOST_AUTO_TEST_CASE(skips_and_counts_unusable_pairs) {
  const TemporaryFolder folder;
  const std::string source = write(folder, "a", "ab\n\ncd\nefghij\nk\n");
  const std::string target = write(folder, "b", "AB\nX\n\nEF\nKLM\n");
  const Corpus corpus = read_corpus({source, target, ""}, spell, spell, {5, 5});
  BOOST_TEST(corpus.size() == 2);
  BOOST_TEST(corpus.skipped_empty == 2);
  BOOST_TEST(corpus.skipped_long == 1);
  BOOST_TEST(corpus.source[1] == (TokenIds{'k', kDefaultSpecialIds.eos}));
  BOOST_TEST(corpus.target[1] == (TokenIds{'K', 'L', 'M', kDefaultSpecialIds.eos}));
  BOOST_TEST(corpus.reference[1] == "KLM");
  BOOST_TEST(corpus.tokens() == 7);
}

BOOST_AUTO_TEST_CASE(each_side_has_a_limit_of_its_own) {
  const TemporaryFolder folder;
  const std::string source = write(folder, "a", "ab\nabcd\nab\n"),
                    target = write(folder, "b", "A\nB\nABCDEF\n");
  const LongestSides short_sources{4, 0};
  const Corpus corpus = read_corpus({source, target, ""}, spell, spell, short_sources);
  BOOST_TEST(corpus.size() == 2);
  BOOST_TEST(corpus.target[1].size() == 7u);
  BOOST_CHECK_EQUAL(describe(short_sources), "more than 4 source tokens");
  BOOST_CHECK_EQUAL(describe({4, 9}), "more than 4 source or 9 target tokens");
  BOOST_CHECK_EQUAL(describe({9, 9}), "more than 9 tokens");
}

BOOST_AUTO_TEST_CASE(refuses_texts_that_do_not_belong_together) {
  const TemporaryFolder folder;
  const std::string two = write(folder, "a", "ab\ncd\n"), three = write(folder, "b", "A\nB\nC\n");
  BOOST_CHECK_EXCEPTION(read_corpus({two, three, ""}, spell, spell, {}), Error, [](const Error& e) {
    const std::string message = e.what();
    return message.find("2 lines") != message.npos && message.find("has 3") != message.npos;
  });
  const std::string empty = write(folder, "c", "");
  BOOST_CHECK_THROW(read_corpus({empty, empty, ""}, spell, spell, {}), Error);
}

BOOST_AUTO_TEST_CASE(digest_tells_texts_apart) {
  const TemporaryFolder folder;
  const std::string a = write(folder, "a", "ab\ncd\n"), b = write(folder, "b", "ab\nce\n");
  const Corpus corpus = read_corpus({a, b, ""}, spell, spell, {});
  BOOST_TEST(corpus.source_digest != corpus.target_digest);
  BOOST_TEST(corpus.source_digest == read_corpus({a, a, ""}, spell, spell, {}).target_digest);
}

BOOST_AUTO_TEST_SUITE_END()
