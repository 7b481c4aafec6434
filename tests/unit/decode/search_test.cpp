// The searches against a small made-up language model whose every probability is known.
#include "decode/search.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "tensor/philox.h"

using namespace heed;

namespace {

constexpr std::int32_t kEnd = 3, kVocabulary = 9;

/// Logits that depend on the sentence and on the whole prefix.
std::vector<float> logits_of(std::int64_t sentence, const std::vector<std::int32_t>& prefix) {
  std::uint64_t key = static_cast<std::uint64_t>(sentence) + 1;
  for (std::int32_t id : prefix) key = key * 31 + static_cast<std::uint64_t>(id);
  Random random(11, key);
  std::vector<float> x(kVocabulary);
  for (float& v : x) v = static_cast<float>(2 * random.normal());
  return x;
}

double log_probability(std::int64_t sentence, const std::vector<std::int32_t>& prefix, std::int32_t id) {
  const std::vector<float> x = logits_of(sentence, prefix);
  double sum = 0;
  for (float v : x) sum += std::exp(static_cast<double>(v));
  return x[static_cast<std::size_t>(id)] - std::log(sum);
}

/// Follows the search's calls, remembering each hypothesis' sentence and prefix.
class Language {
 public:
  StepFunction step() {
    return [this](std::span<const std::int32_t> tokens, std::span<const std::int64_t> parents) {
      std::vector<Prefix> next;
      logits_.clear();
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        Prefix p = first_ ? Prefix{parents[i], {}} : prefixes_.at(static_cast<std::size_t>(parents[i]));
        if (!first_) p.ids.push_back(tokens[i]);
        const std::vector<float> x = logits_of(p.sentence, p.ids);
        logits_.insert(logits_.end(), x.begin(), x.end());
        next.push_back(p);
      }
      first_ = false;
      prefixes_ = next;
      return Matrix<const float>(logits_.data(), static_cast<std::int64_t>(tokens.size()), kVocabulary);
    };
  }

 private:
  struct Prefix {
    std::int64_t sentence;
    std::vector<std::int32_t> ids;
  };
  bool first_ = true;
  std::vector<Prefix> prefixes_;
  std::vector<float> logits_;
};

void check_probabilities(std::int64_t sentence, const Hypothesis& h) {
  std::vector<std::int32_t> prefix;
  BOOST_REQUIRE_EQUAL(h.ids.size(), h.token_log_probability.size());
  for (std::size_t i = 0; i < h.ids.size(); ++i) {
    BOOST_CHECK_SMALL(h.token_log_probability[i] - log_probability(sentence, prefix, h.ids[i]), 1e-5);
    prefix.push_back(h.ids[i]);
  }
}

const std::vector<std::int64_t> kLengths{6, 4, 7};

}  // namespace

BOOST_AUTO_TEST_SUITE(search)

