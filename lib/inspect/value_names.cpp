#include "inspect/value_names.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/glob.h"
#include "base/log.h"
#include "models/shards.h"
#include "nn/recording.h"

namespace heed {

namespace {

NamedValue described(const std::string& name, const Recorded<float>& value, const Packing& source,
                     const Packing& target, const Packing* segments) {
  const auto rows_of = [&](const Packing& rows) {
    if (rows == source) return Rows::source;
    if (segments && rows == *segments) return Rows::segments;
    return rows == target ? Rows::target : Rows::one;
  };
  NamedValue v;
  v.name = name;
  v.attention = value.attention;
  v.n_heads = value.n_heads;
  v.cols = value.attention ? 0 : value.cols / value.n_heads;
  v.by_steps = value.parts > 1;
  v.rows = rows_of(value.rows);
  if (value.attention) v.keys = rows_of(value.keys);
  return v;
}

}  // namespace

std::vector<std::string> NamedValue::dims() const {
  if (attention) return {"sentence", "head", "query", "key"};
  const std::string last = of_vocabulary ? "word" : "dim";
  if (n_heads > 1) return {"sentence", "head", "position", last};
  return {"sentence", "position", last};
}

std::string NamedValue::text() const {
  const auto text_of = [](Rows of) {
    constexpr const char* kTexts[] = {" source", " target", " segment", " 1"};
    return kTexts[static_cast<std::size_t>(of)];
  };
  if (attention)
    return concat(name, " [sentence, head ", n_heads, ", query", text_of(rows), ", key", text_of(keys), "]");
  return concat(name, " [sentence, ", n_heads > 1 ? concat("head ", n_heads, ", ") : "", "position",
                text_of(rows), of_vocabulary ? ", word " : ", dim ", cols, "]");
}

std::vector<NamedValue> value_names(const Model<float>& model, const Stages& stages) {
  // Sentences of different lengths make the packings distinguishable; an image has as many rows as the model
  // says. Those of an image of one place are named as the source, and have the same shape either way.
  PackedTokens source, target;
  const std::vector<std::int32_t> words{0, 0, 0};  // any ids will do
  source.append(std::span(words).first(3));
  target.append(std::span(words).first(model.images && model.images->rows() == 2 ? 3 : 2));
  Segments segments;  // of a model of documents, which has no target
  for (const std::int64_t length : {2, 1}) segments.rows.append(length);
  segments.of_sentence.append(2);
  Recording<float> recording([](const std::string&) { return true; });
  InferencePass pass(model, stages.embed ? &recording : nullptr);
  if (model.images) {
    source = {};
    source.rows.append(model.images->rows());
  }
  const std::vector<float> pixels(static_cast<std::size_t>(model.images ? model.images->values() : 0));
  if (stages.embed && model.images)
    model.images->embed<float>(pass, pixels, source.rows);
  else if (stages.embed)
    model.embed(pass, stages.side, stages.side == Side::target ? target : source);
  std::optional<Encoded<float>> x;
  if (model.encoder && (stages.last > 0 || stages.decode || stages.classify)) {
    const std::int64_t layers = model.encoder->sizes().n_layers;
    auto run = [&](std::int64_t first, std::int64_t last, bool recorded) {
      pass.recorder = recorded ? &recording : nullptr;
      if (first < last) x = model.encoder->encode(pass, *x, first, last);
    };
    pass.recorder = nullptr;
    x = {model.images ? model.images->embed<float>(pass, pixels, source.rows)
                      : model.embed(pass, Side::source, source),
         &source.rows,
         {},
         &segments};
    run(0, stages.first, false);
    run(stages.first, stages.last, true);
    if (stages.decode || stages.classify) run(stages.last, layers, false);
  }
  // `encode` reads embeddings that were named when they were made.
  pass.recorder = stages.logits || model.encoder ? &recording : nullptr;
  if (stages.decode) {
    const Var<float> embedded = model.embed(
        pass, Side::target, model.encoder ? model.shifted_right(target) : model.read_alone(target));
    pass.recorder = &recording;
    model.decode(pass, x ? &*x : nullptr, embedded, target.rows);
  }
  pass.recorder = &recording;
  if (stages.classify) model.class_logits(pass, *x);
  std::vector<NamedValue> values;
  for (const auto& [name, value] : recording.values())
    values.push_back(
        described(name, value, source.rows, target.rows, model.documents ? &segments.of_sentence : nullptr));
  for (const char* name : {"decoder/logits", "decoder/probabilities"}) {
    if (!stages.logits) break;
    NamedValue v;
    v.name = name;
    v.cols = model.sizes(Side::target).vocab_size;
    v.of_vocabulary = true;
    values.push_back(v);
  }
  return values;
}

std::vector<NamedValue> matching(const std::vector<NamedValue>& values, const std::vector<std::string>& globs,
                                 const char* option) {
  auto matches = [](const std::string& glob, const NamedValue& v) { return glob_matches(glob, v.name); };
  std::vector<NamedValue> chosen;
  for (const NamedValue& v : values) {
    if (globs.empty() ||
        std::any_of(globs.begin(), globs.end(), [&](auto& glob) { return matches(glob, v); }))
      chosen.push_back(v);
  }
  for (const std::string& glob : globs) {
    if (std::none_of(values.begin(), values.end(), [&](const NamedValue& v) { return matches(glob, v); }))
      fail<UsageError>(option, ": '", escaped(glob), "' matches no value; near: ", near_names(values, glob),
                       " (--trace-list prints all)");
  }
  return chosen;
}

void report_matches(const std::string& what, const std::vector<NamedValue>& values) {
  std::vector<std::string> names;
  for (const NamedValue& v : values) names.push_back(v.name);
  logging::verbose(concat(what, ": ", joined(names)));
}

std::string near_names(const std::vector<NamedValue>& values, const std::string& name) {
  // The more leading and trailing characters agree, the nearer; of equally near ones that of like length.
  auto likeness = [&](const NamedValue& v) {
    const std::size_t most = std::min(v.name.size(), name.size());
    std::size_t front = 0, back = 0;
    while (front < most && v.name[front] == name[front]) ++front;
    while (back < most - front && v.name[v.name.size() - 1 - back] == name[name.size() - 1 - back]) ++back;
    return std::pair(front + back, -std::abs(std::ssize(v.name) - std::ssize(name)));
  };
  std::vector<const NamedValue*> order;
  for (const NamedValue& v : values) order.push_back(&v);
  std::stable_sort(order.begin(), order.end(),
                   [&](const NamedValue* a, const NamedValue* b) { return likeness(*a) > likeness(*b); });
  std::string text;
  for (std::size_t i = 0; i < order.size() && i < 3; ++i) text += (i ? ", " : "") + order[i]->name;
  return text;
}

}  // namespace heed
