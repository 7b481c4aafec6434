// Pictures as arrays: PNG (libpng, ISO/IEC 15948) and JPEG (libjpeg-turbo, ITU-T T.81). A file gives one
// array,
//   pixels   uint8 (channel, row, column): one channel, grey, or red, green and blue; 0 to 255
// Palettes are resolved; 16 bits are reduced to 8, and fewer are scaled to 0 to 255; a fully opaque alpha
// channel is dropped; gamma and color profiles change no value. Refused: transparent pixels, whose background
// is unknown; CMYK JPEG; pictures of more than kMostPixels; a size that the bytes of the file cannot hold,
// before anything is allocated for it; truncated or damaged files. The orientation noted by a camera (Exif,
// in a PNG its chunk eXIf) is applied, as by Pillow's exif_transpose.
#pragma once

#include <memory>
#include <string>

#include "io/foreign/array_file.h"
#include "io/most_pixels.h"

namespace heed::io {

/// Throws Error if the file `path` is invalid.
std::unique_ptr<ArrayFile> open_png(const std::string& path);
std::unique_ptr<ArrayFile> open_jpeg(const std::string& path);

}  // namespace heed::io
