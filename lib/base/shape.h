// Shapes: sizes of the axes of a tensor, outermost first, row-major.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace heed {

using Shape = std::vector<std::int64_t>;

/// Product of the sizes; 1 for rank 0. Throws Error when a size is negative or the product overflows.
std::int64_t element_count(const Shape& shape);

/// "[2, 3, 5]"
std::string to_string(const Shape& shape);

/// Throws Error "<name>: shape [5, 12], wanted [5, 128]" unless they are equal; a wanted size of
/// -1 matches any. `why` is added in parentheses: where a wanted size comes from.
void expect_shape(const std::string& name, const Shape& got, const Shape& wanted,
                  const std::string& why = {});

}  // namespace heed
