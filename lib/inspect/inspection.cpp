#include "inspect/inspection.h"

#include <utility>

#include "base/error.h"
#include "io/provenance.h"
#include "models/packed_states.h"

namespace heed {

namespace {

std::vector<NamedValue> names(const InspectionConfig& config, const Model<float>& model,
                              const Stages& stages) {
  if (!config.active() && !config.list) return {};
  return value_names(model, stages);
}

}  // namespace

Inspection::Inspection(const InspectionConfig& config, const LoadedModel& loaded, const Stages& stages,
                       const io::WriteOptions& write, std::uint64_t seed)
    : loaded_(loaded), values_(names(config, *loaded.model, stages)), edits_(config.edits, values_, seed) {
  if (config.trace == "-") fail<UsageError>("--trace: - is the output; name a file");
  if (config.trace.empty()) {
    if (!config.filters.empty() || config.top > 0)
      fail<UsageError>(config.top > 0 ? "--trace-top" : "--trace-filter", " needs --trace FILE");
    return;
  }
  trace_.emplace(config.trace, write, values_, config.filters, config.top);
}

void Inspection::begin(const TensorMap& frame, const Packing& rows, Side side) {
  if (!std::exchange(has_begun_, true))
    edits_.count_from(io::first_sentence_of(frame.attributes, "the input"));
  edits_.next_frame(rows.sentences());
  edits_.expect_lengths(rows, side == Side::source ? Rows::source : Rows::target);
  std::optional<Segments> segments;
  if (side == Side::source) segments = segments_of(frame, *loaded_.model, rows);
  if (segments) edits_.expect_lengths(segments->of_sentence, Rows::segments);
  if (!trace_) return;
  sides_ = {};
  sides_.source = rows;
  if (segments) sides_.segments = segments->of_sentence;
  sides_.target_tokenizer = &loaded_.target;
  sides_.reads_as_given = loaded_.model->reads_as_given;
  if (side == Side::target) {
    sides_.target = rows;
    sides_.target_tokens = pieces_of(frame, loaded_.target, rows);
  } else if (loaded_.model->encoder) {
    sides_.source_tokens = pieces_of(frame, loaded_.source, rows);
  }
}

void Inspection::expect_targets(const std::vector<std::vector<std::int32_t>>& targets) const {
  Packing rows;
  for (const auto& ids : targets) rows.append(static_cast<std::int64_t>(ids.size()));
  edits_.expect_lengths(rows, Rows::target);
}

void Inspection::start_trace(const std::vector<std::vector<std::int32_t>>& targets) {
  if (!trace_) return;
  for (const auto& ids : targets) {
    sides_.target.append(static_cast<std::int64_t>(ids.size()));
    sides_.target_tokens.push_back(loaded_.target.pieces(ids));
  }
  frame_.emplace(trace_->begin(sides_));
}

void Inspection::end(const TensorMap& frame) {
  if (!frame_) return;
  trace_->write(*frame_, frame.attributes);
  frame_.reset();
}

void Inspection::finish() {
  edits_.expect_used();
  if (trace_) trace_->finish();
}

InspectedPass::InspectedPass(const Model<float>& model, Inspection* inspection,
                             std::vector<std::int64_t> sentences, Recording<float>::Wanted also)
    : InferencePass(model),
      trace_(inspection && inspection->frame_ ? &*inspection->frame_ : nullptr),
      sentences_(std::move(sentences)),
      recording_([this, also](const std::string& name) {
        return (trace_ && trace_->wants(name)) || (also && also(name));
      }) {
  if (trace_ || also) recorder = &recording_;
  if (inspection && inspection->edits()) editor = &own_editor_.emplace(inspection->edits_, sentences_);
}

void InspectedPass::keep() {
  if (trace_) trace_->add(recording_, sentences_);
}

std::string value_list(const InspectionConfig& config, const Model<float>& model, const Stages& stages) {
  std::string text;
  for (const NamedValue& value : matching(names(config, model, stages), config.filters, "--trace-filter"))
    text += value.text() + "\n";
  return text;
}

}  // namespace heed
