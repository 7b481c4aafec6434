#include "stages/self_test.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/error.h"
#include "models/packed_states.h"
#include "models/search_settings.h"
#include "models/shards.h"
#include "nn/recording.h"
#include "stages/translate.h"

namespace heed {
namespace {

constexpr double kTolerance = 1e-5;
constexpr std::int64_t kBeam = 4;  ///< of the stage beam

/// The arrays of the file that the test needs.
class Expected {
 public:
  explicit Expected(const io::ArrayFile& file) : file_(file) {
    for (std::size_t i = 0; i < file.arrays().size(); ++i) index_[file.arrays()[i].name] = i;
  }
  bool has(const std::string& name) const { return index_.contains(name); }
  std::vector<double> values(const std::string& name) const {
    const Tensor tensor = file_.read(index_.at(name));
    return with_type(tensor.dtype(), [&]<class T>(T) -> std::vector<double> {
      if constexpr (std::is_same_v<T, std::string>) {
        fail(name, ": holds text");
      } else {
        const auto own = tensor.values<T>();
        return {own.begin(), own.end()};
      }
    });
  }
  const Shape& shape(const std::string& name) const { return file_.arrays()[index_.at(name)].shape; }

  /// The tokens of `ids` where `mask` is not 0, those of a sentence side by side.
  PackedTokens tokens(const std::string& ids, const std::string& mask, std::int64_t vocab_size) const {
    for (const std::string& name : {ids, mask})
      if (!has(name) || shape(name).size() != 2 || shape(name) != shape(ids))
        fail("/", name, ": is missing or misshapen: wanted ", ids, " and ", mask, " [sentence, position]");
    const bool typed = has("types") && ids == "ids";
    if (typed) expect_shape("/types", shape("types"), shape(ids));
    const std::vector<double> id = values(ids), kept = values(mask),
                              type = typed ? values("types") : std::vector<double>();
    PackedTokens tokens;
    const auto width = static_cast<std::size_t>(shape(ids)[1]);
    for (std::size_t row = 0; row < id.size(); row += width) {
      std::vector<std::int32_t> sentence;
      for (std::size_t i = row; i < row + width; ++i) {
        if (kept[i] == 0) continue;
        sentence.push_back(whole(ids, id[i], vocab_size));
        if (typed) tokens.types.push_back(whole("types", type[i], INT32_MAX));
      }
      if (sentence.empty()) fail("/", mask, ": sentence ", row / width, " has no token");
      tokens.append(sentence);
    }
    return tokens;
  }

 private:
  static std::int32_t whole(const std::string& name, double value, std::int64_t end) {
    if (!(value >= 0 && value < static_cast<double>(end)) || value != std::floor(value))
      fail("/", name, ": ", value, ", wanted a whole number below ", end);
    return static_cast<std::int32_t>(value);
  }

  const io::ArrayFile& file_;
  std::map<std::string, std::size_t> index_;
};

/// Compares one value and updates a stage's result.
void compare(double own, double wanted, double& largest, StageResult& result) {
  if (!std::isfinite(wanted)) result.problem = concat("wants ", wanted, ", which is no result");
  const double difference = std::abs(own - wanted);
  result.difference = std::isnan(difference) ? INFINITY : std::max(result.difference, difference);
  largest = std::max(largest, std::abs(wanted));
}

/// The result of one stage: for each sentence a block of rows of equal width; for attention one per head.
struct Computed {
  std::vector<std::vector<Matrix<const float>>> blocks;  ///< [sentence][head]
  bool pooled = false;                                   ///< a row for each sentence
};

class Test {
 public:
  Test(const LoadedModel& loaded, const io::ArrayFile& file)
      : loaded_(loaded),
        model_(*loaded.model),
        expected_(file),
        recording_([](const std::string& name) { return wants(name); }),
        pass_(model_, &recording_) {
    for (const io::ArrayInfo& info : file.arrays()) names_.push_back(info.name);
    run();
  }

  std::vector<StageResult> results() {
    static const std::vector<std::string> inputs{"ids",        "mask",        "types",
                                                 "target_ids", "target_mask", "pixels"};
    std::vector<StageResult> results;
    for (const std::string& name : names_) {
      if (std::ranges::count(inputs, name) > 0) continue;
      results.push_back(name == "generated" || name == "beam" ? generated(name)
                        : name == "scores"                    ? scores()
                                                              : compared(name));
    }
    return results;
  }

 private:
  static bool wants(const std::string& name) {
    return name.ends_with("/embedded") || name.ends_with("/output") || name.ends_with("_attention/weights");
  }

