#include "base/shape.h"

#include "base/error.h"

namespace heed {

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (std::int64_t size : shape) {
    if (size < 0) fail("shape ", to_string(shape), " has a negative size");
    if (__builtin_mul_overflow(count, size, &count)) fail("shape ", to_string(shape), " is too large");
  }
  return count;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i) text += ", ";
    text += shape[i] == -1 ? "any" : std::to_string(shape[i]);
  }
  return text + "]";
}

void expect_shape(const std::string& name, const Shape& got, const Shape& wanted, const std::string& why) {
  bool same = got.size() == wanted.size();
  for (std::size_t i = 0; same && i < got.size(); ++i) same = wanted[i] == -1 || wanted[i] == got[i];
  if (!same)
    fail(name, ": shape ", to_string(got), ", wanted ", to_string(wanted),
         why.empty() ? "" : " (" + why + ")");
}

}  // namespace heed
