// Debian's archive of HDF5 is compiled for programs, whose code reaches the C library's streams directly. Code of a shared
// library cannot: there they are found through pointers of its own, by the linker's --wrap (CMakeLists.txt).
#include <cstdio>

extern "C" {

extern FILE *__real_stdin, *__real_stdout, *__real_stderr;

[[gnu::visibility("hidden")]] FILE* __wrap_stdin = __real_stdin;
[[gnu::visibility("hidden")]] FILE* __wrap_stdout = __real_stdout;
[[gnu::visibility("hidden")]] FILE* __wrap_stderr = __real_stderr;

}  // extern "C"
