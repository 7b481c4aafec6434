#include "stages/translate.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "models/shards.h"
#include "nn/recording.h"
#include "tensor/padding.h"

namespace heed {

namespace {

Hypothesis empty_translation() {
  return {{kEos}, {0.0f}, 0.0, true, {}};
}

std::vector<std::int64_t> with_words(const Packing& rows, SentenceRange range) {
  std::vector<std::int64_t> sentences = range.numbers();
  std::erase_if(sentences, [&](std::int64_t s) { return rows.length(s) <= 1; });
  return sentences;
}

}  // namespace

std::vector<std::vector<Hypothesis>> translate(const Model<float>& model, const PackedStates& memory,
                                               const TranslateOptions& options, int threads, Watch* watch) {
  std::vector<std::vector<Hypothesis>> result(static_cast<std::size_t>(memory.rows.sentences()));
  for_each_shard(memory.rows.sentences(), threads, [&](SentenceRange range) {
    for (std::int64_t s = range.first; s < range.first + range.count; ++s) {
      result[static_cast<std::size_t>(s)] = {empty_translation()};
    }
    const std::vector<std::int64_t> sentences = with_words(memory.rows, range);
    if (sentences.empty()) return;
    std::vector<std::int64_t> max_lengths;
    for (std::int64_t s : sentences) {
      const std::int64_t most = model.max_length(Side::target);
      max_lengths.push_back(options.max_length > 0 && most > 0 ? std::min(options.max_length, most)
                            : options.max_length > 0           ? options.max_length
                                                     : usual_max_length(memory.rows.length(s), most));
    }
    const Selection chosen(memory, sentences);
    WatchedPass pass(model, watch, sentences);
    SampleOptions sampling = options.sample;
    std::vector<SampleStream> sampled;
    for (std::size_t i = 0; options.sampling && i < sentences.size(); ++i) {
      sampling.sentences.push_back(options.first_sentence + static_cast<std::uint64_t>(sentences[i]));
      sampled.push_back(SampleStream::of(sampling.seed, sampling.sentences.back(), 0));
    }
    const auto stepper = model.sampler(chosen.on(pass), pass.editor, sampled);
    const StepFunction step = [&](auto tokens, auto parents) { return stepper->step(tokens, parents); };
    std::vector<std::vector<Hypothesis>> found;
    if (options.sampling) {
      found = sample(step, max_lengths, sampling);
    } else {
      found = beam_search(step, max_lengths, options.beam);
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
      result[static_cast<std::size_t>(sentences[i])] = std::move(found[i]);
    }
  });
  return result;
}

namespace {

/// decoder/logits and decoder/probabilities, for those who look.
void name_outputs(InferencePass& pass, Matrix<const float> logits, std::span<const float> log_sums,
                  const Packing& rows) {
  const Scope<float> decoder = Scope<float>(pass) / "decoder";
  if (decoder.wants("logits")) decoder.name("logits", pass.tape->constant(logits), rows);
  if (!decoder.wants("probabilities")) return;
  std::vector<float> p(static_cast<std::size_t>(logits.size()));
  for (std::int64_t i = 0; i < logits.rows; ++i) {
    for (std::int64_t j = 0; j < logits.cols; ++j)
      p[static_cast<std::size_t>(i * logits.cols + j)] =
          std::exp(logits(i, j) - log_sums[static_cast<std::size_t>(i)]);
  }
  decoder.name("probabilities", pass.tape->constant({p.data(), logits.rows, logits.cols}), rows);
}

}  // namespace

std::vector<std::vector<Hypothesis>> force(const Model<float>& model, const PackedStates& memory,
                                           const std::vector<std::vector<std::int32_t>>& targets,
                                           double length_penalty, int threads, Watch* watch,
                                           const std::vector<SampleStream>& sampled) {
  if (static_cast<std::int64_t>(targets.size()) != memory.rows.sentences()) {
    fail("there are ", targets.size(), " targets for ", memory.rows.sentences(), " source sentences");
  }
  std::vector<std::vector<Hypothesis>> result(targets.size());
  for_each_shard(memory.rows.sentences(), threads, [&](SentenceRange range) {
    WatchedPass pass(model, watch, range.numbers());
    if (!sampled.empty())
      pass.sampled.assign(sampled.begin() + range.first, sampled.begin() + range.first + range.count);
    const Selection shard(memory, range.numbers());
    PackedTokens target;
    for (std::int64_t s = 0; s < range.count; ++s)
      target.append(targets[static_cast<std::size_t>(range.first + s)]);
    const Var<float> states = model.decode(pass, shard.on(pass), target);
    const Matrix<const float> logits = model.logits(pass, states).value();
    std::vector<float> sums(static_cast<std::size_t>(logits.rows));
    log_sum_exp_rows<float>(logits, sums);
    name_outputs(pass, logits, sums, target.rows);
    pass.keep();
    for (std::int64_t s = 0; s < range.count; ++s) {
      Hypothesis h;
      h.ids = targets[static_cast<std::size_t>(range.first + s)];
      h.finished = true;
      for (std::int64_t row = target.rows.offset(s); row < target.rows.offset(s + 1); ++row) {
        const float log_probability =
            logits(row, target.ids[static_cast<std::size_t>(row)]) - sums[static_cast<std::size_t>(row)];
        h.token_log_probability.push_back(log_probability);
        h.score += log_probability;
      }
      h.score /= std::pow(static_cast<double>(h.ids.size()), length_penalty);
      result[static_cast<std::size_t>(range.first + s)] = {std::move(h)};
    }
  });
  return result;
}

namespace {

/// A padded tensor of attention weights, filled shard by shard.
class AttentionTensor {
 public:
  AttentionTensor(std::int64_t sentences, std::int64_t ranks, std::int64_t layers, std::int64_t heads,
                  std::int64_t queries, std::int64_t keys)
      : shape_{sentences, ranks, layers, heads, queries, keys},
        values_(static_cast<std::size_t>(element_count(shape_))) {}

