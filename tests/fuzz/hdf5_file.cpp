// Fuzzes what io::FrameReader does, in the reading process and after it, with an HDF5 file or a stream of
// them. The library itself can be made to crash, which costs only that process; a crash in heed's own code is
// a defect, and scripts/torture tells them apart by the first frame of the report that names a library.
#include "base/error.h"
#include "fuzz/input.h"
#include "io/byte_stream.h"
#include "io/chunked_tensor.h"
#include "io/frame_parts.h"
#include "io/h5_file.h"
#include "io/h5_handle.h"
#include "io/input.h"

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  heed::io::start_hdf5();
  heed::io::register_driver();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace heed;
  const FuzzedFile file(bytes, size);
  std::int64_t values = 0;
  const io::TensorSink sink = [&](const std::string&, const Tensor& tensor) {
    if (tensor.size() != element_count(tensor.shape())) std::abort();
    values += tensor.size();
  };
  const auto open = [&] {
    return io::Input(file.path(), io::Descriptor(), -1, {}, [](int, std::uint64_t) {});
  };
  TensorMap about;
  try {
    io::Input input = open();
    io::FrameCutter cutter;
    for (TensorMap frames, part;;) {
      frames = TensorMap();
      if (!input.next(1, frames, [&](const std::string& name, Tensor t) { frames.add(name, std::move(t)); },
                      {}))
        break;
      cutter.begin(std::move(frames), "file");
      while (cutter.next(1, part))
        for (const auto& [name, tensor] : part.tensors()) sink(name, tensor);
    }
  } catch (const Error&) {
  } catch (const std::bad_alloc&) {
  }
  try {  // and what the tool then fetches itself
    const io::Descriptor bytes_of = io::open_for_reading(file.path());
    io::Input input = open();
    std::uint64_t fetched = 0;
    input.whole({}, about, sink, [&](const std::string& name, io::ChunkedTensor found) {
      if ((fetched += io::stored_bytes(found)) > size) std::abort();
      if (io::is_possible(found, size)) sink(name, io::fetch(std::move(found), bytes_of.get(), name));
    });
  } catch (const Error&) {
  } catch (const std::bad_alloc&) {
  }
  return 0;
}
