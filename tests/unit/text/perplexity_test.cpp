#include "text/perplexity.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "base/error.h"

using namespace heed;
using namespace heed::text;

namespace {

PerplexityScore score_of(const std::vector<std::string>& lines) {
  Perplexity sum;
  for (const std::string& line : lines) sum.add(line, "a:1");
  return sum.score();
}

}  // namespace

BOOST_AUTO_TEST_CASE(perplexity_by_hand) {
  // -log2 p: 1, 2, 3 and 6 for the end; 2 and 2 for the second line
  const PerplexityScore score =
      score_of({"-1.5\ta:-0.693147180560 b@@:-1.386294361120 c:-2.079441541680 "
                "</s>:-4.158883083360",
                "-1.386294\t:::-1.386294361120 </s>:-1.386294361120"});
  BOOST_CHECK_CLOSE(score.perplexity, std::pow(2, 16.0 / 6), 1e-6);
  BOOST_CHECK_CLOSE(score.without_end, std::pow(2, 8.0 / 4), 1e-6);
  BOOST_CHECK_CLOSE(score.per_word, std::pow(2, 16.0 / 5), 1e-6);
  BOOST_TEST(score.pieces == 6);
  BOOST_TEST(score.words == 3);
  BOOST_TEST(score.lines == 2);
}

BOOST_AUTO_TEST_CASE(pieces_tell_words) {
  BOOST_TEST(score_of({"-1\t\u2581a:-1 b:-1 \u2581c:-1 </s>:-1", "-1\t\u2581d:-1"}).words == 3);
  BOOST_TEST(score_of({"-1\ta:-1 \u2581:-1 b:-1 c:-1 </s>:-1", "-1\td:-1 </s>:-1"}).words ==
             3);  // characters
  BOOST_TEST(score_of({"-1\ta@@:-1 b@@:-1 c:-1 d:-1 </s>:-1"}).words == 2);
  BOOST_TEST(score_of({"-1\ta:-1 b:-1 </s>:-1", "-1\t</s>:-1"}).words == 2);
}

BOOST_AUTO_TEST_CASE(certain_and_impossible_text) {
  BOOST_TEST(score_of({"0\ta:0 </s>:-0.000000"}).perplexity == 1);
  BOOST_TEST(std::isinf(score_of({"-inf\ta:-inf </s>:-1"}).perplexity));
  BOOST_TEST(std::isnan(score_of({"-1\t</s>:-1"}).without_end));
}

BOOST_AUTO_TEST_CASE(other_lines_are_refused) {
  for (const char* bad : {"", "la:-1", "-1 la:-1", "x\tla:-1", "-1\tla", "-1\tla:", "-1\tla:1", "-1\tla:nan",
                          "-1\tla:-1x", "-1\t:-1"}) {
    BOOST_CHECK_THROW(score_of({bad}), Error);
  }
  BOOST_CHECK_THROW(score_of({}), Error);
  BOOST_CHECK_THROW(score_of({"-1\t"}), Error);
}
