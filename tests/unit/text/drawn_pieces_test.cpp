// Frequencies of what is drawn against the probabilities of all segmentations, one by one.
#include "text/drawn_pieces.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>

#include "base/error.h"
#include "support/error_of.h"
#include "text/line_reader.h"
#include "text/scheme.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

using namespace heed;
using namespace heed::text;
using Pieces = std::vector<std::string>;

namespace {

constexpr int kDraws = 40'000;

/// Frequencies must be within four standard deviations.
void check_frequencies(const std::map<Pieces, double>& probability, const std::map<Pieces, int>& drawn) {
  for (const auto& [pieces, count] : drawn) {
    BOOST_TEST_INFO(joined(pieces, " "));
    BOOST_CHECK(probability.contains(pieces));
  }
  for (const auto& [pieces, p] : probability) {
    const auto found = drawn.find(pieces);
    const double frequency = found == drawn.end() ? 0 : static_cast<double>(found->second) / kDraws;
    BOOST_TEST_INFO(joined(pieces, " ") << ": probability " << p << ", frequency " << frequency);
    BOOST_CHECK_LE(std::abs(frequency - p), 4 * std::sqrt(p * (1 - p) / kDraws) + 1e-12);
  }
}

/// What follows from the parts by BPE-dropout, with its probabilities: every set of merges that may be left
/// out, in turn.
void add_merged(const Pieces& parts, const MergeRank& rank, double dropout, double p,
                std::map<Pieces, double>& all) {
  std::vector<std::pair<double, std::size_t>> fit;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i)
    if (const auto here = rank(parts[i], parts[i + 1])) fit.emplace_back(*here, i);
  std::sort(fit.begin(), fit.end());
  for (const auto& [_, left] : fit) {  // all before it were left out
    Pieces next = parts;
    next[left] += next[left + 1];
    next.erase(next.begin() + static_cast<std::ptrdiff_t>(left) + 1);
    add_merged(next, rank, dropout, p * (1 - dropout), all);
    p *= dropout;
  }
  all[parts] += p;
}

const std::map<std::string, double, std::less<>> kScores{{"a", -2},    {"b", -2.5}, {"c", -3}, {"ab", -3.2},
                                                         {"bc", -3.5}, {"abc", -6}, {"ca", -4}};

std::string text_file(const std::string& name) {
  return std::string(HEED_TESTDATA) + "/english-french/" + name;
}

