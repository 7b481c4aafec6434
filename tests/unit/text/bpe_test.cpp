// testdata/bpe holds what subword-nmt itself makes of a text (scripts/make-bpe-values).
#include "text/bpe.h"

#include <boost/test/unit_test.hpp>

#include "base/error.h"
#include "text/line_reader.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

using namespace heed::text;
using Lines = std::vector<std::string>;

namespace {

Lines file(const std::string& name) {
  return read_lines(std::string(HEED_TESTDATA) + "/bpe/" + name + ".txt");
}

std::string joined_lines(const Lines& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

}  // namespace

BOOST_AUTO_TEST_CASE(learns_the_merges_of_subword_nmt) {
  WordCounts counts;
  for (const std::string& line : file("text")) count_words(line, counts);
  Lines learned = BpeCodes(learn_bpe(counts, 350)).lines();
  BOOST_TEST(learned.size() == 351u);
  BOOST_TEST(learned == file("codes"), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(stops_when_no_pair_is_frequent_enough) {
  BOOST_TEST(learn_bpe({{"abc", 1}, {"xyz", 1}}, 10).empty());
  BOOST_TEST(learn_bpe({{"ab", 2}}, 10).size() == 1u);
  BOOST_TEST(learn_bpe({{"a", 5}}, 10).empty());
  BOOST_TEST(learn_bpe({}, 10).empty());
}

BOOST_AUTO_TEST_CASE(segments_as_subword_nmt) {
  BpeCodes codes = BpeCodes::parse(file("codes"), "codes");
  Lines text = file("text"), wanted = file("segmented");
  for (std::size_t i = 0; i < text.size(); ++i) {
    Lines segmented;
    for (std::string_view word : split_any(text[i], " ")) {
      Lines segments = codes.segment(word);
      for (std::size_t s = 0; s + 1 < segments.size(); ++s) segments[s] += "@@";
      segmented.insert(segmented.end(), segments.begin(), segments.end());
    }
    BOOST_TEST(joined_lines(segmented) == wanted[i]);
  }
}

namespace {

/// The merges applied one after the other, each wherever it fits: what segment() does without its
/// bookkeeping.
Lines segmented_slowly(const Lines& merges, std::string_view word) {
  Lines parts;
  for (std::string_view c : characters(word)) parts.emplace_back(c);
  parts.back() += "</w>";
  auto fits = [&](std::size_t i, const std::string& merge) { return parts[i] + " " + parts[i + 1] == merge; };
  for (bool any = true; any;) {
    any = false;
    for (std::size_t m = 0; m < merges.size() && !any; ++m) {
      for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        if (!fits(i, merges[m])) continue;
        parts[i] += parts[i + 1];
        parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        any = true;
      }
    }
  }
  parts.back().resize(parts.back().size() - 4);
  return parts;
}

}  // namespace

BOOST_AUTO_TEST_CASE(merges_are_applied_one_after_the_other_from_left_to_right) {
  // Few letters, so that merges overlap: aaa, abab, and results that earlier merges fit.
  const Lines merges{"b a",   "a a", "aa aa",      "ab a",    "a b",  "aa b",
                     "ab ab", "b b", "aaaa b</w>", "a b</w>", "bb aa"};
  const BpeCodes codes = [&] {
    Lines lines{"#version: 0.2"};
    lines.insert(lines.end(), merges.begin(), merges.end());
    return BpeCodes::parse(lines, "codes");
  }();
  std::uint32_t random = 1;
  for (int i = 0; i < 2000; ++i) {
    std::string word;
    for (random = random * 1664525 + 1013904223; word.size() < 1 + (random >> 28);)
      word += "ab"[(random >> (8 + word.size())) & 1];
    BOOST_TEST(joined_lines(codes.segment(word)) == joined_lines(segmented_slowly(merges, word)), word);
  }
}

BOOST_AUTO_TEST_CASE(takes_apart_what_the_vocabulary_lacks_as_subword_nmt) {
  auto segments = parse_word_list(file("vocabulary"), "vocabulary");
  Tokenizer tokenizer = Tokenizer::from_codes(BpeCodes::parse(file("codes"), "codes"), segments, 40);
  Lines text = file("text"), wanted = file("restricted");
  int compared = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i].find("@@") != std::string::npos || text[i].find("<pad>") != std::string::npos)
      continue;  // escaped
    Lines pieces = tokenizer.pieces(tokenizer.encode(text[i]));
    Lines expected;
    for (std::string_view piece : split_any(wanted[i], " ")) {
      bool known = tokenizer.vocabulary().contains(std::string(piece));
      expected.push_back(known ? std::string(piece) : "<unk>");
    }
    BOOST_TEST(joined_lines(pieces) == joined_lines(expected));
    ++compared;
  }
  BOOST_TEST(compared > 20);
}

BOOST_AUTO_TEST_CASE(version_1_ends_words_with_a_symbol_of_its_own) {
  BpeCodes codes = BpeCodes::parse({"a b", "ab </w>", "c a"}, "codes");
  BOOST_TEST(!codes.lines().at(0).starts_with("#version"));
  BOOST_TEST(codes.segment("cab") == (Lines{"c", "ab"}));
  BOOST_TEST(codes.segment("ca") == (Lines{"ca"}));
}

BOOST_AUTO_TEST_CASE(overlapping_pairs_merge_from_the_left) {
  BpeCodes codes(std::vector<Merge>{{"x", "x"}});
  BOOST_TEST(codes.segment("xxxxxx") == (Lines{"xx", "xx", "x", "x"}));  // the last is "x</w>"
}

BOOST_AUTO_TEST_CASE(refuses_what_is_no_codes_file) {
  auto names_the_line = [](const heed::Error& e) {
    return std::string(e.what()).starts_with("codes:3: \"only\" is not a merge");
  };
  BOOST_CHECK_EXCEPTION(BpeCodes::parse({"#version: 0.2", "a b", "only"}, "codes"), heed::Error,
                        names_the_line);
}
