// Decoding with RNNsearch: a hypothesis is its sentence and its state s_i.
#pragma once

#include <vector>

#include "models/bahdanau.h"

namespace heed {

template <class T>
class BahdanauStepper final : public Stepper<T> {
 public:
  BahdanauStepper(const Bahdanau<T>& model, const Encoded<T>& memory, const Editor<T>* editor);
  Matrix<const T> step(std::span<const std::int32_t> tokens, std::span<const std::int64_t> parents) override;

 private:
  const Bahdanau<T>& model_;
  Packing source_rows_;
  Tape<T> tape_;
  Pass<T> pass_;
  std::vector<T> h_, u_a_h_;             ///< of Annotations
  std::vector<T> states_;                ///< of the hypotheses of the last step [n, state width]
  std::vector<std::int64_t> sentences_;  ///< theirs
  std::int64_t steps_ = 0;
};

}  // namespace heed