Tokenizer learned(const std::string& type, bool pretokenized) {
  const Pieces lines = read_lines(text_file("train.en"));
  std::size_t next = 0;
  TrainOptions options;
  options.type = type;
  options.pretokenized = pretokenized;
  options.vocab_size = 500;
  return Tokenizer::train(
      [&](std::string& line) {
        if (next == 200) return false;
        line = lines[next++];
        return true;
      },
      options);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(drawn_pieces)

BOOST_AUTO_TEST_CASE(unigrams_come_with_their_probabilities) {
  const double alpha = 0.4;
  std::map<Pieces, double> probability;
  double sum = 0;
  const std::string text = "abcab";
  for (unsigned cuts = 0; cuts < 16; ++cuts) {
    Pieces pieces{""};
    for (std::size_t i = 0; i < text.size(); ++i) {
      pieces.back() += text[i];
      if (i + 1 < text.size() && (cuts >> i & 1)) pieces.emplace_back();
    }
    double log_p = 0;
    bool known = true;
    for (const std::string& piece : pieces) {
      known = known && kScores.contains(piece);
      if (known) log_p += alpha * kScores.find(piece)->second;
    }
    if (known) sum += probability[pieces] = std::exp(log_p);
  }
  for (auto& [pieces, p] : probability) p /= sum;
  BOOST_TEST(probability.size() > 6u);
  Random random(3, 4);
  std::map<Pieces, int> drawn;
  const PieceScore score = [](std::string_view piece) -> std::optional<double> {
    const auto found = kScores.find(piece);
    if (found == kScores.end()) return std::nullopt;
    return found->second;
  };
  for (int i = 0; i < kDraws; ++i) ++drawn[draw_unigrams(text, score, 3, alpha, random)];
  check_frequencies(probability, drawn);
}

BOOST_AUTO_TEST_CASE(merges_are_left_out_with_their_probability) {
  const std::map<std::string, double> ranks{{"ab", 2}, {"bc", 1}, {"abc", 3}, {"abca", 0}};
  const MergeRank rank = [&](const std::string& left, const std::string& right) -> std::optional<double> {
    const auto found = ranks.find(left + right);
    if (found == ranks.end()) return std::nullopt;
    return found->second;
  };
  std::map<Pieces, double> probability;
  add_merged({"a", "b", "c", "a", "b"}, rank, 0.3, 1, probability);
  BOOST_TEST(probability.size() > 6u);
  Random random(5, 6);
  std::map<Pieces, int> drawn;
  for (int i = 0; i < kDraws; ++i) ++drawn[merge_with_dropout({"a", "b", "c", "a", "b"}, rank, 0.3, random)];
  check_frequencies(probability, drawn);
}

BOOST_AUTO_TEST_CASE(vocabularies_draw_other_pieces_of_the_same_text) {
  const Pieces lines = read_lines(text_file("train.en"));
  for (const auto& [type, pretokenized] :
       {std::pair{"bpe", true}, std::pair{"bpe", false}, std::pair{"unigram", false}}) {
    const Tokenizer tokenizer = learned(type, pretokenized);
    const bool merges = std::string(type) == "bpe";
    std::size_t usual = 0, drawn = 0, same = 0;
    for (std::size_t i = 0; i < 60; ++i) {
      // What the vocabulary does not know, too.
      const std::string line = i % 7 ? lines[i]
                                     : lines[i] +
                                           " \xE2\x82\xAC"
                                           "5";
      PieceDraw how{merges ? 0.1 : 0, merges ? 0 : 0.2, Random(1, i)};
      PieceDraw hardly{merges ? 1e-12 : 0, merges ? 0 : 1000.0, Random(1, i)};
      const std::vector<std::int32_t> ids = tokenizer.encode(line), other = tokenizer.encode(line, &how);
      BOOST_TEST_INFO(type << ": " << line);
      BOOST_CHECK(tokenizer.encode(line, &hardly) == ids);
      if (!pretokenized || i % 7) BOOST_TEST(tokenizer.decode(other) == line);
      usual += ids.size();
      drawn += other.size();
      same += ids == other;
    }
    BOOST_TEST_INFO(type);
    BOOST_TEST(drawn > usual + 60);
    BOOST_TEST(same < 40u);
    PieceDraw wrong{merges ? 0.0 : 0.1, merges ? 0.2 : 0, Random(1, 1)};
    BOOST_CHECK_THROW(tokenizer.encode("a", &wrong), UsageError);
  }
}

/// Of what is drawn only the segments that the vocabulary lacks are split further; a word whose characters it
/// lacks has its usual ones.
BOOST_AUTO_TEST_CASE(missing_segments_are_split) {
  const BpeCodes codes({{"b", "c"}, {"a", "b"}, {"a", "bc"}, {"c", "d</w>"}, {"abc", "d</w>"}});
  const std::map<std::string, double> ranks{{"b c", 0}, {"a b", 1}, {"a bc", 2}, {"c d", 3}, {"abc d", 4}};
  const MergeRank rank = [&](const std::string& left, const std::string& right) -> std::optional<double> {
    const auto found = ranks.find(concat(left, ' ', right));
    if (found == ranks.end()) return std::nullopt;
    return found->second;
  };
  std::map<Pieces, double> usual, probability;
  add_merged({"a", "b", "c", "d"}, rank, 0.3, 1, usual);
  for (const auto& [pieces, p] : usual) {
    Pieces expected;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      const std::string joiner = i + 1 < pieces.size() ? "@@" : "";
      if (pieces[i] == "ab")
        expected.insert(expected.end(), {"a@@", "b@@"});
      else
        expected.push_back(pieces[i] + joiner);
    }
    probability[expected] += p;
  }
  BOOST_TEST(probability.size() < usual.size());
  const auto scheme_of = [&](const Pieces& pieces) {
    Vocabulary vocabulary;
    for (const std::string& piece : pieces) vocabulary.add(piece);
    return make_subword_scheme(std::move(vocabulary), codes);
  };
  const SchemePtr scheme = scheme_of({"a@@", "b@@", "c@@", "d", "bc@@", "abc@@", "cd", "abcd"}),
                  no_b = scheme_of({"a@@", "c@@", "d", "bc@@", "abc@@", "cd", "abcd"});
  std::map<Pieces, int> drawn;
  for (std::uint64_t i = 0; i < kDraws; ++i) {
    PieceDraw how{0.3, 0, Random(2, i)}, same{0.3, 0, Random(2, i)};
    Pieces pieces;
    for (const std::int32_t id : scheme->draw("abcd", how)) pieces.push_back(scheme->vocabulary().piece(id));
    ++drawn[pieces];
    const std::vector<std::int32_t> ids = no_b->draw("abcd", same);
    const bool has_b = std::ranges::count(pieces, "b@@") > 0;
    BOOST_REQUIRE_EQUAL(ids.size() == 1, has_b || pieces.size() == 1);
  }
  check_frequencies(probability, drawn);
}

/// A rank is asked for at the start once for each pair, then for the two beside each merge.
BOOST_AUTO_TEST_CASE(ranks_are_asked_for_once) {
  std::size_t asked = 0;
  const MergeRank rank = [&](const std::string& left, const std::string& right) -> std::optional<double> {
    ++asked;
    return static_cast<double>(left.size() + right.size());
  };
  Random random(7, 8);
  BOOST_TEST(merge_with_dropout(Pieces(1000, "a"), rank, 0.1, random).size() < 10u);
  BOOST_TEST(asked < 3000u);
  BOOST_TEST(merge_with_dropout({}, rank, 0.1, random).empty());
}

BOOST_AUTO_TEST_CASE(words_have_one_way_only) {
  PieceDraw how{0.1, 0, Random(1, 1)};
  BOOST_CHECK_THROW(learned("word", true).encode("a king", &how), UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
