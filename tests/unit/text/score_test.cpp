// BLEU and chrF beside sacreBLEU: testdata/score/sacrebleu.json (scripts/make-score-values) and the values of
// sacreBLEU's own tests.
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/bleu.h"
#include "text/chrf.h"

using namespace heed::text;
using nlohmann::json;
using Lines = std::vector<std::string>;

namespace {

/// Adds each sentence with its references; references[r] is a whole text.
template <class Metric>
void add_all(Metric& metric, const Lines& hypotheses, const std::vector<Lines>& references) {
  for (std::size_t i = 0; i < hypotheses.size(); ++i) {
    Lines of_sentence;
    for (const Lines& text : references) of_sentence.push_back(text[i]);
    metric.add(hypotheses[i], of_sentence);
  }
}

BleuScore bleu(const Lines& hypotheses, const std::vector<Lines>& references, BleuOptions options = {}) {
  Bleu metric(options);
  add_all(metric, hypotheses, references);
  return metric.score();
}

double chrf(const std::string& hypothesis, const std::string& reference, ChrfOptions options) {
  Chrf metric(options);
  add_all(metric, {hypothesis}, {{reference}});
  return metric.score().score;
}

std::string without_version(const std::string& signature) {
  return signature.substr(0, signature.rfind('|'));
}

json sacrebleu_cases() {
  std::ifstream file(std::string(HEED_TESTDATA) + "/score/sacrebleu.json");
  return json::parse(file)["cases"];
}

}  // namespace

BOOST_AUTO_TEST_CASE(bleu_equals_sacrebleu) {
  json cases = sacrebleu_cases();
  BOOST_TEST(cases.size() == 150u);
  for (const json& c : cases) {
    BleuOptions options;
    options.tokenize = c["bleu_options"]["tokenize"];
    options.lowercase = c["bleu_options"]["lowercase"];
    options.smooth = c["bleu_options"]["smooth_method"];
    options.effective_order = c["bleu_options"]["effective_order"];
    BleuScore score = bleu(c["hypotheses"], c["references"], options);
    BOOST_TEST(score.score == c["bleu"].get<double>(), boost::test_tools::tolerance(1e-12));
    BOOST_TEST(score.details() == c["bleu_details"].get<std::string>());
    BOOST_TEST(without_version(score.signature) == without_version(c["bleu_signature"]));
  }
}

BOOST_AUTO_TEST_CASE(chrf_equals_sacrebleu) {
  for (const json& c : sacrebleu_cases()) {
    const json& o = c["chrf_options"];
    ChrfOptions options{o["char_order"], o["word_order"], o["beta"],
                        o["lowercase"],  o["whitespace"], o["eps_smoothing"]};
    Chrf metric(options);
    add_all(metric, c["hypotheses"].get<Lines>(), c["references"].get<std::vector<Lines>>());
    ChrfScore score = metric.score();
    BOOST_TEST(score.score == c["chrf"].get<double>(), boost::test_tools::tolerance(1e-12));
    BOOST_TEST(score.name == c["chrf_name"].get<std::string>());
    BOOST_TEST(without_version(score.signature) == without_version(c["chrf_signature"]));
  }
}

BOOST_AUTO_TEST_CASE(bleu_of_sacrebleus_own_tests) {
  const Lines hypotheses = {"The dog bit the man.", "It wasn't surprising.", "The man had just bitten him."};
  const std::vector<Lines> references = {
      {"The dog bit the man.", "It was not unexpected.", "The man bit him first."},
      {"The dog had bit the man.", "No one was surprised.", "The man had bitten the dog."}};
  const auto tolerance = boost::test_tools::tolerance(1e-7);
  BOOST_TEST(bleu(hypotheses, references).score == 48.530827, tolerance);
  BOOST_TEST(bleu(hypotheses, references, {.tokenize = "none"}).score == 49.1919566, tolerance);
  BOOST_TEST(bleu(hypotheses, references, {.smooth = "none"}).score == 48.530827, tolerance);
  BOOST_TEST(bleu({"", "", ""}, references).score == 0.0);
  const BleuOptions floor{.tokenize = "none", .smooth = "floor", .smooth_value = 0.01};
  BOOST_TEST(bleu({"this is a test", "another test"}, {{"ref1", "ref2"}}, floor).score == 0.0);
  BOOST_TEST(bleu({"this is a fest"}, {{"this is a test"}}, floor).score == 22.3606797749979, tolerance);
  BOOST_TEST(bleu({"am I am a character sequence"}, {{"I am a symbol string sequence a a"}},
                  {.tokenize = "none", .smooth = "floor"})
                     .score == 15.55722182,
             tolerance);
}

