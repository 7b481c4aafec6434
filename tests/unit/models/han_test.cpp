#include "models/han.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "unit/models/model_checks.h"

using namespace heed;
using namespace heed::test;

namespace {

constexpr std::int32_t kStop = 9, kQuery = 10;
// Of one sentence, which nothing ends, of three, of which the first ends in two pieces, and of two.
const PackedTokens kDocuments =
    tokens({{6, 4, 8, 3}, {5, 7, 9, 10, 4, 6, 8, 9, 7, 9, 3}, {4, 4, 8, 10, 5, 7, 3}});

HanConfig small(const std::string& cell = "gru") {
  HanConfig c;
  c.source_vocab_size = 11;
  c.d_embedding = 4;
  c.d_hidden = 3;
  c.n_classes = 3;
  c.cell = cell;
  c.dropout = 0.2;
  return c;
}

struct Han : Drawn<double> {
  explicit Han(const HanConfig& config = small(), std::uint64_t seed = 3) : Drawn<double>(config, seed) {
    documents->end_ids = {kStop, kQuery};
    documents->eos = kDefaultSpecialIds.eos;
  }
  std::vector<double> scores(const PackedTokens& source, Recorder<double>* recorder = nullptr,
                             const Editor<double>* editor = nullptr) const {
    Tape<double> tape;
    Pass<double> pass(tape, parameters);
    pass.recorder = recorder;
    pass.editor = editor;
    const Matrix<const double> m = class_logits(pass, encode(pass, source)).value();
    return {m.data, m.data + m.size()};
  }
};

std::vector<std::int64_t> lengths(const Packing& rows) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < rows.sentences(); ++i) all.push_back(rows.length(i));
  return all;
}

