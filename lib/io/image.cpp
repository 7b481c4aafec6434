#include "io/image.h"

#include <span>

#include "io/frame_parts.h"
#include "io/h5_file.h"
#include "io/h5_writer.h"
#include "io/superblock.h"

namespace heed::io {
namespace {

constexpr std::size_t kMetadataBytes = 64 << 10;  // of a usual frame

/// The property by which a reader splits a stream.
void check_image(std::span<const std::byte> image, const std::string& name) {
  if (image.size() <= kSuperblockBytes || image_length(image, name) != image.size()) {
    fail(name, ": HDF5 made an image whose length is not in its header: cannot be sent through a pipe");
  }
}

}  // namespace

std::vector<std::byte> to_image(const TensorMap& map, const WriteOptions& options, InStream place,
                                const std::string& name) {
  NewFile file(static_cast<std::size_t>(map.bytes()) + kMetadataBytes, name);
  {
    MapWriter writer(file.id(), Storage::image, options, name);
    writer.append(map);
    writer.finish(place);
  }
  file.close();
  std::vector<std::byte> image = file.take_image();
  check_image(image, name);
  return image;
}

}  // namespace heed::io
