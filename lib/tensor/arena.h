// Memory of one forward and backward pass: allocation bumps a pointer; reset() releases everything at once,
// rewind() what came after a mark. The memory is kept for what comes next.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tensor/matrix.h"

namespace heed {

class Arena {
 public:
  /// Uninitialised, aligned to 64 bytes.
  template <class T>
  T* allocate(std::int64_t count) {
    return static_cast<T*>(bytes(static_cast<std::size_t>(count) * sizeof(T)));
  }
  /// Dense and uninitialised.
  template <class T>
  Matrix<T> matrix(std::int64_t rows, std::int64_t cols) {
    return {allocate<T>(rows * cols), rows, cols};
  }
  /// A copy.
  template <class T>
  std::span<const T> keep(std::span<const T> values) {
    T* copy = allocate<T>(static_cast<std::int64_t>(values.size()));
    std::copy(values.begin(), values.end(), copy);
    return {copy, values.size()};
  }
  void reset();
  /// Call it before the first allocation (later it does nothing): the next `count` bytes will lie together, in huge
  /// pages if there are many. What is never allocated takes addresses, but no memory.
  void reserve(std::size_t count);

  /// How far the arena is filled.
  struct Mark {
    std::size_t chunk = 0, used = 0, total = 0;
  };
  Mark mark() const { return {chunk_, used_, total_}; }
  /// Releases what was allocated since the mark, which must have been taken after the last reset(). Until the next
  /// allocation it can still be read.
  void rewind(const Mark& mark);

 private:
  struct Free {
    void operator()(std::byte* p) const;
  };
  struct Chunk {
    std::unique_ptr<std::byte, Free> data;
    std::size_t size;
  };
  void* bytes(std::size_t count);
  void add_chunk(std::size_t size);

  std::vector<Chunk> chunks_;
  std::size_t chunk_ = 0;  ///< the chunk being filled
  std::size_t used_ = 0;   ///< bytes used of it
  std::size_t total_ = 0;  ///< bytes handed out since reset() and not released
  std::size_t most_ = 0;   ///< the largest total_ that was rewound
};

}  // namespace heed
