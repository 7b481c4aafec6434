// The work of `decode`: reads the input of a model's last part, translates, continues, classifies or scores,
// and writes text, tensors and attention.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "decode/search.h"
#include "inspect/inspection.h"
#include "inspect/saliency.h"
#include "models/model_file.h"
#include "models/search_settings.h"
#include "stages/frames.h"
#include "tensor/padding.h"

namespace heed {

inline const std::vector<std::string> kDecodeFormats{"text", "h5"};

struct DecodeConfig {
  std::string format = "text";
  std::int64_t beam = SearchSettings{}.beam;
  std::int64_t n_best = 1;
  double length_penalty = SearchSettings{}.length_penalty;
  std::int64_t max_length = SearchSettings{}.max_length;
  std::string language;
  bool sample = false;
  double temperature = 1;
  std::int64_t top_k = 0;
  double top_p = 1;
  bool align = false;
  std::int64_t align_layer = -1;
  std::string align_head = "mean";
  std::int64_t batch = 64;
  bool allow_nonfinite = false;
  std::string precision = kPrecisions.front();

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("format", self.format, "text lines, or /hypotheses as HDF5", kDecodeFormats);
    field("beam", self.beam,
          "hypotheses kept per sentence; 1 is greedy. Imported models may have another default",
          up_to(kWidestBeam));
    field("n_best", self.n_best,
          "number of results per sentence, best first, those cut at --max-length last: translations, "
          "continuations, labels (default: all), or pieces per mask",
          up_to(kWidestBeam));
    field("length_penalty", self.length_penalty,
          "scores are divided by length^X; 0: no penalty. Imported models may have another default",
          between(-10, 10));
    field("max_length", self.max_length,
          "maximal number of new tokens; 0: twice the source length plus 20, or 50 after a prompt. Imported "
          "models may have another default",
          between(0, 1'000'000));
    field("language", self.language,
          "translate into this language (fra_Latn, fr_XX, fr), for models of many languages such as "
          "NLLB-200, mBART and M2M-100; the default is that of the model's folder");
    field("sample", self.sample, "draw from the model's distribution instead of searching");
    field("temperature", self.temperature, "divides the logits when sampling", above(0));
    field("top_k", self.top_k, "sample only among the N most likely words; 0: all", between(0, 10'000'000));
    field("top_p", self.top_p, "sample only among the most likely words that together have probability X",
          above_to(0, 1));
    field("align", self.align,
          "write word alignments (Pharaoh: source-target, from 0) instead of the translations");
    field("align_layer", self.align_layer,
          "decoder layer to read alignments from; -1: the penultimate, or for the best head all",
          between(-1, 1'000));
    field("align_head", self.align_head,
          "mean over the layer's heads, a head (from 0), or best: chosen by --align-gold");
    field("batch", self.batch,
          "sentences per frame when INPUT is a file. If only lines are written, a Transformer reads further "
          "ahead and searches at most N of similar length together; the output order is unchanged",
          up_to(1'000'000));
    field("allow_nonfinite", self.allow_nonfinite, kAllowNonfinite);
    field("precision", self.precision, kPrecisionHelp, kPrecisions);
  }
  /// Throws UsageError if more results are requested than a search can give.
  void check_search() const;
};

struct DecodePaths {
  std::vector<std::string> input{"-"};  ///< read one after the other
  std::string output = "-";
  std::vector<std::string> models;  ///< the first reads the input, the others its /tokens
  std::string keep;        ///< a file for the tensors of --format h5, whatever is written; empty: none
  std::string force;       ///< translations to score instead of searching; empty: search
  std::string prefix;      ///< forced beginnings of translations; empty: none
  std::string attention;   ///< output of the attention; empty: none
  std::string saliency;    ///< output of the saliency; empty: none
  std::string lens;        ///< output of the logit lens; empty: none
  std::string align_gold;  ///< gold links, by which the best head is chosen
  io::WriteOptions write;  ///< for every written file
};

/// What to record, edit and attribute while decoding.
struct DecodeInspection {
  InspectionConfig values;
  SaliencyConfig saliency;
  bool times_ops = false;  ///< report at the end the time of the searches by operation
};

/// For an encoder alone, writes prediction_text or prediction_map (stages/predict.h); with --align, a line
/// "0-0 1-2 2-1" per sentence; otherwise translated_text, scored_text or hypothesis_map (stages/results.h).
/// Saliency and traces belong to the given or the best translation. `inspect` applies to the forced pass over
/// that translation; edits also act in the search. `given` tells which options were given: those without
/// effect are refused.
void run_decode(const DecodeConfig& config, const DecodePaths& paths, const DecodeInspection& inspect,
                std::uint64_t seed, int threads, const std::function<bool(const std::string& option)>& given);
/// What a decoding pass computes.
Stages decoder_stages(const Model<float>& model);

}  // namespace heed