  void run() {
    const Side side = model_.encoder ? Side::source : Side::target;
    if (model_.images) {
      read_images();
    } else {
      input_ = expected_.tokens("ids", "mask", model_.sizes(side).vocab_size);
    }
    if (model_.encoder) {
      encoded_ =
          model_.images
              ? model_.encode(pass_, model_.images->embed<float>(pass_, pixels_, input_.rows), input_.rows)
              : model_.encode(pass_, input_);
      final_ = encoded_->states;
      rows_ = &input_.rows;
    }
    if (model_.decoder && (!model_.encoder || expected_.has("target_ids"))) {
      if (model_.encoder)
        target_ = expected_.tokens("target_ids", "target_mask", model_.sizes(Side::target).vocab_size);
      const PackedTokens& read = model_.encoder ? (shifted_ = model_.shifted_right(target_)) : input_;
      const Var<float> embedded = model_.embed(pass_, Side::target, read);
      final_ = model_.decode(pass_, encoded_ ? &*encoded_ : nullptr, embedded, read.rows).states;
      rows_ = model_.encoder ? &shifted_.rows : &input_.rows;
    }
    if (model_.classes) {
      logits_ = model_.class_logits(pass_, *encoded_).value();
    } else if (model_.words) {
      logits_ = model_.words->logits(pass_, final_).value();
    }
    if (model_.parameters.contains("encoder/pooler/weight"))
      pooled_ = SentenceVectors{Pooling::first, false, model_.pooler}.of(pass_, final_, *rows_);
    if (model_.sentences) sentences_ = model_.sentences->of(pass_, final_, *rows_);
  }

  void read_images() {
    const ImagePatches& images = *model_.images;
    if (!expected_.has("pixels") || expected_.shape("pixels").size() != 4)
      fail("/pixels: is missing or misshapen: wanted (image, channel, row, column)");
    expect_shape("/pixels", expected_.shape("pixels"),
                 {-1, images.channels, images.image_size, images.image_size});
    for (const double value : expected_.values("pixels")) pixels_.push_back(static_cast<float>(value));
    for (std::int64_t i = 0; i < expected_.shape("pixels")[0]; ++i) input_.rows.append(images.rows());
  }

  /// "encoder.hidden.1" is encoder/layer_1/output; none for unknown stages.
  std::optional<Computed> computed(const std::string& stage) const {
    if (stage == "logits") {
      if (!logits_.data) return std::nullopt;
      return model_.classes && !model_.classes->of_tokens() ? pooled(logits_) : split(logits_, *rows_);
    }
    if (stage == "pooled" || stage == "sentence") {
      const auto& values = stage == "pooled" ? pooled_ : sentences_;
      if (values.empty()) return std::nullopt;
      const std::int64_t n = rows_->sentences();
      return pooled({values.data(), n, std::ssize(values) / n});
    }
    const std::size_t dot = stage.find('.'), last = stage.rfind('.');
    const std::string part = stage.substr(0, dot);
    if (dot == std::string::npos || (part != "encoder" && part != "decoder")) return std::nullopt;
    const std::string what = stage.substr(dot + 1, last > dot ? last - dot - 1 : std::string::npos),
                      layer = concat(part, "/layer_", stage.substr(last + 1));
    if (what == "embeddings") return recorded(part + "/embedded");
    if (what == "states") return recorded(part + "/output");
    if (what == "hidden") return recorded(layer + "/output");
    if (what == "attention") return recorded(layer + "/self_attention/weights");
    if (what == "cross") return recorded(layer + "/cross_attention/weights");
    return std::nullopt;
  }

  std::optional<Computed> recorded(const std::string& name) const {
    if (!recording_.has(name)) return std::nullopt;
    const Recorded<float>& value = recording_.at(name);
    if (!value.attention) return split(value.matrix(), value.rows);
    Computed out;
    for (std::int64_t s = 0; s < value.rows.sentences(); ++s) {
      out.blocks.emplace_back();
      for (std::int64_t h = 0; h < value.n_heads; ++h) out.blocks.back().push_back(value.block(s, h));
    }
    return out;
  }
  static Computed split(Matrix<const float> values, const Packing& rows) {
    Computed out;
    for (std::int64_t s = 0; s < rows.sentences(); ++s)
      out.blocks.push_back({values.row_range(rows.offset(s), rows.length(s))});
    return out;
  }
  static Computed pooled(Matrix<const float> values) {
    Computed out;
    out.pooled = true;
    for (std::int64_t s = 0; s < values.rows; ++s) out.blocks.push_back({values.row_range(s, 1)});
    return out;
  }

  StageResult compared(const std::string& stage) const {
    StageResult result{stage, 0, 0, {}};
    const std::optional<Computed> own = computed(stage);
    if (!own) {
      result.problem = "is not computed";
      return result;
    }
    // [sentence, (head,) (row,) column]: blocks that begin a padded one.
    const Shape& shape = expected_.shape(stage);
    const bool by_head = shape.size() == 4;
    const std::size_t rank = own->pooled ? 2 : by_head ? 4 : 3;
    if (shape.size() != rank || std::cmp_not_equal(shape[0], own->blocks.size())) {
      result.problem = concat("shape ", to_string(shape), " for ", own->blocks.size(), " sentences");
      return result;
    }
    const std::int64_t heads = by_head ? shape[1] : 1, height = own->pooled ? 1 : shape[rank - 2],
                       width = shape[rank - 1];
    const std::vector<double> wanted = expected_.values(stage);
    double largest = 1;
    for (std::size_t s = 0; s < own->blocks.size(); ++s) {
      const auto& blocks = own->blocks[s];
      if (std::cmp_not_equal(blocks.size(), heads)) {
        result.problem = concat("has ", heads, " heads, the model ", blocks.size());
        return result;
      }
      for (std::int64_t h = 0; h < heads; ++h) {
        const Matrix<const float>& m = blocks[static_cast<std::size_t>(h)];
        if (m.rows > height || m.cols > width || (!by_head && m.cols != width)) {
          result.problem =
              concat("shape ", to_string(shape), ", the model's is [", m.rows, ", ", m.cols, "]");
          return result;
        }
        for (std::int64_t i = 0; i < m.rows; ++i) {
          for (std::int64_t j = 0; j < m.cols; ++j) {
            const auto at = ((static_cast<std::int64_t>(s) * heads + h) * height + i) * width + j;
            compare(static_cast<double>(m(i, j)), wanted[static_cast<std::size_t>(at)], largest, result);
          }
        }
      }
    }
    result.allowed = kTolerance * largest;
    return result;
  }

