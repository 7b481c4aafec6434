// Marian's binary models (marian-conv writes them; Bergamot, Firefox Translations and translateLocally ship them),
// little-endian:
//   u64 1, the version; u64 n, the number of arrays
//   n times four u64: the bytes of the name, its NUL included; type; number of dimensions; bytes of the values
//   the names, the dimensions (i32), one u64 and as many bytes of padding, the values, to the end of the file
// Values may be followed by padding. A type is a class and the bytes of an element: 0x100 signed, 0x200 unsigned, 0x400
// float; 0x4000 with a signed type are integers for the library intgemm: q with one factor, a float behind them all,
// stand for q times 1 / factor, each rounded to float32. Such a matrix is stored transposed, a table of embeddings ("Wemb" in its name) is not.
// Matrices laid out for one kind of processor (intgemm's and fbgemm's packed types) are not read.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "io/foreign/array_file.h"

namespace heed::io {

/// Whether a file that begins with these bytes, at least 8, has this format.
bool is_marian_binary(std::string_view head);
/// intgemm's integers are read as float32. Throws Error if the file `path` is invalid.
std::unique_ptr<ArrayFile> open_marian_binary(const std::string& path);

}  // namespace heed::io
