#include "stages/frames.h"

#include "base/error.h"
#include "inspect/patch_file.h"
#include "io/provenance.h"

namespace heed {

void for_each_frame(io::FrameReader& reader, const Claim& claim, const std::function<void(TensorMap&)>& stage,
                    const std::function<void(const TensorMap&)>& write) {
  for (TensorMap frame; reader.next(frame);) {
    claim(frame, reader.name());
    try {
      stage(frame);
    } catch (const UsageError&) {
      throw;
    } catch (const PatchError&) {
      throw;
    } catch (const Error& e) {
      fail(reader.name(), ":", e.what());
    }
    write(frame);
  }
}

void run_frames(const std::string& input, const std::string& output, const io::WriteOptions& write,
                std::int64_t batch, const Claim& claim, const std::function<void(TensorMap&)>& stage,
                const std::function<void()>& at_end) {
  io::FrameReader reader(input, {.batch = batch});
  io::FrameWriter writer(output, write);
  for_each_frame(reader, claim, stage, [&](const TensorMap& frame) { writer.write(frame); });
  if (at_end) at_end();
  writer.finish();
}

void claim_for_model(TensorMap& frame, const std::string& source, const LoadedModel& model,
                     const std::string& path) {
  io::expect_digest(frame, source, io::kModelDigest, model.digest, path);
  frame.attributes[io::kModelDigest] = model.digest;
}

}  // namespace heed
