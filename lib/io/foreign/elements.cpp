#include "io/foreign/elements.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/bfloat16.h"
#include "base/error.h"

namespace heed::io {
namespace {

static_assert(std::endian::native == std::endian::little);

struct Half {
  std::uint16_t bits;
};
struct BFloat16 {
  std::uint16_t bits;
};
struct Boolean {
  std::uint8_t byte;
};

template <class T>
void swap_bytes(std::span<T> values) {
  for (auto bytes = std::as_writable_bytes(values); !bytes.empty(); bytes = bytes.subspan(sizeof(T)))
    std::ranges::reverse(bytes.first(sizeof(T)));
}

template <class To, class From>
To widened(From value, const std::string& where) {
  if constexpr (std::is_same_v<From, Half>) {
    return from_half(value.bits);
  } else if constexpr (std::is_same_v<From, BFloat16>) {
    return from_bfloat16(value.bits);
  } else if constexpr (std::is_same_v<From, Boolean>) {
    if (value.byte > 1) fail(where, ": a bool of value ", int{value.byte}, ", wanted 0 or 1");
    return value.byte;
  } else {
    if constexpr (std::is_same_v<From, std::uint64_t>) {
      if (value > INT64_MAX) fail(where, ": holds ", value, ", more than a 64-bit signed integer can");
    }
    return static_cast<To>(value);
  }
}

/// Elements of type From as a tensor of To, which holds each of them exactly.
template <class From, class To>
Tensor read_as(const Shape& shape, bool swapped, const NextBytes& next, const std::string& where) {
  std::vector<To> values(static_cast<std::size_t>(element_count(shape)));
  if constexpr (std::is_same_v<From, To>) {
    next(std::as_writable_bytes(std::span(values)));
    if (swapped) swap_bytes(std::span(values));
  } else {
    std::vector<From> stored(std::min<std::size_t>(values.size(), 1 << 14));
    for (std::size_t at = 0; at < values.size(); at += stored.size()) {
      const std::span part = std::span(stored).first(std::min(stored.size(), values.size() - at));
      next(std::as_writable_bytes(part));
      if (swapped) swap_bytes(part);
      std::ranges::transform(part, values.begin() + static_cast<std::ptrdiff_t>(at),
                             [&](From value) { return widened<To>(value, where); });
    }
  }
  Tensor tensor = Tensor::of(std::move(values), shape);
  if (std::is_same_v<From, Boolean>) tensor.attributes["dtype"] = "bool";
  return tensor;
}

// The integers as HDF5's are read: the narrowest of our types that holds every value.
constexpr ElementKind kKinds[] = {
    {"float32", "F32", "f4", 32, read_as<float, float>},
    {"float64", "F64", "f8", 64, read_as<double, double>},
    {"int32", "I32", "i4", 32, read_as<std::int32_t, std::int32_t>},
    {"int64", "I64", "i8", 64, read_as<std::int64_t, std::int64_t>},
    {"uint8", "U8", "u1", 8, read_as<std::uint8_t, std::uint8_t>},
    {"bool", "BOOL", "b1", 8, read_as<Boolean, std::uint8_t>},
    {"float16", "F16", "f2", 16, read_as<Half, float>},
    {"bfloat16", "BF16", "", 16, read_as<BFloat16, float>},
    {"int8", "I8", "i1", 8, read_as<std::int8_t, std::int32_t>},
    {"int16", "I16", "i2", 16, read_as<std::int16_t, std::int32_t>},
    {"uint16", "U16", "u2", 16, read_as<std::uint16_t, std::int32_t>},
    {"uint32", "U32", "u4", 32, read_as<std::uint32_t, std::int64_t>},
    {"uint64", "U64", "u8", 64, read_as<std::uint64_t, std::int64_t>},
    {"complex64", "C64", "c8", 64, nullptr},
    {"complex128", "", "c16", 128, nullptr},
    {"F8_E4M3", "F8_E4M3", "", 8, nullptr},
    {"F8_E5M2", "F8_E5M2", "", 8, nullptr},
    {"F8_E8M0", "F8_E8M0", "", 8, nullptr},
    {"F8_E4M3FNUZ", "F8_E4M3FNUZ", "", 8, nullptr},
    {"F8_E5M2FNUZ", "F8_E5M2FNUZ", "", 8, nullptr},
    {"F4", "F4", "", 4, nullptr},
    {"F6_E2M3", "F6_E2M3", "", 6, nullptr},
    {"F6_E3M2", "F6_E3M2", "", 6, nullptr},
};

const ElementKind* find_kind(const char* ElementKind::*word, std::string_view wanted) {
  if (wanted.empty()) return nullptr;
  const auto* found = std::ranges::find_if(kKinds, [&](const ElementKind& k) { return k.*word == wanted; });
  return found == std::end(kKinds) ? nullptr : found;
}

/// The bits above `drop` of `bits`, rounded to nearest, ties to even.
std::uint32_t rounded_shift(std::uint32_t bits, int drop) {
  const std::uint32_t half = 1u << (drop - 1), odd = bits >> drop & 1;
  return (bits + half - 1 + odd) >> drop;
}

}  // namespace

const ElementKind* element_kind_of_safetensors(std::string_view dtype) {
  return find_kind(&ElementKind::safetensors, dtype);
}

const ElementKind* element_kind_of_numpy(std::string_view code) {
  return find_kind(&ElementKind::numpy, code);
}

bool count_bits(const Shape& shape, int bits, std::uint64_t& total) {
  // Sizes are multiplied before a zero makes the product small: every shape must be plausible as a whole.
  std::int64_t product = bits;
  for (std::int64_t size : shape)
    if (size != 0 && __builtin_mul_overflow(product, size, &product)) return false;
  total = std::ranges::find(shape, 0) == shape.end() ? static_cast<std::uint64_t>(product) : 0;
  return true;
}

Tensor read_elements(const ElementKind& kind, const Shape& shape, bool swapped, const NextBytes& next,
                     const std::string& where) {
  if (!kind.read)
    fail(where, ": elements of type ", kind.name, " are not supported",
         kind.bits <= 8 ? ": a quantised checkpoint? Save it as F32, F16 or BF16" : "");
  return kind.read(shape, swapped, next, where);
}

Tensor in_c_order(const Tensor& tensor, const Shape& shape) {
  return with_type(tensor.dtype(), [&]<class T>(T) {
    const std::span<const T> from = tensor.values<T>();
    std::vector<T> to(from.size());
    Shape index(shape.size()), stride(shape.size());
    std::int64_t step = 1;
    for (std::size_t axis = 0; axis < shape.size(); step *= shape[axis++]) stride[axis] = step;
    std::int64_t at = 0;  // in `from`, of the element `index`
    for (T& value : to) {
      value = from[static_cast<std::size_t>(at)];
      for (std::size_t axis = shape.size(); axis-- > 0;) {
        at += stride[axis];
        if (++index[axis] < shape[axis]) break;
        at -= shape[axis] * stride[axis];
        index[axis] = 0;
      }
    }
    Tensor result = Tensor::of(std::move(to), shape);
    result.attributes = tensor.attributes;
    return result;
  });
}

float from_half(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000u) << 16, exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | fraction << 13);
  if (exponent == 0) return std::copysign(std::ldexp(static_cast<float>(fraction), -24), sign ? -1.0f : 1.0f);
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

std::uint16_t to_half(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<std::uint16_t>(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  std::uint32_t half = 0x7c00;   // infinity, also for what rounds beyond 65504
  if (magnitude < 0x38800000) {  // below 2^-14: multiples of 2^-24, which float adds exactly
    half = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(std::bit_cast<float>(magnitude), 24)));
  } else if (magnitude < 0x47800000) {
    half = rounded_shift(magnitude - (112u << 23), 13);
  }
  return static_cast<std::uint16_t>(sign | half);
}

}  // namespace heed::io
