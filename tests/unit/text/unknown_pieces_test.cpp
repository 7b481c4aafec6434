#include "text/unknown_pieces.h"

#include <boost/test/unit_test.hpp>
#include <utility>

using namespace heed::text;

namespace {

std::string complaint_about(const std::string& line, bool pretokenized = false) {
  TrainOptions options;
  options.type = "word";
  options.pretokenized = pretokenized;
  bool done = false;
  const Tokenizer tokenizer = Tokenizer::train(
      [&](std::string& next) {
        next = "the key is heavy , and old .";
        return !std::exchange(done, true);
      },
      options);
  UnknownPieces pieces(tokenizer);
  pieces.add(line, tokenizer.sentence(line));
  return pieces.complaint();
}

}  // namespace

BOOST_AUTO_TEST_CASE(known_text_is_no_complaint) {
  BOOST_TEST(complaint_about("the old key is heavy .").empty());
  BOOST_TEST(complaint_about("").empty());
  BOOST_TEST(complaint_about("the key is old , old , old , old x").empty());  // just a tenth
}

BOOST_AUTO_TEST_CASE(the_cause_is_guessed_from_what_would_be_known) {
  BOOST_TEST(complaint_about("The Key Is HEAVY .") ==
             "4 of 5 pieces unknown: was the vocabulary learned from lower-cased text? Lower-cased, 0 of 4 "
             "would be");
  BOOST_TEST(complaint_about("the key is heavy, and old.", true) ==
             "2 of 6 pieces unknown: was the vocabulary learned from tokenized (--pretokenized) text? With "
             "punctuation apart, 0 of 2 would be");
  BOOST_TEST(complaint_about("la clé est lourde .") ==
             "4 of 5 pieces unknown: is the text in another language?");
}