  /// The input of the search: embeddings of the prompt, or the encoder's states.
  PackedStates search_input() const {
    const Matrix<const float> values =
        model_.encoder ? encoded_->states.value() : recording_.at("decoder/embedded").matrix();
    PackedStates input;
    input.rows = input_.rows;
    for (std::int64_t i = 0; i < values.rows; ++i)
      input.values.insert(input.values.end(), values.row(i), values.row(i) + values.cols);
    return input;
  }

  /// Searches like the source's program, to the length in the file.
  Results found(const std::string& stage) const {
    const SearchSettings usual = search_settings_of(loaded_.origin).value_or(SearchSettings{});
    TranslateOptions options;
    options.beam.beam = stage == "beam" ? kBeam : 1;
    options.beam.stop = StopRule::kBest;
    options.beam.forced_eos = usual.forced_eos;
    options.beam.renormalized = usual.renormalized;
    options.beam.more_ends = more_ends(usual);
    options.beam.first = static_cast<std::int32_t>(usual.first_token);
    options.max_length = expected_.shape(stage)[1];
    options.empty_source = 0;
    const PackedWeights<float> weights(model_.parameters.values());
    const PackedStates input = search_input();
    const Member alone{&model_, &weights, &input};
    return translate({&alone, 1}, options, 1);
  }

  StageResult generated(const std::string& stage) const {
    StageResult result{stage, 0, 0, {}};
    const Shape& shape = expected_.shape(stage);
    if (!model_.decoder || shape.size() != 2 || shape[0] != input_.rows.sentences()) {
      result.problem = "is not what this model generates";
      return result;
    }
    const Results hypotheses = found(stage);
    const std::vector<double> wanted = expected_.values(stage);
    for (std::size_t s = 0; s < hypotheses.size(); ++s) {
      const Ids& ids = hypotheses[s].front().ids;
      for (std::int64_t i = 0; i < shape[1]; ++i) {
        const double id = std::cmp_less(i, ids.size()) ? ids[static_cast<std::size_t>(i)] : -1;
        result.difference +=
            id != wanted[s * static_cast<std::size_t>(shape[1]) + static_cast<std::size_t>(i)];
      }
    }
    return result;
  }

  /// Of the beam's hypotheses.
  StageResult scores() const {
    StageResult result{"scores", 0, 0, {}};
    if (!model_.decoder || !expected_.has("beam") || expected_.shape("beam").size() != 2 ||
        expected_.shape("scores") != Shape{input_.rows.sentences()}) {
      result.problem = "is not what this model generates";
      return result;
    }
    const Results hypotheses = found("beam");
    const std::vector<double> wanted = expected_.values("scores");
    double largest = 1;
    for (std::size_t s = 0; s < hypotheses.size(); ++s)
      compare(hypotheses[s].front().score, wanted[s], largest, result);
    result.allowed = kTolerance * largest;
    return result;
  }

  const LoadedModel& loaded_;
  const Model<float>& model_;
  Expected expected_;
  std::vector<std::string> names_;
  Recording<float> recording_;
  InferencePass pass_;
  PackedTokens input_, target_, shifted_;
  std::optional<Encoded<float>> encoded_;
  Var<float> final_;
  const Packing* rows_ = nullptr;
  Matrix<const float> logits_;
  std::vector<float> pixels_, pooled_, sentences_;
};

}  // namespace

std::vector<StageResult> self_test(const LoadedModel& loaded, const io::ArrayFile& expected) {
  return Test(loaded, expected).results();
}

std::string summary_of(const std::vector<StageResult>& results) {
  std::vector<std::string> problems;
  const StageResult* worst = nullptr;
  for (const StageResult& each : results) {
    if (!each.problem.empty())
      problems.push_back(concat(each.stage, ' ', each.problem));
    else if (!each.passed())
      problems.push_back(concat(each.stage, ": difference ", each.difference, ", allowed ", each.allowed));
    else if (!worst || each.difference > worst->difference)
      worst = &each;
  }
  if (results.empty()) return "failed: the file has no stage to compare";
  if (!problems.empty()) return "failed: " + joined(problems, "; ");
  return concat("passed, ", results.size(), " stages, largest difference ", worst->difference, " in ",
                worst->stage);
}

}  // namespace heed