  void set(std::int64_t sentence, std::int64_t rank, std::int64_t layer, std::int64_t head,
           std::int64_t query, std::span<const float> weights) {
    const std::int64_t row =
        (((sentence * shape_[1] + rank) * shape_[2] + layer) * shape_[3] + head) * shape_[4] + query;
    std::copy(weights.begin(), weights.end(), values_.begin() + row * shape_[5]);
  }
  Tensor take() {
    std::vector<std::string> dims{"sentence", "rank", "layer", "head", "query", "key"};
    if (shape_[1] == 1) {
      shape_.erase(shape_.begin() + 1);
      dims.erase(dims.begin() + 1);
    }
    return Tensor::of<float>(std::move(values_), shape_, dims);
  }

 private:
  Shape shape_;
  std::vector<float> values_;
};

struct Ranked {
  std::int64_t sentence, rank;
  const Hypothesis* hypothesis;
};

std::string layer_name(std::int64_t layer, const std::string& attention) {
  return "decoder/layer_" + std::to_string(layer) + "/" + attention + "/weights";
}

void add_group(TensorMap& map, const std::string& name, const std::string& kind, const std::string& title,
               Tensor weights, Tensor query_length, Tensor key_length) {
  weights.attributes["long_name"] = std::string("attention weight");
  weights.attributes["kind"] = kind;
  weights.attributes["interpretation"] = std::string("image");
  std::vector<std::string> slice(weights.shape().size() - 2, "0");
  slice.insert(slice.end(), {".", "."});
  map.add(name + "/weights", std::move(weights));
  map.add(name + "/query_length", std::move(query_length));
  map.add(name + "/key_length", std::move(key_length));
  map.groups[name] = {"weights", title, slice, {}};
}

}  // namespace

TensorMap decoder_attention(const Model<float>& model, const PackedStates& memory,
                            const std::vector<std::vector<Hypothesis>>& hypotheses, int threads,
                            Watch* watch) {
  std::int64_t ranks = 1, longest = 1;
  for (const auto& list : hypotheses) {
    ranks = std::max(ranks, static_cast<std::int64_t>(list.size()));
    for (const Hypothesis& h : list) longest = std::max(longest, static_cast<std::int64_t>(h.ids.size()));
  }
  const std::int64_t sentences = memory.rows.sentences(), first_layer = model.first_attending_layer(),
                     layers = model.n_decoder_layers() - first_layer, heads = model.n_heads();
  AttentionTensor cross(sentences, ranks, layers, heads, longest, memory.rows.longest());
  AttentionTensor self(sentences, ranks, model.self_attends() ? layers : 0, heads, longest, longest);
  Tensor query_length = Tensor::zeros<std::int32_t>({sentences, ranks}, {"sentence", "rank"});

  for_each_shard(sentences, threads, [&](SentenceRange range) {
    std::vector<Ranked> list;
    PackedTokens target;
    std::vector<std::int64_t> sources;  // a sentence once for each of its hypotheses
    for (std::int64_t s = range.first; s < range.first + range.count; ++s) {
      for (const Hypothesis& h : hypotheses[static_cast<std::size_t>(s)]) {
        const auto rank = &h - hypotheses[static_cast<std::size_t>(s)].data();
        list.push_back({s, rank, &h});
        target.append(h.ids);
        sources.push_back(s);
        query_length.values<std::int32_t>()[static_cast<std::size_t>(s * ranks + rank)] =
            static_cast<std::int32_t>(h.ids.size());
      }
    }
    if (list.empty()) return;
    std::set<std::string> names;
    for (std::int64_t l = 0; l < layers; ++l) {
      names.insert(layer_name(first_layer + l, "cross_attention"));
      if (model.self_attends()) names.insert(layer_name(first_layer + l, "self_attention"));
    }
    WatchedPass pass(model, watch, sources, [&](const std::string& name) { return names.contains(name); });
    if (std::any_of(list.begin(), list.end(), [](const Ranked& r) { return r.hypothesis->drawn; }))
      for (const Ranked& r : list) pass.sampled.push_back(r.hypothesis->drawn.value_or(SampleStream{}));
    const Selection chosen(memory, sources);
    model.decode(pass, chosen.on(pass), target);
    const Recording<float>& recording = pass.recorded();
    for (std::int64_t l = 0; l < layers; ++l) {
      auto keep = [&](const std::string& attention, AttentionTensor& tensor) {
        const Recorded<float>& weights = recording.at(layer_name(first_layer + l, attention));
        for (std::size_t i = 0; i < list.size(); ++i) {
          for (std::int64_t h = 0; h < heads; ++h) {
            const Matrix<const float> block = weights.block(static_cast<std::int64_t>(i), h);
            for (std::int64_t q = 0; q < block.rows; ++q)
              tensor.set(list[i].sentence, list[i].rank, l, h, q,
                         {block.row(q), static_cast<std::size_t>(block.cols)});
          }
        }
      };
      keep("cross_attention", cross);
      if (model.self_attends()) keep("self_attention", self);
    }
  });

  if (ranks == 1) {
    query_length = Tensor::of<std::int32_t>(
        {query_length.values<std::int32_t>().begin(), query_length.values<std::int32_t>().end()}, {sentences},
        {"sentence"});
  }
  TensorMap map;
  add_group(map, "cross_attention", "cross", "Attention of the translation over the source", cross.take(),
            query_length, lengths_of(memory.rows));
  if (!model.self_attends()) return map;
  add_group(map, "self_attention", "decoder_self", "Attention of the translation over its past", self.take(),
            query_length, query_length);
  return map;
}

TensorMap hypothesis_map(const std::vector<std::vector<Hypothesis>>& hypotheses) {
  std::int64_t ranks = 1, longest = 1;
  for (const auto& list : hypotheses) {
    ranks = std::max(ranks, static_cast<std::int64_t>(list.size()));
    for (const Hypothesis& h : list) longest = std::max(longest, static_cast<std::int64_t>(h.ids.size()));
  }
  const auto sentences = static_cast<std::int64_t>(hypotheses.size());
  Tensor score = Tensor::zeros<float>({sentences, ranks}, {"sentence", "rank"});
  Tensor length = Tensor::zeros<std::int32_t>({sentences, ranks}, {"sentence", "rank"});
  Tensor finished = Tensor::zeros<std::uint8_t>({sentences, ranks}, {"sentence", "rank"});
  Tensor ids = Tensor::zeros<std::int32_t>({sentences, ranks, longest}, {"sentence", "rank", "position"});
  Tensor log_probability =
      Tensor::zeros<float>({sentences, ranks, longest}, {"sentence", "rank", "position"});
  finished.attributes["dtype"] = std::string("bool");
  for (std::size_t s = 0; s < hypotheses.size(); ++s) {
    for (std::size_t r = 0; r < hypotheses[s].size(); ++r) {
      const Hypothesis& h = hypotheses[s][r];
      const std::size_t at = s * static_cast<std::size_t>(ranks) + r;
      score.values<float>()[at] = static_cast<float>(h.score);
      length.values<std::int32_t>()[at] = static_cast<std::int32_t>(h.ids.size());
      finished.values<std::uint8_t>()[at] = h.finished;
      const auto row = static_cast<std::ptrdiff_t>(at * static_cast<std::size_t>(longest));
      std::copy(h.ids.begin(), h.ids.end(), ids.values<std::int32_t>().begin() + row);
      std::copy(h.token_log_probability.begin(), h.token_log_probability.end(),
                log_probability.values<float>().begin() + row);
    }
  }
  TensorMap map;
  map.add("hypotheses/score", std::move(score));
  map.add("hypotheses/ids", std::move(ids));
  map.add("hypotheses/length", std::move(length));
  map.add("hypotheses/finished", std::move(finished));
  map.add("hypotheses/token_logprob", std::move(log_probability));
  map.groups["hypotheses"] = {"score", "Translations", {}, {}};
  return map;
}

}  // namespace heed