std::vector<std::int32_t> document(std::int64_t d) {
  const auto first = kDocuments.ids.begin() + kDocuments.rows.offset(d);
  return {first, first + kDocuments.rows.length(d)};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(han)

BOOST_AUTO_TEST_CASE(sentences_end_after_their_stops) {
  const Segments segments = Han().documents->segments(kDocuments);
  BOOST_TEST(lengths(segments.rows) == (std::vector<std::int64_t>{4, 4, 4, 3, 4, 3}),
             boost::test_tools::per_element());
  BOOST_TEST(lengths(segments.of_sentence) == (std::vector<std::int64_t>{1, 3, 2}),
             boost::test_tools::per_element());
  const Segments stops = Han().documents->segments(tokens({{9, 10, 9}, {3}, {9, 3}, {9, 4}}));
  BOOST_TEST(lengths(stops.of_sentence) == (std::vector<std::int64_t>{1, 1, 1, 2}),
             boost::test_tools::per_element());
}

BOOST_DATA_TEST_CASE(gradients_of_all_parameters, boost::unit_test::data::make(cell_names()), cell) {
  Han drawn(small(cell));
  Model<double>& model = drawn;
  const std::vector<std::int32_t> labels{2, 0, 1};
  check_gradients(model, "none", [&](Pass<double>& pass) {
    return model.class_loss(pass, model.encode(pass, kDocuments), labels, 0.1, 0.5).loss * 0.5;
  });
}

BOOST_AUTO_TEST_CASE(documents_of_a_batch_do_not_touch_each_other) {
  const Han model;
  std::vector<double> alone;
  for (std::int64_t d = 0; d < 3; ++d) {
    const std::vector<double> part = model.scores(tokens({document(d)}));
    alone.insert(alone.end(), part.begin(), part.end());
  }
  BOOST_CHECK_LE(difference(model.scores(kDocuments), alone), 1e-12);
}

// The word encoder and the attention to words see a sentence alone: its vector is the same wherever it
// stands.
BOOST_AUTO_TEST_CASE(vectors_of_sentences_depend_on_their_words_alone) {
  const Han model;
  const auto vectors = [&](const PackedTokens& source) {
    Recording<double> recording([](const std::string& name) { return name == "word_attention/context"; });
    model.scores(source, &recording);
    return recording.at("word_attention/context").values;
  };
  const std::vector<double> forth = vectors(tokens({{5, 7, 9, 4, 6, 8, 9, 3}})),
                            back = vectors(tokens({{4, 6, 8, 9, 5, 7, 9, 3}})),
                            same = vectors(tokens({{5, 7, 9}, {4, 6, 8, 9}}));
  const std::span<const double> first = std::span(forth).first(6);
  BOOST_CHECK_LE(difference(first, std::span(same).first(6)), 1e-12);
  BOOST_CHECK_LE(difference(std::span(back).first(6), std::span(same).last(6)), 1e-12);
  BOOST_CHECK_GT(difference(first, std::span(back).last(6)), 1e-6);  // with </s> in it
}

BOOST_AUTO_TEST_CASE(weights_of_words_and_of_sentences) {
  const Han model;
  Recording<double> recording([](const std::string&) { return true; });
  model.scores(kDocuments, &recording);
  const Segments segments = model.documents->segments(kDocuments);
  const Recorded<double>&words = recording.at("word_attention/weights"),
        &sentences = recording.at("sentence_attention/weights");
  BOOST_CHECK(words.rows == segments.of_sentence && words.keys == kDocuments.rows);
  BOOST_CHECK(sentences.keys == segments.of_sentence);
  std::int64_t number = 0, checked = 0;
  for (std::int64_t d = 0; d < 3; ++d) {
    const Matrix<const double> block = words.block(d, 0), of_sentences = sentences.block(d, 0);
    BOOST_REQUIRE_EQUAL(of_sentences.rows, 1);
    double total = 0;
    for (std::int64_t j = 0; j < of_sentences.cols; ++j) total += of_sentences(0, j);
    BOOST_CHECK_LE(std::abs(total - 1), 1e-12);
    for (std::int64_t i = 0; i < block.rows; ++i, ++number) {
      const std::int64_t first = segments.rows.offset(number) - kDocuments.rows.offset(d);
      double sum = 0;
      for (std::int64_t j = 0; j < block.cols; ++j) {
        const bool own = j >= first && j < first + segments.rows.length(number);
        BOOST_CHECK(own ? block(i, j) > 0 : block(i, j) == 0);
        sum += block(i, j);
        ++checked;
      }
      BOOST_CHECK_LE(std::abs(sum - 1), 1e-12);
    }
  }
  BOOST_CHECK_EQUAL(checked, 4 + 3 * 11 + 2 * 7);
}

// Whatever is named: put back, it changes nothing; changed, the result changes.
BOOST_DATA_TEST_CASE(edits, boost::unit_test::data::make(cell_names()), cell) {
  const Han model(small(cell), 6);
  Recording<double> recording([](const std::string&) { return true; });
  const std::vector<double> plain = model.scores(kDocuments, &recording);
  BOOST_CHECK_GT(recording.values().size(), 15U);
  for (const auto& [name, value] : recording.values()) {
    BOOST_TEST_CONTEXT(name) {
      const OneEdit same(name, &value), other(name, nullptr);
      BOOST_CHECK_LE(difference(plain, model.scores(kDocuments, nullptr, &same)), 1e-12);
      BOOST_CHECK_GT(difference(plain, model.scores(kDocuments, nullptr, &other)), 1e-9);
    }
  }
}

/// Sets scores to zero.
class Ablation final : public Editor<double> {
 public:
  bool edits(const std::string& name) const override { return name == "word_attention/scores"; }
  void edit(const std::string&, Matrix<double>, std::span<const Place>, std::int64_t) const override {}
  void edit_attention(const std::string&, std::span<double> row, const Place&, std::int64_t) const override {
    std::ranges::fill(row, 0);
  }
};

BOOST_AUTO_TEST_CASE(equal_scores_are_the_mean_of_the_sentences_own_words) {
  const Han model;
  Recording<double> recording([](const std::string& name) { return name == "word_attention/weights"; });
  const Ablation ablation;
  model.scores(kDocuments, &recording, &ablation);
  const Matrix<const double> block = recording.at("word_attention/weights").block(1, 0);
  for (std::int64_t j = 0; j < block.cols; ++j) {
    BOOST_CHECK_LE(std::abs(block(0, j) - (j < 4 ? 0.25 : 0)), 1e-12);
    BOOST_CHECK_LE(std::abs(block(2, j) - (j < 8 ? 0 : 1.0 / 3)), 1e-12);
  }
}

BOOST_AUTO_TEST_CASE(config_travels_as_json_and_is_checked) {
  const auto model = build<float>(small());
  model->parameters.initialize(1);
  check_json(*model);
  BOOST_CHECK(model->encoder && !model->decoder && model->classes && model->documents);
  BOOST_TEST(model->documents->ends == (std::vector<std::string>{".", "!", "?"}),
             boost::test_tools::per_element());
  HanConfig odd = small();
  odd.sentence_ends = " ";
  BOOST_CHECK_THROW(build<float>(odd), UsageError);
  odd = small();
  odd.n_classes = 1;
  BOOST_CHECK_THROW(build<float>(odd), UsageError);
  Tape<float> tape;
  Pass<float> pass(tape, model->parameters);
  const Var<float> embedded = model->embed(pass, Side::source, kDocuments);
  BOOST_CHECK_EXCEPTION(model->encode(pass, embedded, kDocuments.rows), Error, [](const Error& e) {
    return std::string(e.what()).find("without its sentences") != std::string::npos;
  });
}

BOOST_AUTO_TEST_SUITE_END()
