// Pictures as arrays: PNG (libpng, ISO/IEC 15948) and JPEG (libjpeg-turbo, ITU-T T.81). A file gives one array,
//   pixels   uint8 (channel, row, column): one channel, grey, or red, green and blue; 0 to 255
// A palette gives its colours; 16 bits are brought down to 8, and fewer are spread over 0 to 255; an alpha channel that is
// opaque everywhere is left out; gamma and color profiles change no value. Refused: transparent pixels, as it is not known what is behind them; JPEG in the four
// colours of print; pictures of more than kMostPixels; a size that the bytes of the file cannot hold, before anything is
// allocated for it; a file that is cut short or damaged. The
// orientation that a camera notes (Exif, in a PNG its chunk eXIf) is applied, as Pillow's exif_transpose does.
#pragma once

#include <memory>
#include <string>

#include "io/foreign/array_file.h"
#include "io/most_pixels.h"

namespace heed::io {

/// Throws Error when the file `path` is not sound.
std::unique_ptr<ArrayFile> open_png(const std::string& path);
std::unique_ptr<ArrayFile> open_jpeg(const std::string& path);

}  // namespace heed::io
