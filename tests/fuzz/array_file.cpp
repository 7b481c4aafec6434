// Fuzzes a reader of arrays: any bytes are an Error or arrays of the shapes that the header says, never a crash.
// Built once for each format (CMakeLists.txt), run by scripts/torture.
#include "io/foreign/array_file.h"

#include "base/error.h"
#include "fuzz/input.h"
#include "io/foreign/npy.h"
#include "io/foreign/picture.h"
#include "io/foreign/safetensors.h"
#include "io/foreign/torch_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace heed;
  const FuzzedFile input(bytes, size);
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
