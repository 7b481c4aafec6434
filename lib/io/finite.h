// Check of input tensors for NaN and infinity.
#pragma once

#include <string>

#include "tensor/tensor_map.h"

namespace heed::io {

/// Throws Error "<name>[0, 3, 17] = nan" for the first value that is not finite. Integers and strings pass.
void expect_finite(const std::string& name, const Tensor& tensor);
/// Likewise of a tensor whose first dimension counts sentences: throws SentenceError.
void expect_finite_sentences(const std::string& name, const Tensor& tensor);

}  // namespace heed::io
