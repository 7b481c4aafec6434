// The checksums of chunks that HDF5 itself writes and verifies: its own function sums word by word and took a tenth
// of encode's time. The linker's --wrap (CMakeLists.txt) puts ours, which sums words side by side, in its place. Without
// it, files are the same and tools slower.
#include <cstddef>
#include <cstdint>

#include "io/fletcher32.h"

extern "C" [[gnu::visibility("hidden")]] std::uint32_t __wrap_H5_checksum_fletcher32(const void* data,
                                                                                     std::size_t size) {
  return heed::io::fletcher32({static_cast<const std::byte*>(data), size});
}
