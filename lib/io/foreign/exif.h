// What a camera notes beside a picture (Exif 2.32, CIPA DC-008, sections 4.5 and 4.6.4): a TIFF header and a directory of entries
// of 12 bytes, of which one is the Orientation.
#pragma once

#include <cstddef>
#include <span>

namespace heed::io {

/// How a picture is turned to be seen as it was meant: rows and columns are exchanged, after stored rows or columns were reversed.
struct Orientation {
  bool exchanged = false, rows_reversed = false, columns_reversed = false;
};

/// Of Exif data, which begins with the TIFF header. Without an entry, or with a value that means nothing, as it is stored. Throws
/// Error saying why when the directory cannot be read.
Orientation orientation_of(std::span<const std::byte> exif);

}  // namespace heed::io
