#include "io/h5_chunks.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <vector>

#include "io/copy_part.h"
#include "io/fletcher32.h"

namespace heed::io {
namespace {

/// Bytes that zlib's stream decodes to, but no more than `most` + 1; 0 when it is damaged.
std::uint64_t inflated_size(std::span<unsigned char> bytes, std::uint64_t most) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return 0;
  stream.next_in = bytes.data();
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::array<unsigned char, 1 << 16> out;
  int status = Z_OK;
  std::uint64_t size = 0;
  while (status == Z_OK && size <= most) {
    stream.next_out = out.data();
    stream.avail_out = out.size();
    status = inflate(&stream, Z_NO_FLUSH);
    size += out.size() - stream.avail_out;
  }
  inflateEnd(&stream);
  return status == Z_STREAM_END || size > most ? size : 0;
}

struct Pipeline {
  const std::vector<H5Z_filter_t>& filters;
  std::uint64_t chunk_bytes;

  Pipeline(const CheckedDataset& dataset, const std::string& where) : filters(dataset.filters) {
    Handle type = own(H5Dget_type(dataset.id), H5Tclose, where, ": cannot read its type");
    chunk_bytes = H5Tget_size(type) * static_cast<std::uint64_t>(element_count(dataset.chunk));
  }

  /// `skipped`: a bit for each filter that was not applied to the chunk.
  std::uint64_t decoded_size(std::span<unsigned char> bytes, std::uint32_t skipped) const {
    for (std::size_t i = filters.size(); i-- > 0;) {
      if (skipped >> i & 1) continue;
      if (filters[i] == H5Z_FILTER_DEFLATE) {
        // shuffle keeps the size; a checksum taken before is part of what was deflated.
        const auto before = filters.begin() + static_cast<std::ptrdiff_t>(i);
        const auto checksum = std::find(filters.begin(), before, H5Z_FILTER_FLETCHER32);
        const bool has_one = checksum != before && !(skipped >> (checksum - filters.begin()) & 1);
        const std::uint64_t extra = has_one ? kFletcherBytes : 0;
        const std::uint64_t size = inflated_size(bytes, chunk_bytes + extra);
        return size < extra ? 0 : size - extra;
      }
      if (filters[i] != H5Z_FILTER_FLETCHER32) continue;
      if (bytes.size() < kFletcherBytes) return 0;
      bytes = bytes.first(bytes.size() - kFletcherBytes);
    }
    return bytes.size();
  }
};

}  // namespace

void expect_whole_chunks(const CheckedDataset& dataset, const std::string& where) {
  if (!std::ranges::count(dataset.filters, H5Z_FILTER_DEFLATE) || element_count(dataset.shape) == 0) return;
  const Pipeline pipeline(dataset, where);
  const Shape origin(dataset.shape.size(), 0);
  Shape chunk = origin;
  std::vector<unsigned char> bytes;
  do {
    const std::vector<hsize_t> at = sizes_of(chunk);
    unsigned mask = 0;
    haddr_t address = HADDR_UNDEF;
    hsize_t stored = 0;
    require(H5Dget_chunk_info_by_coord(dataset.id, at.data(), &mask, &address, &stored), where,
            ": cannot find a chunk");
    if (address != HADDR_UNDEF) {
      // No filter makes a chunk much larger than it was.
      if (stored > 2 * pipeline.chunk_bytes + 1024) fail(where, ": a chunk of ", stored, " bytes: damaged");
      bytes.resize(stored);
      std::uint32_t skipped = 0;
      require(H5Dread_chunk(dataset.id, H5P_DEFAULT, at.data(), &skipped, bytes.data()), where,
              ": cannot read a chunk");
      const std::uint64_t decoded = pipeline.decoded_size(bytes, skipped);
      if (decoded != pipeline.chunk_bytes)
        fail(where, ": a chunk decodes to ", decoded > pipeline.chunk_bytes ? "more than " : "",
             std::min(decoded, pipeline.chunk_bytes), " bytes, wanted ", pipeline.chunk_bytes,
             ": damaged or malicious");
    }
  } while (next_block(chunk, origin, dataset.chunk, dataset.shape));
}

}  // namespace heed::io