BOOST_AUTO_TEST_CASE(hypotheses_begin_as_they_are_given_to) {
  // A sentence that is free, one that is given unlikely tokens, one of which only the last is free.
  const std::vector<std::vector<std::int32_t>> prefixes{{}, {8, 1}, {4, 5, 4, 5, 4, 5}};
  for (const bool renormalized : {false, true}) {
    Language language, free_language;
    BeamOptions beam;
    beam.beam = beam.n_best = 3;
    beam.renormalized = renormalized;
    const auto free = beam_search(free_language.step(), kLengths, beam);
    beam.prefixes = prefixes;
    const auto found = beam_search(language.step(), kLengths, beam);
    for (std::size_t s = 0; s < kLengths.size(); ++s) {
      for (const Hypothesis& h : found[s]) {
        BOOST_REQUIRE(h.ids.size() > prefixes[s].size());
        BOOST_CHECK(std::equal(prefixes[s].begin(), prefixes[s].end(), h.ids.begin()));
        if (!renormalized) check_probabilities(static_cast<std::int64_t>(s), h);
      }
    }
    BOOST_CHECK(found[0][0].ids == free[0][0].ids);
    BOOST_CHECK_EQUAL(found[0][0].score, free[0][0].score);
    BOOST_CHECK(found[1][0].ids != free[1][0].ids);
    // Of the last of sentence 2 one token is free: the likeliest is among them.
    double best = -1e9, likeliest = -1e9;
    for (std::int32_t id = 0; id < kVocabulary; ++id)
      if (id != 0 && id != 2) best = std::max(best, log_probability(2, prefixes[2], id));
    for (const Hypothesis& h : found[2])
      likeliest = std::max<double>(likeliest, h.token_log_probability.back());
    if (!renormalized) BOOST_CHECK_SMALL(likeliest - best, 1e-5);
  }
  Language language;
  SampleOptions draws;
  draws.samples = 4;
  draws.prefixes = prefixes;
  const auto drawn = sample(language.step(), kLengths, draws);
  for (std::size_t s = 0; s < kLengths.size(); ++s) {
    for (const Hypothesis& h : drawn[s]) {
      BOOST_CHECK(std::equal(prefixes[s].begin(), prefixes[s].end(), h.ids.begin()));
      check_probabilities(static_cast<std::int64_t>(s), h);
    }
  }
}

