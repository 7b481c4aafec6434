// Tensor maps and places for the tests of lib/io.
#pragma once

#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "support/temporary_folder.h"
#include "tensor/tensor_map.h"

namespace heed::io::test {

using heed::test::bytes_of;

class TemporaryFolder : public heed::test::TemporaryFolder {
 public:
  /// Names of the files in it, temporary ones included.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path()))
      names.push_back(entry.path().filename());
    return names;
  }
};

inline void put_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// A pipe whose ends have paths, as a tool would see them.
struct Pipe {
  Pipe() { BOOST_REQUIRE(pipe(fd) == 0); }
  ~Pipe() {
    close_write();
    close(fd[0]);
  }
  void close_write() {
    if (fd[1] >= 0) close(fd[1]);
    fd[1] = -1;
  }
  std::string read_path() const { return "/dev/fd/" + std::to_string(fd[0]); }
  std::string write_path() const { return "/dev/fd/" + std::to_string(fd[1]); }
  int fd[2];
};

/// Encoder states of `count` sentences, the first of which is number `first`: lengths go 1, 2, 3, ... up to
/// `width` and back to 1, values say where they stand, padding is zero.
inline TensorMap sentences(std::int64_t first, std::int64_t count, std::int64_t width, std::int64_t dim = 3) {
  std::vector<float> states(static_cast<std::size_t>(count * width * dim));
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(count * width));
  std::vector<std::int32_t> length;
  std::vector<std::string> text;
  for (std::int64_t s = 0; s < count; ++s) {
    const std::int64_t n = (first + s) % width + 1;
    length.push_back(static_cast<std::int32_t>(n));
    text.push_back("sentence " + std::to_string(first + s));
    for (std::int64_t p = 0; p < n; ++p) {
      mask[static_cast<std::size_t>(s * width + p)] = 1;
      for (std::int64_t d = 0; d < dim; ++d) {
        states[static_cast<std::size_t>((s * width + p) * dim + d)] =
            static_cast<float>(100 * (first + s) + 10 * p + d + 1);
      }
    }
  }
  TensorMap map;
  map.add("encoder/states", Tensor::of<float>(states, {count, width, dim}, {"sentence", "position", "dim"}))
      .attributes["long_name"] = "encoder output";
  map.add("encoder/mask", Tensor::of<std::uint8_t>(mask, {count, width}, {"sentence", "position"}))
      .attributes["dtype"] = "bool";
  map.add("encoder/length", Tensor::of<std::int32_t>(length, {count}, {"sentence"}));
  map.add("encoder/text", Tensor::of<std::string>(text, {count}, {"sentence"}));
  map.groups["encoder"] = {"states", "States of the encoder", {"0", ".", "."}, {{"side", "source"}}};
  map.attributes["model_digest"] = "0123abcd";
  return map;
}

template <class T>
void check_values(const Tensor& got, const Tensor& wanted) {
  auto a = got.values<T>();
  auto b = wanted.values<T>();
  BOOST_CHECK_EQUAL_COLLECTIONS(a.begin(), a.end(), b.begin(), b.end());
}

/// Same type, shape, names of dimensions, values and attributes.
inline void check_equal(const Tensor& got, const Tensor& wanted) {
  BOOST_REQUIRE_EQUAL(name_of(got.dtype()), name_of(wanted.dtype()));
  BOOST_REQUIRE_EQUAL(to_string(got.shape()), to_string(wanted.shape()));
  BOOST_CHECK_EQUAL_COLLECTIONS(got.dims().begin(), got.dims().end(), wanted.dims().begin(),
                                wanted.dims().end());
  BOOST_CHECK(got.attributes == wanted.attributes);
  switch (got.dtype()) {
    case DType::f32:
      return check_values<float>(got, wanted);
    case DType::f64:
      return check_values<double>(got, wanted);
    case DType::i32:
      return check_values<std::int32_t>(got, wanted);
    case DType::i64:
      return check_values<std::int64_t>(got, wanted);
    case DType::u8:
      return check_values<std::uint8_t>(got, wanted);
    case DType::string:
      return check_values<std::string>(got, wanted);
  }
}

/// Same tensors and groups; root attributes of `wanted` are all there (lib/io adds its own).
inline void check_equal(const TensorMap& got, const TensorMap& wanted) {
  BOOST_REQUIRE_EQUAL(got.tensors().size(), wanted.tensors().size());
  for (const auto& [path, tensor] : wanted.tensors()) {
    BOOST_TEST_CONTEXT(path) {
      BOOST_REQUIRE(got.contains(path));
      check_equal(got.at(path), tensor);
    }
  }
  BOOST_REQUIRE_EQUAL(got.groups.size(), wanted.groups.size());
  for (const auto& [path, group] : wanted.groups) {
    BOOST_TEST_CONTEXT(path) {
      const Group& found = got.groups.at(path);
      BOOST_CHECK_EQUAL(found.signal, group.signal);
      BOOST_CHECK_EQUAL(found.title, group.title);
      BOOST_CHECK(found.default_slice == group.default_slice);
      BOOST_CHECK(found.attributes == group.attributes);
    }
  }
  for (const auto& [name, value] : wanted.attributes) BOOST_CHECK(got.attributes.at(name) == value);
}

/// Requires that `run` throws an Error whose message holds each of `parts` and is one line.
template <class Run>
void check_fails(Run run, const std::vector<std::string>& parts);

}  // namespace heed::io::test

#include "base/error.h"

template <class Run>
void heed::io::test::check_fails(Run run, const std::vector<std::string>& parts) {
  try {
    run();
  } catch (const Error& e) {
    const std::string message = e.what();
    for (const std::string& part : parts) {
      BOOST_CHECK_MESSAGE(message.find(part) != std::string::npos,
                          "\"" << message << "\" lacks \"" << part << "\"");
    }
    BOOST_CHECK_MESSAGE(message.find('\n') == std::string::npos, message << " has more than one line");
    return;
  }
  BOOST_ERROR("no error");
}
