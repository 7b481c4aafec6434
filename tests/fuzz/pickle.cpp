// Fuzzes the reader of PyTorch's pickles, which in a checkpoint stand behind a checksum: any bytes are an
// Error or tensors within their storages.
#include "base/error.h"
#include "io/foreign/state_dict.h"

#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace heed;
  try {
    const std::string_view pickle(reinterpret_cast<const char*>(bytes), size);
    for (const io::PickledTensor& tensor : io::read_state_dict(pickle, "pickle"))
      if (element_count(tensor.shape) > tensor.elements - tensor.offset || tensor.name.empty()) std::abort();
  } catch (const Error&) {
  }
  return 0;
}
