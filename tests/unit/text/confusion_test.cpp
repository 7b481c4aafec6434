#include "text/confusion.h"

#include <boost/test/unit_test.hpp>

using namespace heed::text;

BOOST_AUTO_TEST_CASE(confusion_by_hand) {
  Confusion confusion;
  const std::pair<const char*, const char*> lines[] = {{"cat", "cat"}, {"cat", "dog"}, {"dog", "dog"},
                                                       {"cat", "cat"}, {"cow", "dog"}, {"dog", "elk"}};
  for (const auto& [truth, prediction] : lines) confusion.add(truth, prediction);
  BOOST_TEST(confusion.labels() == (std::vector<std::string>{"cat", "cow", "dog", "elk"}),
             boost::test_tools::per_element());
  BOOST_TEST(confusion.counts() == (std::vector<std::int32_t>{2, 0, 1, 0,  //
                                                              0, 0, 1, 0,  //
                                                              0, 0, 1, 1,  //
                                                              0, 0, 0, 0}),
             boost::test_tools::per_element());
  const ConfusionScore score = confusion.score();
  BOOST_TEST(score.lines == 6);
  BOOST_CHECK_CLOSE(score.accuracy, 50, 1e-9);
  BOOST_CHECK_CLOSE(score.labels[0].precision, 100, 1e-9);
  BOOST_CHECK_CLOSE(score.labels[0].recall, 200.0 / 3, 1e-9);
  BOOST_CHECK_CLOSE(score.labels[0].f1, 80, 1e-9);
  BOOST_CHECK_CLOSE(score.labels[2].precision, 100.0 / 3, 1e-9);
  BOOST_CHECK_CLOSE(score.labels[2].recall, 50, 1e-9);
  BOOST_CHECK_CLOSE(score.labels[2].f1, 40, 1e-9);
  BOOST_CHECK_CLOSE(score.macro_f1, (80 + 0 + 40 + 0) / 4.0, 1e-9);
  BOOST_TEST(score.labels[1].precision == 0);  // never predicted
  BOOST_TEST(score.labels[3].recall == 0);     // never true
  BOOST_TEST(score.labels[0].count == 3);
  BOOST_TEST(score.labels[3].count == 0);
}

BOOST_AUTO_TEST_CASE(nothing_confused) {
  BOOST_TEST(Confusion().score().lines == 0);
  Confusion confusion;
  confusion.add("a", "a");
  BOOST_TEST(confusion.score().accuracy == 100);
  BOOST_TEST(confusion.score().macro_f1 == 100);
}

BOOST_AUTO_TEST_CASE(a_label_ends_at_a_tab_and_has_no_white_space_around_it) {
  BOOST_TEST(label_of("not spam\t0.7\tspam\t0.3") == "not spam");
  BOOST_TEST(label_of(" red \r") == "red");
  BOOST_TEST(label_of("\t0.4") == "");
  BOOST_TEST(label_of(" ") == "");
}
