// Debian's static HDF5 library is compiled for programs, whose code accesses the C library's streams
// directly. Code in a shared library cannot: here they are accessed through its own pointers, by the linker's
// --wrap (CMakeLists.txt).
#include <cstdio>

extern "C" {

extern FILE *__real_stdin, *__real_stdout, *__real_stderr;

[[gnu::visibility("hidden")]] FILE* __wrap_stdin = __real_stdin;
[[gnu::visibility("hidden")]] FILE* __wrap_stdout = __real_stdout;
[[gnu::visibility("hidden")]] FILE* __wrap_stderr = __real_stderr;

}  // extern "C"
