// Applies --trace, --patch and the other edits to a tool's passes: for each frame, values are recorded and
// edited, and the trace is written.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/range.h"
#include "inspect/edits.h"
#include "inspect/trace.h"
#include "models/model_file.h"
#include "models/shards.h"

namespace heed {

struct InspectionConfig {
  std::string trace;  ///< the file; empty: no trace
  std::vector<std::string> filters;
  std::int64_t top = 0;
  bool list = false;  ///< print the names and do nothing else
  EditConfig edits;

  /// Declares the options of a tool (lib/cli).
  template <class Tool>
  void declare(Tool& tool, bool with_top = false) {
    tool.option("--trace FILE", trace, "store every named value of the pass in this file");
    tool.option("--trace-filter GLOB", filters,
                "trace only values with matching names; * stays within a level, ** crosses them; repeatable");
    if (with_top)
      tool.option("--trace-top", top, "keep only the N most likely words of logits and probabilities; 0: all",
                  between(0, 10'000'000));
    tool.option("--trace-list", list, "print the names and dimensions of the values and exit");
    tool.option("--patch NAME=FILE[:DATASET][@SENTENCE,POSITION,HEAD]", edits.patch,
                "replace a value, or all that a glob matches, from a file such as a trace, before anything "
                "is computed from it");
    tool.writes({"trace"});
    tool.addresses({"patch"});
    tool.option("--scale NAME[@HEAD]=X", edits.scale,
                "multiply a value, or all that a glob matches; @SENTENCE,POSITION,HEAD selects a part, * "
                "selects all");
    tool.option("--ablate NAME[@HEAD]", edits.ablate, "set a value to zero");
    tool.option("--ablate-mean NAME[@HEAD]", edits.ablate_mean,
                "replace a value by its mean over the sentence");
    tool.option("--noise NAME[@HEAD]=DEVIATION", edits.noise, "add normal noise to a value");
  }
  bool active() const { return !trace.empty() || !edits.empty(); }
  /// Whether the whole model must run, whatever the tool: a pass through it determines the names of its
  /// values.
  bool needs_names() const { return list || active(); }
};

class Inspection {
 public:
  /// Throws UsageError on names that the stages do not compute.
  Inspection(const InspectionConfig& config, const LoadedModel& loaded, const Stages& stages,
             const io::WriteOptions& write, std::uint64_t seed);

  bool traces() const { return trace_.has_value(); }
  bool edits() const { return !edits_.empty(); }
  void expect_search() { edits_.expect_search(); }

  /// Begins the next frame of the input, whose sentences have these rows on that side.
  void begin(const TensorMap& frame, const Packing& rows, Side side = Side::source);
  /// Throws Error unless patches are as long as these given translations.
  void expect_targets(const std::vector<std::vector<std::int32_t>>& targets) const;
  /// From now on passes are traced; `targets`: the tokens that the decoder produces.
  void start_trace(const std::vector<std::vector<std::int32_t>>& targets = {});
  /// Writes the frame's trace.
  void end(const TensorMap& frame);
  /// Throws Error if an edit's sentence was not in the input.
  void finish();

 private:
  friend class InspectedPass;

  const LoadedModel& loaded_;
  std::vector<NamedValue> values_;  ///< the values that can be recorded and edited
  Edits edits_;
  bool has_begun_ = false;
  std::optional<TraceWriter> trace_;
  TraceFrame::Sides sides_;
  std::optional<TraceFrame> frame_;
};

/// A pass over sentences of the frame: sentence i is sentence sentences[i]. `inspection` may be null.
class InspectedPass : public InferencePass {
 public:
  InspectedPass(const Model<float>& model, Inspection* inspection, std::vector<std::int64_t> sentences,
                Recording<float>::Wanted also = {});
  /// Adds the recorded values to the frame's trace.
  void keep();
  const Recording<float>& recorded() const { return recording_; }

 private:
  TraceFrame* trace_;
  std::vector<std::int64_t> sentences_;
  Recording<float> recording_;
  std::optional<FrameEditor> own_editor_;
};

/// The names and dimensions of the values that the stages compute, a line each.
std::string value_list(const InspectionConfig& config, const Model<float>& model, const Stages& stages);

}  // namespace heed
