// BLEU, chrF and TER beside sacreBLEU: testdata/score/sacrebleu.json (scripts/make-score-values) and the
// values of sacreBLEU's own tests.
#include <dlfcn.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/error.h"
#include "support/temporary_folder.h"
#include "text/bleu.h"
#include "text/bootstrap.h"
#include "text/chrf.h"
#include "text/metric_words.h"
#include "text/ter.h"

using namespace heed::text;
using nlohmann::json;
using Lines = std::vector<std::string>;

namespace {

const std::string kSpmModel = std::string(HEED_TESTDATA) + "/sentencepiece/t5/spiece.model";

/// The references of a sentence; references[r] is a whole text.
Lines of_sentence(const std::vector<Lines>& references, std::size_t sentence) {
  Lines list;
  for (const Lines& text : references) list.push_back(text[sentence]);
  return list;
}

MetricScore score_of(const Metric& metric, const Lines& hypotheses, const std::vector<Lines>& references) {
  Statistics sum;
  for (std::size_t i = 0; i < hypotheses.size(); ++i)
    add_to(sum, metric.compare(hypotheses[i], of_sentence(references, i)));
  return metric.score(sum);
}

MetricScore bleu(const Lines& hypotheses, const std::vector<Lines>& references, BleuOptions options = {}) {
  return score_of(Bleu(options), hypotheses, references);
}
double chrf(const std::string& hypothesis, const std::string& reference, ChrfOptions options) {
  return score_of(Chrf(options), {hypothesis}, {{reference}}).score;
}
double ter(const std::string& hypothesis, const std::string& reference, TerOptions options = {}) {
  return score_of(Ter(options), {hypothesis}, {{reference}}).score;
}

std::string without_version(const std::string& signature) {
  return signature.substr(0, signature.rfind('|'));
}

const json& values() {
  static const json all = json::parse(std::ifstream(std::string(HEED_TESTDATA) + "/score/sacrebleu.json"));
  return all;
}

/// The corpus and each of its sentences, in what sacreBLEU says of a case under `name`.
template <class MakeMetric>
void check_metric(const std::string& name, MakeMetric make) {
  BOOST_TEST(values()["cases"].size() == 150u);
  for (const json& c : values()["cases"]) {
    const json& wanted = c[name];
    const auto metric = make(wanted["options"]);
    const Lines hypotheses = c["hypotheses"];
    const std::vector<Lines> references = c["references"];
    const MetricScore score = score_of(metric, hypotheses, references);
    BOOST_TEST_CONTEXT(wanted["options"] << c["hypotheses"] << c["references"]) {
      BOOST_TEST(score.score == wanted["score"].get<double>(), boost::test_tools::tolerance(1e-12));
      BOOST_TEST(score.details == wanted["details"].get<std::string>());
      BOOST_TEST(metric.name() == wanted["name"].get<std::string>());
      BOOST_TEST(without_version(signature(metric, references.size())) ==
                 without_version(wanted["signature"]));
      for (std::size_t i = 0; i < hypotheses.size(); ++i) {
        const double one = metric.score(metric.compare(hypotheses[i], of_sentence(references, i))).score;
        BOOST_TEST(one == wanted["sentences"][i].get<double>(), boost::test_tools::tolerance(1e-12));
      }
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(bleu_equals_sacrebleu) {
  check_metric("bleu", [](const json& o) {
    BleuOptions options;
    options.tokenize = o["tokenize"];
    options.lowercase = o["lowercase"];
    options.smooth = o["smooth_method"];
    options.effective_order = o["effective_order"];
    return Bleu(options);
  });
}

BOOST_AUTO_TEST_CASE(chrf_equals_sacrebleu) {
  check_metric("chrf", [](const json& o) {
    return Chrf(
        {o["char_order"], o["word_order"], o["beta"], o["lowercase"], o["whitespace"], o["eps_smoothing"]});
  });
}

BOOST_AUTO_TEST_CASE(ter_equals_sacrebleu) {
  check_metric("ter", [](const json& o) {
    return Ter({o["normalized"], o["no_punct"], o["asian_support"], o["case_sensitive"]});
  });
}

BOOST_AUTO_TEST_CASE(words_equal_sacrebleus) {
  const Lines lines = values()["lines"];
  for (const auto& [way, wanted] : values()["words"].items()) {
    const MetricWords words(way == "tercom" ? "none" : way, way == "spm" ? kSpmModel : "");
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::string found = way == "tercom"
                                    ? tokenize_tercom(lines[i], {.normalized = true, .asian_support = true})
                                    : words.of(lines[i]);
      BOOST_TEST(found == wanted[i].get<std::string>(), way << ": " << lines[i]);
    }
  }
  BOOST_TEST(values()["words"].size() == 6u);
}

BOOST_AUTO_TEST_CASE(japanese_words_and_scores_equal_sacrebleus) {
  if (void* mecab = dlopen("libmecab.so.2", RTLD_NOW)) {
    dlclose(mecab);
  } else {
    BOOST_TEST_MESSAGE("skipped: MeCab is missing");
    return;
  }
  const json& wanted = values()["japanese"];
  const MetricWords words("ja-mecab", "");
  BOOST_TEST(words.name().starts_with("ja-mecab-0.996-IPA"));
  const Lines lines = wanted["lines"];
  BOOST_TEST(lines.size() == 23u);
  for (std::size_t i = 0; i < lines.size(); ++i)
    BOOST_TEST(words.of(lines[i]) == wanted["words"][i].get<std::string>(), lines[i]);
  BleuOptions options;
  options.tokenize = "ja-mecab";
  const Bleu bleu(options);
  for (const json& c : wanted["cases"])
    BOOST_TEST(score_of(bleu, c["hypotheses"], c["references"]).score == c["score"].get<double>(),
               boost::test_tools::tolerance(1e-12));
  setenv("MECABRC", "/nowhere", 1);
  BOOST_CHECK_THROW(MetricWords("ja-mecab", ""), heed::Error);
  unsetenv("MECABRC");
}

BOOST_AUTO_TEST_CASE(a_sentencepiece_model_is_named_and_checked) {
  const std::string model = heed::test::bytes_of(kSpmModel);
  BOOST_TEST(MetricWords("spm", kSpmModel).name() == "spm-" + heed::sha256_hex(model).substr(0, 8));
  BOOST_CHECK_THROW(MetricWords("spm", ""), heed::UsageError);
  BOOST_CHECK_THROW(MetricWords("13a", kSpmModel), heed::UsageError);
  const heed::test::TemporaryFolder folder;
  for (const std::string& bytes :
       {std::string(), std::string("no model"), model.substr(0, model.size() / 2)}) {
    std::ofstream(folder / "broken.model", std::ios::binary) << bytes;
    BOOST_CHECK_THROW(MetricWords("spm", folder / "broken.model"), heed::Error);
  }
}

BOOST_AUTO_TEST_CASE(samples_equal_numpys) {
  for (const json& c : values()["samples"]) {
    SentenceSamples samples(c["n"], c["seed"]);
    for (const json& row : c["rows"]) BOOST_TEST(samples.next() == row.get<std::vector<std::uint32_t>>());
  }
}

// sacreBLEU sums in float32, hence the tolerance.
BOOST_AUTO_TEST_CASE(bootstrap_equals_sacrebleu) {
  const auto tolerance = boost::test_tools::tolerance(2e-6);
  for (const json& c : values()["paired"]) {
    const Resampling resampling{c["samples"], c["seed"]};
    const std::vector<Lines> references = {c["references"]};
    for (const json& of_metric : c["metrics"]) {
      const std::string name = of_metric["name"];
      std::unique_ptr<Metric> metric;
      if (name == "BLEU") metric = std::make_unique<Bleu>();
      if (name == "chrF2") metric = std::make_unique<Chrf>();
      if (name == "TER") metric = std::make_unique<Ter>();
      BOOST_TEST(without_version(signature(*metric, 1, resampling)) ==
                 without_version(of_metric["signature"]));
      std::vector<double> baseline;
      double baseline_score = 0;
      for (std::size_t s = 0; s < c["systems"].size(); ++s) {
        const json& wanted = of_metric["systems"][s];
        std::vector<Statistics> sentences;
        Statistics sum;
        for (std::size_t i = 0; i < references[0].size(); ++i) {
          sentences.push_back(metric->compare(c["systems"][s][i], of_sentence(references, i)));
          add_to(sum, sentences.back());
        }
        const std::vector<double> scores = resampled_scores(*metric, sentences, resampling);
        const Interval interval = interval_of(scores);
        const double score = metric->score(sum).score;
        BOOST_TEST(score == wanted["score"].get<double>(), tolerance);
        BOOST_TEST(interval.mean == wanted["mean"].get<double>(), tolerance);
        BOOST_TEST(interval.half_width == wanted["ci"].get<double>(), boost::test_tools::tolerance(1e-5));
        if (s == 0) {
          baseline = scores;
          baseline_score = score;
        } else {
          BOOST_TEST(p_value(baseline, scores, score - baseline_score) == wanted["p"].get<double>(),
                     tolerance);
        }
      }
    }
  }
}

// Snover et al. 2006, section 3.1: a shift, two replacements and an insertion for 13 words.
BOOST_AUTO_TEST_CASE(ter_of_the_papers_example) {
  BOOST_TEST(ter("THIS WEEK THE SAUDIS denied information published in the new york times",
                 "SAUDI ARABIA denied THIS WEEK information published in the AMERICAN new york times") ==
                 100 * 4 / 13.,
             boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(ter_counts_each_kind_of_edit) {
  BOOST_TEST(ter("a b c d", "a b c d") == 0.0);
  BOOST_TEST(ter("b c d", "a b c d") == 25.0);
  BOOST_TEST(ter("a x c d", "a b c d") == 25.0);
  BOOST_TEST(ter("a b x c d", "a b c d") == 25.0);
  BOOST_TEST(ter("c d e f a b", "a b c d e f") == 100 / 6., boost::test_tools::tolerance(1e-12));
  // sacreBLEU's: 4 of 6, and 3 were shifts into the run itself left out.
  BOOST_TEST(ter("a c d b b b a", "c a b d b b") == 400 / 6., boost::test_tools::tolerance(1e-12));
  BOOST_TEST(ter("A", "a") == 0.0);
  // sacreBLEU 2.6.0 tokenises references twice, which parts 's from what precedes it only when a full stop is apart.
  const TerOptions normalized{.normalized = true};
  BOOST_TEST(ter("my mother's.", "my mother's.", normalized) == 50.0);
  BOOST_TEST(ter("my mother 's .", "my mother's.", normalized) == 0.0);
  BOOST_TEST(ter("A", "a", {.case_sensitive = true}) == 100.0);
  BOOST_TEST(ter("", "a b") == 100.0);
  BOOST_TEST(ter("a", "") == 100.0);
  BOOST_TEST(ter("", "") == 0.0);
}

BOOST_AUTO_TEST_CASE(ter_of_long_sentences) {
  std::string one, other, reversed;
  for (int i = 0; i < 400; ++i) {
    const std::string word = std::to_string(i) + " ";
    one += word;
    other += i % 10 == 0 ? "" : word;
    reversed.insert(0, word);
  }
  BOOST_TEST(ter(other, one) == 10.0);
  BOOST_TEST(ter("399", one) == 399 / 4.);  // the beam is as wide as the diagonal is steep,
  BOOST_TEST(ter("0", one) == 100.0);       // which does not reach every match
  BOOST_TEST(ter(one, "0") == 39900.0);
  BOOST_TEST(ter(reversed, one) == 99.75);
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
    BleuOptions options{tokenize, "", false, smooth, value, true};
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
