// The process that reads files for a tool, and the language in which they talk. A question is a Wanted, the
// number of sentences of a frame, and the paths of the tensors that are wanted. The answer is a sequence of
// tensors, each an Answer, its path and what the Answer says, then `complete` with what describes them all, or
// `at_end`. Internal to lib/io.
#pragma once

#include <cstdint>
#include <string>

#include "io/byte_stream.h"
#include "io/options.h"

namespace heed::io {

enum Wanted : std::int64_t { next_frames, whole_map, part_of_map, layout_only };
enum Answer : std::int64_t {
  tensor,         ///< the tensor follows
  stored_tensor,  ///< a Place, and a ChunkedTensor in it
  shared_tensor,  ///< a Place, where its values begin there, and the tensor without them
  complete,       ///< whether the frames begin a stream or file, groups, and root attributes follow
  at_end,
  error,
  usage_error,
  out_of_memory
};
/// Where values are.
enum Place : std::int64_t { in_file, in_image, in_values };

/// What the tool and the process share, so that values pass through no socket. Each answer may overwrite what
/// the one before put there: the tool fetches that before it asks again.
struct SharedMemory {
  Descriptor image;   ///< the frame of a stream, as it arrives
  Descriptor values;  ///< what was read through HDF5
};

/// Bytes of memory that any file may take, however small it is.
inline constexpr std::uint64_t kFreeBytes = std::uint64_t{64} << 20;

/// Reads `path` for the process at the other end of `socket`, until that or this ends. Call it right after a
/// fork. `file`: the descriptor of `path`, if open.
[[noreturn]] void run_reading_process(int socket, const SharedMemory& memory, const std::string& path,
                                      Descriptor file, const ReadOptions& options);

}  // namespace heed::io
