// Fuzzes a reader of arrays: any bytes are an Error or arrays of the shapes that the header says, never a
// crash. Built once for each format (CMakeLists.txt), run by scripts/torture.
#include "io/foreign/array_file.h"

#include <type_traits>

#include "base/error.h"
#include "fuzz/input.h"
#include "io/foreign/npy.h"
#include "io/foreign/picture.h"
#include "io/foreign/safetensors.h"
#include "io/foreign/torch_file.h"
#include "io/foreign/zip_file.h"

namespace {

/// NumPy's and PyTorch's archives are opened with their directory, by which they are told apart.
template <class Open>
auto opened(Open open, const std::string& path) {
  if constexpr (std::is_invocable_v<Open, const std::string&>) {
    return open(path);
  } else {
    heed::io::SeekableFile file(path);
    auto members = heed::io::read_zip_directory(file);
    return open(std::move(file), std::move(members));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace heed;
  const FuzzedFile input(bytes, size);
  try {
    const auto file = opened(io::HEED_FUZZED, input.path());
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
