// What the bits of a product depend on beside its operands.
#pragma once

#include <string>

namespace heed {

/// "BLIS 0.9.0 zen3 and AVX-512": version and kernels of BLIS, and the SIMD of heed's own. Processes that say
/// the same compute the same bits of each product.
std::string kernels_in_use();

}  // namespace heed
