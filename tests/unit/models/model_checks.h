// What every model that decodes must keep, on three short sentence pairs of vocabularies of at least 11. A
// decoder alone goes without the source.
#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/hypotheses.h"
#include "models/model.h"
#include "nn/recording.h"
#include "support/gradient_check.h"

namespace heed::test {

inline PackedTokens tokens(const std::vector<std::vector<std::int32_t>>& sentences) {
  PackedTokens packed;
  for (const auto& s : sentences) packed.append(s);
  return packed;
}

inline const PackedTokens kSource = tokens({{5, 7, 4, 10, 3}, {6, 3}, {9, 4, 4, 8, 5, 7, 3}});
inline const PackedTokens kTarget = tokens({{4, 9, 6, 3}, {8, 5, 10, 7, 4, 3}, {3}});

/// A model with parameters drawn by a seed.
template <class T>
struct Drawn : Model<T> {
  template <class Config>
  Drawn(const Config& config, std::uint64_t seed) : Model<T>(std::move(*build<T>(config))) {
    this->parameters.initialize(seed);
  }
};

template <class T>
std::vector<T> values_of(const Model<T>& model) {
  const std::span<const T> values = model.parameters.values();
  return {values.begin(), values.end()};
}

/// How many of the model's values differ from those `before`, as a share of all: a search that holds its weights once has
/// them in another order, or no longer.
template <class T>
double share_changed(const Model<T>& model, const std::vector<T>& before) {
  const std::vector<T> now = values_of(model);
  std::size_t changed = 0;
  for (std::size_t i = 0; i < now.size(); ++i) changed += now[i] != before[i];
  return static_cast<double>(changed) / static_cast<double>(now.size());
}

/// What the model's encoder makes of `source`; nothing without an encoder.
template <class T>
std::optional<Encoded<T>> memory_of(const Model<T>& model, Pass<T>& pass, const PackedTokens& source) {
  return model.encoder ? std::optional(model.encode(pass, source)) : std::nullopt;
}
template <class T>
const Encoded<T>* pointer(const std::optional<Encoded<T>>& memory) {
  return memory ? &*memory : nullptr;
}

/// Logits [target rows, V] of a whole pass, observed by `recorder` and `editor` (or none) in the decoder.
template <class T>
std::vector<T> logits(const Model<T>& model, const PackedTokens& source, const PackedTokens& target,
                      Recorder<T>* recorder = nullptr, const Editor<T>* editor = nullptr) {
  Tape<T> tape;
  Pass<T> pass(tape, model.parameters);
  const std::optional<Encoded<T>> memory = memory_of(model, pass, source);
  pass.recorder = recorder;
  pass.editor = editor;
  Matrix<const T> m = model.words->logits(pass, model.decode(pass, pointer(memory), target).states).value();
  return std::vector<T>(m.data, m.data + m.size());
}

inline double difference(std::span<const double> a, std::span<const double> b) {
  BOOST_REQUIRE_EQUAL(a.size(), b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

/// Keeps every ReLU open: a closed one has no gradient to check.
inline void open_relus(Model<double>& model, double bias) {
  for (const Parameter& p : model.parameters.list()) {
    Matrix<double> values = p.in(model.parameters.values().data());
    if (p.name.ends_with("inner/bias")) std::fill(values.data, values.data + values.size(), bias);
  }
}

/// All parameters but those named ...`without`, whose true gradient is zero. `objective`: half of the loss,
/// whose derivatives are put on the tape.
inline void check_gradients(Model<double>& model, const std::string& without,
                            const std::function<double(Pass<double>&)>& objective) {
  std::vector<double> gradients(model.parameters.values().size());
  auto loss = [&](bool backward) {
    Tape<double> tape;
    tape.set_with_gradients(backward);
    Pass<double> pass(tape, model.parameters);
    pass.gradients = backward ? gradients.data() : nullptr;
    pass.training = true;  // dropout draws the same masks in every pass
    pass.seed = 5;
    const double total = objective(pass);
    if (backward) tape.backward();
    return total;
  };
  loss(true);
  for (const Parameter& p : model.parameters.list()) {
    Matrix<double> values = p.in(model.parameters.values().data()), d = p.in(gradients.data());
    const bool unused = p.name.ends_with(without);
    auto is_of = [&](const char* what) { return p.name.find(what) != std::string::npos; };
    const bool is_table = is_of("embedding") || is_of("positions") || is_of("relative_bias");
    for (std::int64_t i = 0; i < values.rows && !unused; ++i) {
      const auto width = static_cast<std::size_t>(values.cols);
      if (!is_table) {
        check_gradient(p.name, {values.row(i), width}, {d.row(i), width}, [&] { return loss(false); });
      }
    }
    if (unused) continue;
    // Rows of tables that no token reads have no gradient: check the whole table as one.
    if (is_table) {
      check_gradient(p.name, {values.data, static_cast<std::size_t>(values.size())},
                     {d.data, static_cast<std::size_t>(d.size())}, [&] { return loss(false); });
    }
  }
}

/// Likewise of the words of a target.
inline void check_gradients(Model<double>& model, const std::string& without) {
  check_gradients(model, without, [&](Pass<double>& pass) {
    const auto memory = memory_of(model, pass, kSource);
    const Decoded<double> decoded = model.decode(pass, pointer(memory), kTarget);
    return model.loss(pass, decoded, kTarget, 0.1, 0.5).loss * 0.5;
  });
}

/// A batch gives what its sentences give alone.
inline void check_sentences_apart(const Model<double>& model) {
  const std::vector<double> together = logits<double>(model, kSource, kTarget);
  std::vector<double> alone;
  auto sentence = [](const PackedTokens& p, std::int64_t s) {
    PackedTokens one;
    one.append(std::span(p.ids).subspan(static_cast<std::size_t>(p.rows.offset(s)),
                                        static_cast<std::size_t>(p.rows.length(s))));
    return one;
  };
  for (std::int64_t s = 0; s < 3; ++s) {
    const std::vector<double> part = logits<double>(model, sentence(kSource, s), sentence(kTarget, s));
    alone.insert(alone.end(), part.begin(), part.end());
  }
  BOOST_CHECK_LE(difference(together, alone), 1e-12);
}

/// What is still to come changes no logits; the decoder's vocabulary is of 13.
inline void check_future_unseen(const Model<double>& model, const PackedTokens& source) {
  const std::vector<double> a = logits<double>(model, source, tokens({{4, 9, 6, 8, 5, 3}}));
  const std::vector<double> b = logits<double>(model, source, tokens({{4, 9, 6, 10, 7, 3}}));
  const std::size_t past = 4 * 13;  // the rows that read bos, 4, 9, 6
  BOOST_CHECK(std::equal(a.begin(), a.begin() + past, b.begin()));
  BOOST_CHECK_GT(difference(std::span(a).subspan(past), std::span(b).subspan(past)), 1e-3);
}

/// The model's config makes the same model.
inline void check_json(const Model<float>& model) {
  const auto copy = make_model<float>(model.config_json);
  BOOST_CHECK_EQUAL(copy->config_json, model.config_json);
  BOOST_CHECK_EQUAL(copy->parameters.count(), model.parameters.count());
}

/// Reading word by word gives the logits of reading whole sentences, with two copies of every hypothesis in
/// changing order and sentences dropped when their target ends.
inline void check_step_by_step(const Model<double>& model, const Editor<double>* editor = nullptr) {
  const std::vector<double> whole = logits<double>(model, kSource, kTarget, nullptr, editor);
  Tape<double> tape;
  Pass<double> pass(tape, model.parameters);
  const auto memory = memory_of(model, pass, kSource);
  const PackedWeights<double> weights(model.parameters.values());
  Hypotheses<double> hypotheses(model, weights, 3, pointer(memory), editor);
  const std::int64_t vocabulary = model.sizes(Side::target).vocab_size;
  std::vector<std::int64_t> sentences{0, 1, 2}, parents{0, 0, 1, 1, 2, 2};
  for (std::int64_t t = 0; !sentences.empty(); ++t) {
    std::vector<std::int32_t> input;
    for (std::int64_t s : sentences) {
      const auto at = static_cast<std::size_t>(kTarget.rows.offset(s) + t);
      input.insert(input.end(), 2, t == 0 ? kDefaultSpecialIds.bos : kTarget.ids[at - 1]);
    }
    Matrix<const double> step = hypotheses.read(input, parents).all();
    std::vector<std::int64_t> left, next;
    for (std::size_t i = 0; i < sentences.size(); ++i) {
      const std::int64_t s = sentences[i], row = kTarget.rows.offset(s) + t;
      for (std::int64_t copy = 0; copy < 2; ++copy) {
        const auto expected = std::span(whole).subspan(static_cast<std::size_t>(row * vocabulary),
                                                       static_cast<std::size_t>(vocabulary));
        BOOST_CHECK_LE(
            difference({step.row(static_cast<std::int64_t>(i) * 2 + copy), expected.size()}, expected),
            1e-12);
      }
      if (t + 1 < kTarget.rows.length(s)) {
        left.push_back(s);
        next.push_back(static_cast<std::int64_t>(i) * 2 + 1);
        next.push_back(static_cast<std::int64_t>(i) * 2);
      }
    }
    sentences = left;
    parents = next;
  }
}

/// Changes one value: to what was recorded or, in odd places, to something else.
class OneEdit final : public Editor<double> {
 public:
  OneEdit(std::string name, const Recorded<double>* by) : name_(std::move(name)), by_(by) {}
  bool edits(const std::string& name) const override { return name == name_; }
  void edit(const std::string&, Matrix<double> value, std::span<const Place> places,
            std::int64_t) const override {
    for (std::int64_t i = 0; i < value.rows; ++i) {
      const Place& at = places[static_cast<std::size_t>(i)];
      const double* recorded = by_ ? by_->matrix().row(by_->rows.offset(at.sentence) + at.position) : nullptr;
      for (std::int64_t j = 0; j < value.cols; ++j)
        value(i, j) = recorded ? recorded[j] : changed(value(i, j), at, j);
    }
  }
  void edit_attention(const std::string&, std::span<double> row, const Place& query,
                      std::int64_t head) const override {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto j = static_cast<std::int64_t>(i);
      const double x = row[i];
      row[i] = by_      ? by_->block(query.sentence, head)(query.position, j)
               : x == 0 ? 0  // what is still to come
                        : changed(x, query, j);
    }
  }

 private:
  static double changed(double x, const Place& at, std::int64_t j) {
    return (at.sentence + at.position) % 2 ? 1.5 * x + 0.1 * static_cast<double>(j) : x;
  }

  std::string name_;
  const Recorded<double>* by_;
};

/// Whatever the decoder names: put back, it changes nothing; changed, the result changes, but for values
/// named ...`without`, and the stepper changes as the whole pass does.
inline void check_edits(const Model<double>& model, const std::vector<std::string>& without = {}) {
  Recording<double> recording([](const std::string&) { return true; });
  const std::vector<double> plain = logits<double>(model, kSource, kTarget, &recording);
  BOOST_CHECK(!recording.values().empty());
  for (const auto& [name, value] : recording.values()) {
    BOOST_TEST_CONTEXT(name) {
      const OneEdit same(name, &value), other(name, nullptr);
      BOOST_CHECK_LE(difference(plain, logits<double>(model, kSource, kTarget, nullptr, &same)), 1e-12);
      const double moved = difference(plain, logits<double>(model, kSource, kTarget, nullptr, &other));
      const bool matters = std::none_of(without.begin(), without.end(),
                                        [&](const std::string& end) { return name.ends_with(end); });
      BOOST_CHECK_MESSAGE(matters ? moved > 1e-9 : moved <= 1e-12, "the result moved by " << moved);
      check_step_by_step(model, &other);
    }
  }
}

}  // namespace heed::test