BOOST_AUTO_TEST_CASE(sentence_bleu_of_sacrebleus_own_tests) {
  const std::string reference = "producţia de zahăr brut se exprimă în zahăr alb;";
  const std::string hypothesis = "Producția de zahăr primă va fi exprimată în ceea ce privește zahărul alb;";
  auto score = [&](const std::string& smooth, double value, const std::string& tokenize) {
    BleuOptions options{tokenize, false, smooth, value, true};
    return bleu({hypothesis}, {{reference}}, options).score;
  };
  const auto tolerance = boost::test_tools::tolerance(1e-4);
  BOOST_TEST(score("exp", -1, "13a") == 8.493, tolerance);
  BOOST_TEST(score("none", -1, "13a") == 0.0, tolerance);
  BOOST_TEST(score("floor", -1, "13a") == 4.51688, tolerance);
  BOOST_TEST(score("floor", 0.5, "13a") == 10.10, boost::test_tools::tolerance(1e-3));
  BOOST_TEST(score("add-k", -1, "13a") == 14.882, tolerance);
  BOOST_TEST(score("add-k", 2, "13a") == 21.389, tolerance);
  BOOST_TEST(score("exp", -1, "none") == 7.347, tolerance);
}

BOOST_AUTO_TEST_CASE(chrf_of_sacrebleus_own_tests) {
  const auto tolerance = boost::test_tools::tolerance(1e-5);
  const ChrfOptions smooth{.beta = 3, .eps_smoothing = true}, effective{.beta = 3};
  BOOST_TEST(chrf("a", "a", smooth) == 16.6666667, tolerance);
  BOOST_TEST(chrf("aa", "ab", smooth) == 8.3333333, tolerance);
  BOOST_TEST(chrf("a b c", "abc", smooth) == 50.0, tolerance);
  BOOST_TEST(chrf("abcdefg", "hijklmnop", effective) == 0.0);
  BOOST_TEST(chrf("aa", "ab", effective) == 25.0, tolerance);
  BOOST_TEST(chrf("", "reference", effective) == 0.0);
  BOOST_TEST(chrf("a b c", "a b c", effective) == 100.0, tolerance);
  BOOST_TEST(chrf(" Die    Beziehung zwischen  Obama und Netanjahu ist nicht gerade  freundlich. ",
                  "Das Verhältnis zwischen Obama und Netanyahu ist nicht gerade freundschaftlich.",
                  smooth) == 64.1302698,
             tolerance);
  BOOST_TEST(chrf("Die Beziehung zwischen Obama und Netanjahu ist nicht gerade freundlich.",
                  "Das Verhältnis zwischen Obama und Netanyahu ist nicht gerade freundschaftlich.",
                  {.beta = 3, .whitespace = true}) == 67.3481606,
             tolerance);
}

BOOST_AUTO_TEST_CASE(tokenization_13a) {
  BOOST_TEST(tokenize_13a("Hello, world! (1,000.5) it's") == "Hello , world ! ( 1,000.5 ) it's");
  BOOST_TEST(tokenize_13a("10-12 a-b 5.") == "10 - 12 a-b 5 .");
  BOOST_TEST(tokenize_13a("&quot;x&quot; &amp;lt;") == "\" x \" <");
}
