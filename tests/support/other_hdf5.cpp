// Preloaded into a program (LD_PRELOAD), is an HDF5 library of another version than the program was built for.
#include <H5public.h>

extern "C" herr_t H5get_libversion(unsigned* major, unsigned* minor, unsigned* release) {
  *major = *minor = *release = 9;
  return 0;
}
