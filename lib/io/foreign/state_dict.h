// A PyTorch state dict as pickled by torch.save: names and tensors whose values are in separate storages.
// Pickles are programs; this one is not executed. The few opcodes
// (https://docs.python.org/3/library/pickletools.html) and names of a flat dict of tensors are read as a
// table of bounded size; anything else is an error that names it. Internal to lib/io.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/shape.h"

namespace heed::io {

struct PickledTensor {
  std::string name;
  std::shared_ptr<const std::string> storage;  ///< its key; several tensors may share a storage
  const char* type = "";                       ///< of the storage, as safetensors has it: "F32"
  std::int64_t elements = 0;                   ///< of the storage
  std::int64_t offset = 0;                     ///< of the first value, in elements
  Shape shape;                                 ///< row-major, without gaps, within the storage
};

/// Larger than the pickle of any state dict.
inline constexpr std::size_t kMostPickleBytes = 4 << 20;

/// Throws Error beginning with `where`.
std::vector<PickledTensor> read_state_dict(std::string_view pickle, const std::string& where);

}  // namespace heed::io
