// Preloaded into a program (LD_PRELOAD), lets allocations fail as if memory had run out.
//   HEED_FAIL_MALLOC=N    the N-th since the start of main(), in each process: one that was started by fork
//                         counts on from its parent's number; 0: none
//   HEED_FAIL_MALLOC=N+   also all that come after it
//   HEED_MALLOC_COUNT=F   the file F gets their number when the program ends
#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
}

namespace {

std::atomic<bool> in_main{false};  // before it, a library's constructors may end the program as they like
std::atomic<long> made{0};

struct Failing {
  long from = 0, to = 0;  ///< from 1; 0: none

  Failing() {
    const char* text = std::getenv("HEED_FAIL_MALLOC");
    if (!text) return;
    char* end = nullptr;
    from = to = std::strtol(text, &end, 10);
    if (*end == '+') to = LONG_MAX;
  }
};

bool fails() {
  if (!in_main) return false;
  static const Failing failing;
  const long number = ++made;
  if (number < failing.from || number > failing.to) return false;
  errno = ENOMEM;
  return true;
}

[[gnu::destructor]] void tell_count() {
  const char* path = std::getenv("HEED_MALLOC_COUNT");
  const long count = made;
  if (FILE* file = path ? std::fopen(path, "w") : nullptr) {
    std::fprintf(file, "%ld\n", count);
    std::fclose(file);
  }
}

}  // namespace

extern "C" {

/// glibc's, which the start code calls once all libraries are ready.
int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*loader_fini)(), void* stack_end) {
  using Start = int (*)(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(), void (*)(), void*);
  const auto start = reinterpret_cast<Start>(dlsym(RTLD_NEXT, "__libc_start_main"));
  in_main = true;
  return start(main, argc, argv, init, fini, loader_fini, stack_end);
}

void* malloc(std::size_t size) {
  return fails() ? nullptr : __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  return fails() ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  return fails() ? nullptr : __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return fails() ? nullptr : __libc_memalign(alignment, size);
}
void* memalign(std::size_t alignment, std::size_t size) {
  return fails() ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** made_at, std::size_t alignment, std::size_t size) {
  if (fails()) return ENOMEM;
  *made_at = __libc_memalign(alignment, size);
  return *made_at ? 0 : ENOMEM;
}
}
