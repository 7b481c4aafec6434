// Linked into each tool itself, not into the library, so that every allocation of the process comes here. If
// one fails in a C library, the tool ends with one line and status 1, because few of these handle it:
// fontconfig, FreeType and HarfBuzz silently draw another picture, HDF5 corrupts its heap, GLib and BLIS
// abort with messages of their own. C++ code, ours and that of libraries, gets its std::bad_alloc. A
// preloaded allocator works as usual.
#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>

#include "cli/signals.h"

#if !defined(__SANITIZE_ADDRESS__)  // which brings an allocator of its own
#if !__GLIBC_PREREQ(2, 34)
#error "before 2.34 dlsym() allocates, and would come back here"
#endif
namespace {

/// The function of that name that would have been called. To find it allocates nothing (glibc 2.34 and
/// later).
template <class Result, class... Arguments>
class Next {
 public:
  explicit constexpr Next(const char* name) : name_(name) {}
  Result operator()(Arguments... arguments) {
    Function* function = function_.load(std::memory_order_relaxed);
    if (!function) {
      function = reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name_));
      function_.store(function, std::memory_order_relaxed);
    }
    return function(arguments...);
  }

 private:
  using Function = Result(Arguments...);
  const char* name_;
  std::atomic<Function*> function_{nullptr};
};

constinit Next<void*, std::size_t> next_malloc("malloc");
constinit Next<void*, std::size_t, std::size_t> next_calloc("calloc");
constinit Next<void*, void*, std::size_t> next_realloc("realloc");
constinit Next<void*, std::size_t, std::size_t> next_aligned_alloc("aligned_alloc");
constinit Next<void*, std::size_t, std::size_t> next_memalign("memalign");
constinit Next<int, void**, std::size_t, std::size_t> next_posix_memalign("posix_memalign");

void* or_end(void* made, std::size_t size) {
  if (!made && size > 0 && errno == ENOMEM) heed::cli::end_without_memory();
  return made;
}

template <class Allocate>
void* or_throw(const Allocate& allocate) {
  while (true) {
    if (void* made = allocate()) return made;
    const std::new_handler handler = std::get_new_handler();
    if (!handler) throw std::bad_alloc();
    handler();
  }
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) noexcept {
  return or_end(next_malloc(size), size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  return or_end(next_calloc(count, size), count > 0 ? size : 0);
}
void* realloc(void* old, std::size_t size) noexcept {
  return or_end(next_realloc(old, size), size);  // null for no bytes: `old` was freed
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  return or_end(next_aligned_alloc(alignment, size), size);
}
void* memalign(std::size_t alignment, std::size_t size) noexcept {
  return or_end(next_memalign(alignment, size), size);
}
int posix_memalign(void** made, std::size_t alignment, std::size_t size) noexcept {
  const int error = next_posix_memalign(made, alignment, size);
  if (error == ENOMEM) heed::cli::end_without_memory();
  return error;
}

}  // extern "C"

// Those of arrays and those that do not throw call these two; delete is free().
void* operator new(std::size_t size) {
  return or_throw([=] { return next_malloc(size == 0 ? 1 : size); });
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto to = static_cast<std::size_t>(alignment);
  if (size > PTRDIFF_MAX - to) throw std::bad_alloc();
  return or_throw([=] { return next_aligned_alloc(to, size == 0 ? to : (size + to - 1) / to * to); });
}
#endif
