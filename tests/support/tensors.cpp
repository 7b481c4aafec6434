// Writes, copies and drains tensor maps: lib/io as a program, for the tests of files and pipes from outside.
//   tensors sample FILE [SCALES]   the groups of the schema, gathered from three frames of different widths
//   tensors model FILE             a small model file
//   tensors stream FRAMES OUT      so many frames of 64 sentences of encoder states (64 x 32 x 128 floats)
//   tensors copy IN OUT            frame by frame, as every tool does
//   tensors whole IN OUT           at once, as models are read
//   tensors drain IN               reads all frames; prints their number, the sentences and the peak memory
//   in KiB
#include <sys/resource.h>

#include <cstdio>
#include <iostream>
#include <string>

#include "base/error.h"
#include "io/frame_stream.h"

using namespace heed;

namespace {

using Dims = std::vector<std::string>;

/// 0.5, 1.5, 2.5, ... starting at `from`.
Tensor ramp(Shape shape, Dims dims, std::int64_t from = 0) {
  Tensor tensor = Tensor::zeros<float>(std::move(shape), std::move(dims));
  for (float& value : tensor.values<float>()) value = static_cast<float>(from++) + 0.5f;
  return tensor;
}

Tensor integers(Shape shape, Dims dims, std::int32_t value) {
  Tensor tensor = Tensor::zeros<std::int32_t>(std::move(shape), std::move(dims));
  for (std::int32_t& v : tensor.values<std::int32_t>()) v = value;
  return tensor;
}

Tensor words(Shape shape, Dims dims, const std::string& prefix) {
  Tensor tensor = Tensor::zeros<std::string>(std::move(shape), std::move(dims));
  int number = 0;
  for (std::string& word : tensor.values<std::string>()) word = prefix + std::to_string(number++);
  return tensor;
}

/// One frame with every group of the schema: `count` sentences of `width` source and `width` + 1 target
/// positions.
TensorMap sample_frame(std::int64_t count, std::int64_t width) {
  const std::int64_t query = width + 1;
  TensorMap map;
  map.add("tokens/ids", integers({count, width}, {"sentence", "position"}, 7));
  map.add("tokens/length", integers({count}, {"sentence"}, static_cast<std::int32_t>(width)));
  map.add("tokens/text", words({count}, {"sentence"}, "phrase d'\xc3\xa9t\xc3\xa9 "));
  map.groups["tokens"] = {"ids", "Token ids", {}, {{"side", "source"}}};
  map.add("encoder/states", ramp({count, 1, width, 6}, {"sentence", "layer", "position", "dim"}));
  Tensor mask = Tensor::zeros<std::uint8_t>({count, width}, {"sentence", "position"});
  for (std::uint8_t& m : mask.values<std::uint8_t>()) m = 1;
  map.add("encoder/mask", mask).attributes["dtype"] = "bool";
  map.add("encoder/length", integers({count}, {"sentence"}, static_cast<std::int32_t>(width)));
  map.groups["encoder"] = {"states", "Encoder states", {"0", "0", ".", "."}, {}};
  map.add("attention/weights",
          ramp({count, 3, 2, query, width}, {"sentence", "layer", "head", "query", "key"}))
      .attributes = {
      {"long_name", "attention weights"}, {"kind", "cross"}, {"coordinates", "query_token key_token"}};
  map.add("attention/query_length", integers({count}, {"sentence"}, static_cast<std::int32_t>(query)));
  map.add("attention/key_length", integers({count}, {"sentence"}, static_cast<std::int32_t>(width)));
  map.add("attention/query_token", words({count, query}, {"sentence", "query"}, "q"));
  map.add("attention/key_token", words({count, width}, {"sentence", "key"}, "k"));
  map.groups["attention"] = {"weights", "Attention", {"0", "0", "0", ".", "."}, {}};
  map.attributes["model_digest"] = "00ff";
  return map;
}

void write_sample(const std::string& path, bool scales) {
  io::FrameWriter writer(path, {"tensors sample", scales});
  writer.write(sample_frame(4, 5));
  writer.write(sample_frame(2, 18));
  writer.write(sample_frame(3, 1));
  writer.finish();
}

void write_model(const std::string& path) {
  TensorMap map;
  map.add("model/config", Tensor::of<std::string>({"{\"arch\": \"transformer\"}"}, {1}));
  map.add("model/parameters/encoder/layer_0/weight", ramp({5, 4}, {"out", "in"}));
  map.add("model/parameters/encoder/layer_0/bias", ramp({5}, {"out"}));
  map.add("model/vocabulary/piece", words({700}, {"id"}, "piece"));
  io::write_map(path, map);
}

void write_stream(std::int64_t frames, const std::string& path) {
  io::FrameWriter writer(path);
  TensorMap map;
  map.add("encoder/states", ramp({64, 1, 32, 128}, {"sentence", "layer", "position", "dim"}));
  map.add("encoder/length", integers({64}, {"sentence"}, 32));
  map.add("encoder/text", words({64}, {"sentence"}, "sentence "));
  map.groups["encoder"] = {"states", "Encoder states", {}, {}};
  for (std::int64_t i = 0; i < frames; ++i) writer.write(map);
  writer.finish();
}

void copy(const std::string& from, const std::string& to) {
  io::FrameReader reader(from);
  io::FrameWriter writer(to);
  for (TensorMap frame; reader.next(frame);) writer.write(frame);
  writer.finish();
}

std::int64_t peak_memory() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

void drain(const std::string& from) {
  io::FrameReader reader(from);
  std::int64_t frames = 0, sentences = 0;
  for (TensorMap frame; reader.next(frame); ++frames) {
    if (const Tensor* length = frame.find("encoder/length")) sentences += length->shape()[0];
  }
  std::cout << frames << " frames, " << sentences << " sentences, " << peak_memory() << " KiB\n";
}

int run(const std::vector<std::string>& args) {
  const std::string verb = args.empty() ? "" : args[0];
  if (verb == "sample" && args.size() >= 2)
    write_sample(args[1], args.size() < 3);
  else if (verb == "model" && args.size() == 2)
    write_model(args[1]);
  else if (verb == "stream" && args.size() == 3)
    write_stream(std::stoll(args[1]), args[2]);
  else if (verb == "copy" && args.size() == 3)
    copy(args[1], args[2]);
  else if (verb == "whole" && args.size() == 3)
    io::write_map(args[2], io::read_map(args[1]));
  else if (verb == "drain" && args.size() == 2)
    drain(args[1]);
  else
    return 2;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const UsageError& e) {
    std::cerr << "tensors: " << e.what() << '\n';
    return 2;
  } catch (const std::exception& e) {
    std::cerr << "tensors: " << e.what() << '\n';
    return 1;
  }
}
