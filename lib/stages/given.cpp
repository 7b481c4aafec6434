#include "stages/given.h"

#include <utility>

namespace heed {

Var<float> named_embeddings(Pass<float>& pass, Var<float> embedded, const Packing& rows) {
  return (Scope<float>(pass) / "decoder").name("embedded", embedded, rows);
}

namespace {

/// Embeddings of a prompt, followed by all but the last of the targets' tokens.
Var<float> continued(InferencePass& pass, const Model<float>& model, const Encoded<float>& prompt,
                     const PackedTokens& targets, Packing& rows) {
  PackedTokens read;
  std::vector<std::int64_t> sentences, lengths;
  std::vector<RowOf> order;
  for (std::int64_t s = 0; s < targets.rows.sentences(); ++s) {
    const std::int64_t count = targets.rows.length(s) - 1, before = prompt.rows->length(s);
    for (std::int64_t i = 0; i < before; ++i) order.push_back({0, prompt.rows->offset(s) + i});
    for (std::int64_t i = 0; i < count; ++i) order.push_back({1, read.rows.rows() + i});
    read.append(
        std::span(targets.ids)
            .subspan(static_cast<std::size_t>(targets.rows.offset(s)), static_cast<std::size_t>(count)));
    rows.append(before + count);
    sentences.push_back(s);
    lengths.push_back(before);
  }
  Recorder<float>* const recorder = std::exchange(pass.recorder, nullptr);  // the whole is named, not its end
  const Editor<float>* const editor = std::exchange(pass.editor, nullptr);
  const Var<float> tail = model.decoder->embed(pass, read, {sentences, lengths});
  pass.recorder = recorder;
  pass.editor = editor;
  return select_rows<float>({prompt.states, tail}, order);
}

/// The rows of each sentence that `rows` has: all, or all but the last, which nothing is known to follow.
Var<float> beginnings(const Encoded<float>& input, const Packing& rows) {
  std::vector<RowOf> order;
  for (std::int64_t s = 0; s < rows.sentences(); ++s)
    for (std::int64_t i = 0; i < rows.length(s); ++i) order.push_back({0, input.rows->offset(s) + i});
  return std::cmp_equal(order.size(), input.rows->rows()) ? input.states
                                                          : select_rows<float>({input.states}, order);
}

}  // namespace

Given read_given(InferencePass& pass, const Model<float>& model, const Encoded<float>& input,
                 const PackedTokens& targets, const std::vector<SampleStream>& sampled, bool whole_text) {
  Given given;
  if (model.encoder) {
    given.rows = targets.rows;
    given.states = model.decode(pass, &input, targets, sampled).states;
  } else {
    if (whole_text) given.rows = targets.rows;
    const Var<float> embedded =
        whole_text ? beginnings(input, targets.rows) : continued(pass, model, input, targets, given.rows);
    given.states =
        model.decode(pass, nullptr, named_embeddings(pass, embedded, given.rows), given.rows, sampled).states;
  }
  for (std::int64_t s = 0; s < targets.rows.sentences(); ++s) {
    for (std::int64_t i = 0; i < targets.rows.length(s); ++i)
      given.last.push_back({0, given.rows.offset(s + 1) - targets.rows.length(s) + i});
  }
  return given;
}

}  // namespace heed
