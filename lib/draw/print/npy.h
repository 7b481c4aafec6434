// Arrays for numpy.load: the format NPY 1.0.
#pragma once

#include <string>

#include "tensor/tensor_map.h"

namespace heed::draw {

/// The bytes of an .npy file: C order, little-endian, the tensor's own type; text as NumPy's fixed-width
/// Unicode (<U), in which invalid bytes become U+FFFD. No pickle is needed to read it.
std::string npy(const Tensor& tensor);

}  // namespace heed::draw