/// A first token that is forced costs nothing; otherwise it is as if it began a prefix, and a prefix follows
/// it.
BOOST_AUTO_TEST_CASE(a_first_token_is_certain) {
  for (const std::int64_t width : {1, 3}) {
    Language language, other_language;
    BeamOptions beam;
    beam.beam = beam.n_best = width;
    beam.length_penalty = 0;
    beam.scored = false;
    beam.prefixes = {{8}, {8, 4}, {8}};
    const auto as_prefix = beam_search(other_language.step(), kLengths, beam);
    beam.first = 8;
    beam.prefixes = {{}, {4}, {}};
    const auto found = beam_search(language.step(), kLengths, beam);
    for (std::size_t s = 0; s < kLengths.size(); ++s) {
      BOOST_REQUIRE_EQUAL(found[s].size(), as_prefix[s].size());
      for (std::size_t i = 0; i < found[s].size(); ++i) {
        BOOST_TEST(found[s][i].ids == as_prefix[s][i].ids, boost::test_tools::per_element());
        BOOST_CHECK_EQUAL(found[s][i].token_log_probability.front(), 0);
        if (width > 1)
          BOOST_CHECK_SMALL(found[s][i].score - as_prefix[s][i].score +
                                log_probability(static_cast<std::int64_t>(s), {}, 8),
                            1e-5);
      }
    }
  }
  Language language;
  SampleOptions draws;
  draws.samples = 4;
  draws.first = 8;
  for (const auto& list : sample(language.step(), kLengths, draws)) {
    for (const Hypothesis& h : list) {
      BOOST_CHECK_EQUAL(h.ids.front(), 8);
      BOOST_CHECK_EQUAL(h.token_log_probability.front(), 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_beam_of_one_is_greedy) {
  Language language;
  const auto found = beam_search(language.step(), kLengths, BeamOptions{});
  for (std::size_t s = 0; s < kLengths.size(); ++s) {
    std::vector<std::int32_t> ids;
    while (static_cast<std::int64_t>(ids.size()) < kLengths[s] && (ids.empty() || ids.back() != kEnd)) {
      std::vector<float> x = logits_of(static_cast<std::int64_t>(s), ids);
      x[0] = x[2] = -1e9f;  // pad and bos are never produced
      ids.push_back(static_cast<std::int32_t>(std::max_element(x.begin(), x.end()) - x.begin()));
    }
    BOOST_CHECK_EQUAL_COLLECTIONS(found[s][0].ids.begin(), found[s][0].ids.end(), ids.begin(), ids.end());
    check_probabilities(static_cast<std::int64_t>(s), found[s][0]);
  }
}

/// States that depend on the whole prefix, and weights that make logits of them.
BOOST_AUTO_TEST_CASE(a_greedy_search_needs_no_scores) {
  constexpr std::int64_t width = 6, vocabulary = 2500;
  Random random(5, 1);
  std::vector<float> weight(width * vocabulary), states;
  for (float& w : weight) w = static_cast<float>(random.normal());
  Arena arena;
  const PackedMatrix<float> packed =
      lay_out<float>(Matrix<const float>(weight.data(), width, vocabulary), Precision::float32, arena);
  const auto search = [&](bool scored) {
    std::vector<std::uint64_t> keys(30);
    bool first = true;
    const StepFunction step = [&](std::span<const std::int32_t> tokens,
                                  std::span<const std::int64_t> parents) {
      std::vector<std::uint64_t> next;
      states.clear();
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        const auto parent = static_cast<std::uint64_t>(parents[i]);
        next.push_back(first ? parent : keys[parent] * 31 + static_cast<std::uint64_t>(tokens[i]));
        Random state(7, next.back());
        for (std::int64_t j = 0; j < width; ++j) states.push_back(static_cast<float>(state.normal()));
      }
      first = false;
      keys = next;
      return Logits<float>({states.data(), std::ssize(next), width}, packed, {}, arena);
    };
    BeamOptions options;
    options.scored = scored;
    return beam_search(step, std::vector<std::int64_t>(keys.size(), 20), options);
  };
  const auto found = search(true), unscored = search(false);
  std::set<std::int32_t> words;
  for (std::size_t s = 0; s < found.size(); ++s) {
    BOOST_TEST(unscored[s][0].ids == found[s][0].ids, boost::test_tools::per_element());
    BOOST_TEST(unscored[s][0].finished == found[s][0].finished);
    BOOST_TEST(std::isfinite(unscored[s][0].score));
    BOOST_TEST(found[s][0].score < 0);
    BOOST_TEST(unscored[s][0].score > 0);  // the mean of the largest logits: nothing else was computed
    words.insert(found[s][0].ids.begin(), found[s][0].ids.end());
  }
  BOOST_TEST(words.size() > 100u);
}

BOOST_AUTO_TEST_CASE(the_larger_logit_wins_where_log_probabilities_are_equal) {
  std::vector<float> x(8000, 0.9f);
  x[5] = 1, x[4] = std::nextafter(1.0f, 0.0f);
  std::vector<float> best(2);
  std::vector<std::int32_t> ids(2);
  log_softmax_top_k<float>(Matrix<const float>(x.data(), 1, 8000), 2, {best.data(), 1, 2},
                           {ids.data(), 1, 2});
  BOOST_REQUIRE_EQUAL(best[0], best[1]);
  const StepFunction step = [&](auto, auto) { return Matrix<const float>(x.data(), 1, 8000); };
  const auto found = beam_search(step, std::vector<std::int64_t>{1}, BeamOptions{});
  BOOST_TEST(found[0][0].ids == std::vector<std::int32_t>{5}, boost::test_tools::per_element());
}

/// `more`: ids that end a sentence besides kEnd; pad may be one of them.
void check_wide_beam(const std::vector<std::int32_t>& more) {
  const auto ends = [&](std::int32_t id) { return id == kEnd || std::ranges::count(more, id) > 0; };
  // Every sentence of up to 3 tokens, scored one by one.
  std::map<double, std::vector<std::int32_t>, std::greater<>> all;
  std::function<void(std::vector<std::int32_t>, double)> walk = [&](std::vector<std::int32_t> prefix,
                                                                    double total) {
    for (std::int32_t id = 0; id < kVocabulary; ++id) {
      if ((id == 0 || id == 2) && !ends(id)) continue;
      const double next = total + log_probability(0, prefix, id);
      std::vector<std::int32_t> ids = prefix;
      ids.push_back(id);
      if (ends(id)) all[next] = ids;
      if (!ends(id) && ids.size() < 3) walk(ids, next);
    }
  };
  walk({}, 0);
  Language language;
  BeamOptions options;
  options.beam = 60;
  options.n_best = 5;
  options.length_penalty = 0;
  options.more_ends = more;
  const auto found = beam_search(language.step(), std::vector<std::int64_t>{3}, options);
  BOOST_REQUIRE_EQUAL(found[0].size(), 5);
  auto best = all.begin();
  for (const Hypothesis& h : found[0]) {
    BOOST_CHECK_SMALL(h.score - best->first, 1e-5);
    BOOST_CHECK_EQUAL(h.ends_otherwise, h.ids.back() != kEnd);
    BOOST_CHECK_EQUAL_COLLECTIONS(h.ids.begin(), h.ids.end(), best->second.begin(), best->second.end());
    ++best;
  }
}

BOOST_AUTO_TEST_CASE(a_wide_beam_finds_the_best_of_all_short_sentences) {
  check_wide_beam({});
  check_wide_beam({0, 5});
}

BOOST_AUTO_TEST_CASE(an_end_that_is_forced_is_a_cut_that_ranks_as_an_end) {
  BeamOptions options;
  options.forced_eos = true;
  std::int64_t cut = 0, ended = 0;
  for (const StopRule stop : {StopRule::kFilled, StopRule::kBest}) {
    options.stop = stop;
    for (options.beam = 1; options.beam <= 4; ++options.beam) {
      options.n_best = options.beam;
      Language language;
      const auto found = beam_search(language.step(), kLengths, options);
      for (std::size_t s = 0; s < kLengths.size(); ++s) {
        BOOST_CHECK(std::ranges::is_sorted(found[s], std::ranges::greater(), &Hypothesis::score));
        for (const Hypothesis& h : found[s]) {
          BOOST_CHECK_EQUAL(h.ids.back(), kEnd);
          std::vector<float> logits =
              logits_of(static_cast<std::int64_t>(s), {h.ids.begin(), h.ids.end() - 1});
          for (std::int32_t id = 0; id < kVocabulary; ++id)
            if (!options.special.produced(id)) logits[static_cast<std::size_t>(id)] = -1000;
          const bool own = std::ranges::max_element(logits) - logits.begin() == kEnd;
          BOOST_CHECK_EQUAL(h.finished, own || std::ssize(h.ids) < kLengths[s]);
          ++(h.finished ? ended : cut);
        }
      }
    }
  }
  BOOST_CHECK_GT(cut, 0);
  BOOST_CHECK_GT(ended, 0);
}

BOOST_AUTO_TEST_CASE(sentences_do_not_depend_on_each_other) {
  BeamOptions options;
  options.beam = 4;
  options.n_best = 3;
  options.length_penalty = 0.7;
  Language together;
  const auto found = beam_search(together.step(), kLengths, options);
  for (std::size_t s = 0; s < kLengths.size(); ++s) {
    Language alone;
    StepFunction step = alone.step();
    bool first = true;
    StepFunction shifted = [&](std::span<const std::int32_t> tokens, std::span<const std::int64_t> parents) {
      const std::vector<std::int64_t> sentence(parents.size(), static_cast<std::int64_t>(s));
      std::span<const std::int64_t> real = first ? std::span<const std::int64_t>(sentence) : parents;
      first = false;
      return step(tokens, real);
    };
    const auto one = beam_search(shifted, std::span(kLengths).subspan(s, 1), options);
    BOOST_REQUIRE_EQUAL(one[0].size(), found[s].size());
    for (std::size_t k = 0; k < one[0].size(); ++k) {
      BOOST_CHECK(one[0][k].ids == found[s][k].ids);
      BOOST_CHECK_EQUAL(one[0][k].score, found[s][k].score);
      check_probabilities(static_cast<std::int64_t>(s), found[s][k]);
      BOOST_CHECK_LE(static_cast<std::int64_t>(found[s][k].ids.size()), kLengths[s]);
      BOOST_CHECK_EQUAL(found[s][k].finished, found[s][k].ids.back() == kEnd);
    }
  }
}

BOOST_AUTO_TEST_CASE(samples_follow_the_distribution) {
  const std::vector<std::int64_t> one{1};
  SampleOptions options;
  options.samples = 1;
  std::vector<double> counts(kVocabulary);
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i) {
    Language language;
    options.sentences = {static_cast<std::uint64_t>(i)};
    const auto found = sample(language.step(), one, options);
    counts[static_cast<std::size_t>(found[0][0].ids[0])] += 1.0 / kDraws;
  }
  double allowed = 0;
  for (std::int32_t id = 0; id < kVocabulary; ++id)
    allowed += id == 0 || id == 2 ? 0 : std::exp(log_probability(0, {}, id));
  for (std::int32_t id = 0; id < kVocabulary; ++id) {
    const double p = id == 0 || id == 2 ? 0 : std::exp(log_probability(0, {}, id)) / allowed;
    BOOST_CHECK_SMALL(counts[static_cast<std::size_t>(id)] - p, 5 * std::sqrt(0.25 / kDraws));
  }
}

BOOST_AUTO_TEST_CASE(top_k_of_one_is_greedy_and_seeds_repeat) {
  SampleOptions options;
  options.top_k = 1;
  Language a, b;
  const auto drawn = sample(a.step(), kLengths, options);
  const auto greedy = beam_search(b.step(), kLengths, BeamOptions{});
  for (std::size_t s = 0; s < kLengths.size(); ++s) BOOST_CHECK(drawn[s][0].ids == greedy[s][0].ids);
  options.top_k = 0;
  options.samples = 3;
  options.top_p = 0.9;
  Language c, d;
  const auto once = sample(c.step(), kLengths, options), again = sample(d.step(), kLengths, options);
  bool differ = false;
  for (std::size_t s = 0; s < kLengths.size(); ++s) {
    for (std::size_t k = 0; k < 3; ++k) {
      BOOST_CHECK(once[s][k].ids == again[s][k].ids);
      check_probabilities(static_cast<std::int64_t>(s), once[s][k]);
      differ = differ || once[s][k].ids != once[s][0].ids;
    }
  }
  BOOST_CHECK(differ);
}

BOOST_AUTO_TEST_CASE(a_sentence_draws_alike_whatever_stands_beside_it) {
  SampleOptions options;
  options.sentences = {7, 0, 9};
  Language together, alone;
  const auto three = sample(together.step(), kLengths, options);
  options.sentences = {7};
  const auto one = sample(alone.step(), std::span(kLengths).first(1), options);
  BOOST_CHECK(three[0][0].ids == one[0][0].ids);
}

BOOST_AUTO_TEST_CASE(a_cold_sample_is_the_likeliest_word_even_when_pad_is_likelier) {
  const std::vector<float> logits{1000, -5, 900, -7, -4, -6, -8, -9, -9};  // pad and bos far ahead
  const StepFunction step = [&](auto, auto) { return Matrix<const float>(logits.data(), 1, kVocabulary); };
  SampleOptions options;
  options.temperature = 0.01;
  BOOST_CHECK_EQUAL(sample(step, std::vector<std::int64_t>{1}, options)[0][0].ids[0], 4);
}

BOOST_AUTO_TEST_CASE(impossible_options_are_refused) {
  Language language;
  BeamOptions beam;
  beam.n_best = 2;
  BOOST_CHECK_THROW(beam_search(language.step(), kLengths, beam), UsageError);
  beam.n_best = 1;
  beam.beam = kWidestBeam + 1;
  BOOST_CHECK_THROW(beam_search(language.step(), kLengths, beam), UsageError);
  SampleOptions sampling;
  sampling.temperature = 0;
  BOOST_CHECK_THROW(sample(language.step(), kLengths, sampling), UsageError);
}

BOOST_AUTO_TEST_SUITE_END()
