// Fuzzes a reader of arrays: any bytes are an Error or arrays of the shapes that the header says, never a crash.
// Built once for each format (CMakeLists.txt), run by scripts/torture.
#include "io/foreign/array_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "base/error.h"
#include "io/foreign/npy.h"
#include "io/foreign/safetensors.h"

namespace {

/// A file in memory that has a path.
class File {
 public:
  File(const std::uint8_t* bytes, std::size_t size) : descriptor_(memfd_create("input", MFD_CLOEXEC)) {
    if (descriptor_ < 0 || write(descriptor_, bytes, size) != static_cast<ssize_t>(size)) std::abort();
  }
  ~File() { close(descriptor_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace heed;
  const File input(bytes, size);
  try {
    const auto file = io::HEED_FUZZED(input.path());
    for (std::size_t i = 0; i < file->arrays().size(); ++i) {
      try {
        if (file->read(i).shape() != file->arrays()[i].shape) std::abort();
      } catch (const Error&) {
      }
    }
  } catch (const Error&) {
  }
  return 0;
}
