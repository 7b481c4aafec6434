#include "io/image.h"

#include <atomic>
#include <span>

#include "io/h5_writer.h"
#include "io/superblock.h"

namespace heed::io {
namespace {

constexpr std::size_t kIncrement = std::size_t{1} << 18;  // by which an image in memory grows

Handle access_list(const std::string& name) {
  start_hdf5();
  Handle plist = own(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, name);
  // HDF5 1.10 returns corrupt images of files with newer superblocks (HDFGroup/hdf5 issue 1915).
  require(H5Pset_libver_bounds(plist, H5F_LIBVER_EARLIEST, H5F_LIBVER_V110), name);
  // Everything must be closed with the file: an open handle would delay its completion.
  require(H5Pset_fclose_degree(plist, H5F_CLOSE_STRONG), name);
  return plist;
}

Handle create(const std::string& path, const Handle& access, const std::string& name) {
  Handle creation = own(H5Pcreate(H5P_FILE_CREATE), H5Pclose, name);
  require(H5Pset_obj_track_times(creation, false), name);
  return own(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, access), H5Fclose, name, ": cannot create");
}

/// HDF5 treats two files in memory with equal names as the same file.
std::string unique_name() {
  static std::atomic<std::uint64_t> counter{0};
  return concat("image-", counter++);
}

std::vector<std::byte> bytes_of(hid_t file, const std::string& name) {
  require(H5Fflush(file, H5F_SCOPE_GLOBAL), name, ": cannot finish the image");
  const ssize_t size = H5Fget_file_image(file, nullptr, 0);
  require(size, name, ": cannot take the image");
  std::vector<std::byte> image(static_cast<std::size_t>(size));
  require(H5Fget_file_image(file, image.data(), image.size()), name, ": cannot take the image");
  return image;
}

/// The properties by which a reader splits a stream.
void check_image(std::span<const std::byte> image, const std::string& name) {
  if (image.size() <= kSuperblockBytes || image[8] != std::byte{0} ||
      image_length(image, name) != image.size()) {
    fail(name, ": HDF5 made an image whose length is not in its header: cannot be sent through a pipe");
  }
}

}  // namespace

Handle create_hdf5(const std::string& path, const std::string& name) {
  return create(path, access_list(name), name);
}

std::vector<std::byte> to_image(const TensorMap& map, const WriteOptions& options, bool is_last,
                                const std::string& name) {
  Handle access = access_list(name);
  require(H5Pset_fapl_core(access, kIncrement, false), name);
  Handle file = create(unique_name(), access, name);
  {
    MapWriter writer(file, Storage::image, options, name);
    writer.append(map);
    if (is_last) writer.mark_end();
  }
  std::vector<std::byte> image = bytes_of(file, name);
  check_image(image, name);
  return image;
}

}  // namespace heed::io
