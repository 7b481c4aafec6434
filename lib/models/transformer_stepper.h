// Decoding with a key/value cache: each step computes one row per hypothesis; the keys and values of earlier
// steps and of the memory are kept. Hypotheses that share a past share its rows: each keeps a list of the
// rows of its own past, so that reordering a beam copies indices, never keys.
#pragma once

#include <memory>
#include <vector>

#include "models/transformer.h"
#include "tensor/attention_edit.h"

namespace heed {

template <class T>
class TransformerStepper final : public Stepper<T> {
 public:
  TransformerStepper(const Transformer<T>& model, const Encoded<T>& memory, const Editor<T>* editor);
  Matrix<const T> step(std::span<const std::int32_t> tokens, std::span<const std::int64_t> parents) override;

 private:
  void inherit(std::span<const std::int64_t> parents);
  Var<T> attend_past(const Scope<T>& scope, Var<T> x, std::size_t layer);
  Var<T> attend_memory(const Scope<T>& scope, Var<T> x, std::size_t layer);
  Var<T> project(const Scope<T>& scope, Var<T> context) const;
  Var<T> name_heads(const Scope<T>& scope, const std::string& name, Var<T> v) const;
  /// What changes the attention rows of hypotheses `first`, `first` + 1, ... in one head.
  RowEdit<T> edit_of(const AttentionEdit<T>& edit, std::int64_t first, std::int64_t head) const;

  const Transformer<T>& model_;
  Packing source_rows_;
  Tape<T> tape_;
  Pass<T> pass_;
  /// Per layer: keys and values of the memory side by side [source rows, 2 d].
  std::vector<std::vector<T>> memory_;
  /// Per layer and step: keys and values side by side [hypotheses at that step, 2 d].
  std::vector<std::vector<std::vector<T>>> past_;
  std::int64_t steps_ = 0;
  /// Of each hypothesis alive: its sentence, and its row at every step so far [hypotheses, steps_].
  std::vector<std::int64_t> sentence_;
  std::vector<std::int32_t> rows_;
};

}  // namespace heed
