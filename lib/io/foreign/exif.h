// Camera metadata in a picture (Exif 2.32, CIPA DC-008, sections 4.5 and 4.6.4): a TIFF header and a
// directory of 12-byte entries, one of which is the Orientation.
#pragma once

#include <cstddef>
#include <span>

namespace heed::io {

/// How a stored picture is turned for display: stored rows or columns are reversed, then rows and columns are
/// exchanged.
struct Orientation {
  bool exchanged = false, rows_reversed = false, columns_reversed = false;
};

/// Parses Exif data, which begins with the TIFF header. A missing or undefined orientation means as stored.
/// Throws Error with the reason if the directory cannot be read.
Orientation orientation_of(std::span<const std::byte> exif);

}  // namespace heed::io
