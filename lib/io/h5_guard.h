// Validation of HDF5 files before the HDF5 library acts on their content; every tool reads through it.
// Accepted: hard links; groups and datasets; compact, contiguous and chunked storage within the file; the
// filters shuffle, deflate and fletcher32, each at most once; float16/32/64, integers of up to 64 bits,
// boolean enumerations and strings; at most 8 dimensions. Rejected without access to the target: soft,
// external and user-defined links, external and virtual storage, filter plugins, references, compounds. A
// small file cannot claim much memory. This reduces the attack surface; it does not make HDF5 1.10 safe for
// every crafted file. Internal to lib/io.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "io/h5_handle.h"
#include "tensor/tensor_map.h"

namespace heed::io {

/// Limits the number of decoded bytes to the most that the stored size plausibly decompresses to (64:1) and
/// to the memory of the machine.
class ByteBudget {
 public:
  /// `stored`: size of the file or image in bytes.
  explicit ByteBudget(std::uint64_t stored);
  /// Throws Error "<what>: needs ... bytes" if `bytes` more would exceed the budget.
  void take(std::int64_t bytes, const std::string& what);
  /// Variable-length strings are stored uncompressed, so their text cannot exceed the size of the file.
  void take_text(std::int64_t bytes, const std::string& what);
  void reset() { used_ = text_used_ = 0; }
  std::int64_t left() const { return most_ - used_; }
  std::int64_t text_left() const { return std::min(left(), text_most_ - text_used_); }

 private:
  std::int64_t most_;
  std::int64_t text_most_;
  std::int64_t used_ = 0;
  std::int64_t text_used_ = 0;
  bool by_stored_;
};

/// A validated dataset.
struct CheckedDataset {
  Handle id;
  Shape shape;
  DType dtype;
  std::int64_t item_bytes;  ///< decoded, per element; for strings without their text
  bool is_bool = false;     ///< an enumeration FALSE, TRUE: read as uint8
  bool is_fixed_string = false;
  std::vector<H5Z_filter_t> filters = {};  ///< in the order in which they were applied
  Shape chunk = {};                        ///< empty: not chunked
};

/// Validates a dataset before anything is read from it. `where` is for messages.
CheckedDataset open_checked(Handle dataset, const std::string& where, const ByteBudget& budget);

/// Calls `visit(name, kind, object)` for each object of `group` for which `wanted` holds, in the order of
/// names; hard links only.
void for_each_object(
    hid_t group, const std::string& where, const std::function<bool(const std::string& name)>& wanted,
    const std::function<void(const std::string& name, H5I_type_t kind, Handle object)>& visit);

}  // namespace heed::io
