// Files of other programs' arrays. What is read here was written out by hand, byte for byte; hostile files
// are in tests/interop/foreign_test.py.
#include "io/foreign/array_file.h"

#include <sys/stat.h>

#include <array>
#include <cmath>
#include <filesystem>

#include "base/bfloat16.h"
#include "io/foreign/elements.h"
#include "io/foreign/safetensors.h"
#include "io/foreign/state_dict.h"
#include "io/frame_stream.h"
#include "samples.h"

namespace heed::io::test {
namespace {

using namespace std::string_literals;

/// A header of 8 + `header.size()` bytes, then the values.
std::string safetensors(const std::string& header, const std::string& values) {
  std::string file(8, '\0');
  for (std::size_t i = 0, rest = header.size(); i < 8; ++i, rest >>= 8)
    file[i] = static_cast<char>(rest & 0xff);
  return file + header + values;
}

const std::string kHeader = R"({"__metadata__":{"format":"pt"},)"
                            R"("b":{"dtype":"BF16","shape":[2],"data_offsets":[12,16]},)"
                            R"("a/x":{"shape":[3,1],"data_offsets":[0,12],"dtype":"F32"},)"
                            R"("none":{"dtype":"I64","shape":[0,7],"data_offsets":[16,16]},)"
                            R"("one":{"dtype":"U64","shape":[],"data_offsets":[16,24]}}  )";
const std::string kValues =
    "\x00\x00\x80\x3f"
    "\x00\x00\x00\xc0"
    "\x00\x00\xc0\x7f"
    "\x80\x3f\x49\xc0"
    "\x07\x00\x00\x00\x00\x00\x00\x00"s;

template <class T>
void check_values(const Tensor& tensor, const Shape& shape, const std::vector<T>& wanted) {
  BOOST_TEST(tensor.shape() == shape, boost::test_tools::per_element());
  const auto values = tensor.values<T>();
  BOOST_TEST(std::vector<T>(values.begin(), values.end()) == wanted, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(safetensors_as_written_by_hand) {
  TemporaryFolder folder;
  put_bytes(folder / "x", safetensors(kHeader, kValues));
  BOOST_TEST(is_array_file(folder / "x"));
  const auto file = ArrayFile::open(folder / "x");
  BOOST_TEST(file->metadata().at("format") == "pt");
  const auto& arrays = file->arrays();  // in the order of their values
  BOOST_REQUIRE(arrays.size() == 4u);
  BOOST_TEST(arrays[0].name == "a/x");
  BOOST_TEST(arrays[0].type == "float32");
  BOOST_TEST(arrays[1].type == "bfloat16");
  BOOST_TEST(arrays[2].name == "none");
  BOOST_TEST(arrays[3].type == "uint64");
  const Tensor a = file->read(0);
  BOOST_TEST(a.shape() == (Shape{3, 1}), boost::test_tools::per_element());
  BOOST_TEST(a.values<float>()[0] == 1.0f);
  BOOST_TEST(a.values<float>()[1] == -2.0f);
  BOOST_TEST(std::isnan(a.values<float>()[2]));
  check_values<float>(file->read(1), {2}, {1.0f, -3.140625f});
  check_values<std::int64_t>(file->read(2), {0, 7}, {});
  check_values<std::int64_t>(file->read(3), {}, {7});
}

BOOST_AUTO_TEST_CASE(frames_of_arrays_hold_what_is_asked_for) {
  TemporaryFolder folder;
  put_bytes(folder / "x", safetensors(kHeader, kValues));
  FrameReader reader(folder / "x", {.only = {"a"}});
  TensorMap frame;
  BOOST_REQUIRE(reader.next(frame));
  BOOST_TEST(frame.tensors().size() == 1u);
  BOOST_TEST(frame.contains("a/x"));
  BOOST_TEST(!reader.next(frame));
  BOOST_TEST(read_map(folder / "x").tensors().size() == 4u);
}

BOOST_AUTO_TEST_CASE(shards_of_a_folder) {
  TemporaryFolder folder;
  const auto shard = [](const std::string& name, char value) {
    return safetensors(R"({")" + name + R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", {value});
  };
  put_bytes(folder / "first", shard("a", 1));
  put_bytes(folder / "second", shard("b", 2));
  const std::string index = folder / "model.safetensors.index.json";
  put_bytes(index,
            R"({"metadata":{"total_size":2,"more":[null,1.5]},"weight_map":{"b":"second","a":"first"}})");
  const TensorMap map = read_map(folder.path());
  check_values<std::uint8_t>(map.at("a"), {1}, {1});
  check_values<std::uint8_t>(map.at("b"), {1}, {2});

  const auto refuse = [&](const std::string& weight_map, const std::vector<std::string>& words) {
    put_bytes(index, R"({"weight_map":)" + weight_map + "}");
    check_fails([&] { ArrayFile::open(folder.path()); }, words);
  };
  refuse(R"({"a":"first","b":"first"})", {"index.json", "\"b\" is not in first"});
  refuse(R"({"a":"first","b":"second","c":"second"})", {"\"c\" is not in second"});
  refuse(R"({"a":"second","b":"second"})", {"\"a\" is not in second"});
  refuse(R"({"b":"first","a":"second"})", {"first:/a", "in second"});
  refuse(R"({"a":"first","b":"third"})", {"third", "No such file"});
  refuse(R"({"a":"first","b":"../second"})", {"\"../second\" is not the name of a file in this folder"});
  refuse(R"({"a":"first","b":".."})", {"\"..\" is not the name"});
  refuse(R"({"a":"/etc/passwd"})", {"not the name of a file"});
  refuse(R"({"a":"x\\second"})", {"not the name of a file"});
  refuse(R"({"a":"first","a":"second"})", {"weight_map gives \"a\" twice"});
  refuse(R"({"a":1})", {"a number where the name of the shard of \"a\" was wanted"});
  refuse(R"({"a":{}})", {"an object where the name of the shard"});
  refuse(R"([])", {"an array where the object weight_map"});
  refuse(R"({})", {"index without tensors"});
  refuse(R"({"a":"first"},"weight_map":{})", {"gives \"weight_map\" twice"});
  refuse(R"({"a":"first"},"x":[[[[]]]])", {"nested deeper than 4"});
  put_bytes(folder / "second", shard("a", 2));  // in two shards
  refuse(R"({"a":"first","b":"second"})", {"second:/a", "in first"});
  std::filesystem::remove(folder / "second");
  BOOST_REQUIRE(mkfifo((folder / "second").c_str(), 0600) == 0);  // must not wait for a writer
  refuse(R"({"a":"first","b":"second"})", {"not a regular file"});
}

std::string npy(const std::string& header, const std::string& values, char version = 1) {
  const std::string size = version == 1 ? std::string{static_cast<char>(header.size()), '\0'}
                                        : std::string{static_cast<char>(header.size()), '\0', '\0', '\0'};
  return "\x93NUMPY"s + version + '\0' + size + header + values;
}

Tensor read_npy(const std::string& bytes) {
  TemporaryFolder folder;
  put_bytes(folder / "x", bytes);
  return read_map(folder / "x").at("array");
}

BOOST_AUTO_TEST_CASE(npy_as_written_by_hand) {
  const std::string six = "\1\2\3\4\5\6";
  check_values<std::uint8_t>(
      read_npy(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3), }  \n", six)), {2, 3},
      {1, 2, 3, 4, 5, 6});
  // In Fortran's order the first index varies fastest.
  check_values<std::uint8_t>(read_npy(npy("{'descr':'|u1','fortran_order':True,'shape':(2,3)}", six, 2)),
                             {2, 3}, {1, 3, 5, 2, 4, 6});
  check_values<std::uint8_t>(
      read_npy(npy("{'shape':(1,3,2,),\"descr\":\"|u1\",'fortran_order':True}", six, 3)), {1, 3, 2},
      {1, 4, 2, 5, 3, 6});
  check_values<std::int32_t>(read_npy(npy("{'descr':'>i2','fortran_order':False,'shape':(3L,)}", six)), {3},
                             {0x102, 0x304, 0x506});
  check_values<double>(
      read_npy(npy("{'descr':'>f8','fortran_order':False,'shape':()}", "\x3f\xf8\0\0\0\0\0\0"s)), {}, {1.5});
  check_values<float>(read_npy(npy("{'descr':'<f2','fortran_order':False,'shape':(1,)}", "\x00\x3e"s)), {1},
                      {1.5f});
  check_values<std::string>(read_npy(npy("{'descr':'<U2','fortran_order':False,'shape':(2,)}",
                                         "\xe9\0\0\0\0\xf6\1\0A\0\0\0\0\0\0\0"s)),
                            {2}, {"\u00e9\U0001f600", "A"});
  const Tensor flags = read_npy(npy("{'descr':'|b1','fortran_order':False,'shape':(2,)}", "\1\0"s));
  check_values<std::uint8_t>(flags, {2}, {1, 0});
  BOOST_TEST((flags.attributes.at("dtype") == Attribute("bool"s)));
}

/// A zip archive of one member x.npy, stored or deflated, with the uint8 values 1 2 3.
std::string zip(bool deflated) {
  const std::string array = npy("{'descr':'|u1','fortran_order':False,'shape':(3,)}", "\1\2\3");
  // Deflate's own form of stored bytes: the last block, its length and the complement.
  const char size = static_cast<char>(array.size());
  const std::string packed =
      deflated ? "\x01"s + size + '\0' + static_cast<char>(~size) + '\xff' + array : array;
  const std::string sums = "\xac\xb9\xb0\xe6"s;  // CRC-32, by zlib.crc32 of Python
  const std::string sizes = static_cast<char>(packed.size()) + "\0\0\0"s + size + "\0\0\0"s;
  const std::string method = deflated ? "\x08\0"s : "\0\0"s;
  const std::string common = "\x14\0\0\0"s + method + "\0\0\0\0"s + sums + sizes + "\x05\0\0\0"s;
  const std::string local = "PK\3\4" + common + "x.npy" + packed;
  const std::string entry = "PK\1\2\x14\0"s + common + "\0\0\0\0\0\0\0\0\0\0\0\0\0\0"s + "x.npy";
  const std::string end = "PK\5\6\0\0\0\0\1\0\1\0"s + static_cast<char>(entry.size()) + "\0\0\0"s +
                          static_cast<char>(local.size()) + "\0\0\0\0\0"s;
  return local + entry + end;
}

BOOST_AUTO_TEST_CASE(npz_as_written_by_hand) {
  TemporaryFolder folder;
  for (bool deflated : {false, true}) {
    put_bytes(folder / "x", zip(deflated));
    const TensorMap map = read_map(folder / "x");
    BOOST_TEST(map.tensors().size() == 1u);
    check_values<std::uint8_t>(map.at("x"), {3}, {1, 2, 3});
  }
}

std::string little_endian(std::size_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i, value >>= 8) text += static_cast<char>(value & 0xff);
  return text;
}

/// By its definition, bit by bit.
std::uint32_t crc32_of(const std::string& bytes) {
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320U : 0);
  }
  return ~crc;
}

/// A checkpoint of PyTorch with this pickle and a storage of these bytes, the float32 values 1 -2 3.
std::string torch_file(const std::string& pickle,
                       const std::string& values = "\x00\x00\x80\x3f\x00\x00\x00\xc0\x00\x00\x40\x40"s) {
  std::string file, directory;
  for (const auto& [name, content] :
       {std::pair("p/data.pkl"s, pickle), {"p/byteorder", "little"}, {"p/data/0", values}}) {
    const std::string size = little_endian(content.size(), 4);
    const std::string common = "\x14\0\0\0\0\0\0\0\0\0"s + little_endian(crc32_of(content), 4) + size + size +
                               little_endian(name.size(), 4);
    directory += "PK\1\2\x14\0"s + common + std::string(10, '\0') + little_endian(file.size(), 4) + name;
    file += "PK\3\4" + common + name + content;
  }
  return file + directory + "PK\5\6\0\0\0\0\3\0\3\0"s + little_endian(directory.size(), 4) +
         little_endian(file.size(), 4) + "\0\0"s;
}

/// {"a": values 1 and 2 of the storage, "b": all of it}, the second from what the first made the pickle keep.
const std::string kTwoTensors =
    "\x80\x02}(X\1\0\0\0actorch._utils\n_rebuild_tensor_v2\nq\1((X\7\0\0\0storagectorch\nFloatStorage\n"
    "X\1\0\0\0"
    "0X\3\0\0\0cpuK\3tQq\2K\1K\2\x85K\1\x85\x89"
    "ccollections\nOrderedDict\n)RtR"
    "X\1\0\0\0bh\1(h\2K\0K\3\x85K\1\x85\x89N}tRu."s;

BOOST_AUTO_TEST_CASE(torch_as_written_by_hand) {
  TemporaryFolder folder;
  put_bytes(folder / "x", torch_file(kTwoTensors));
  const auto file = ArrayFile::open(folder / "x");
  BOOST_REQUIRE(file->arrays().size() == 2u);
  BOOST_TEST(file->arrays()[0].type == "float32");
  check_values<float>(file->read(0), {2}, {-2, 3});
  check_values<float>(file->read(1), {3}, {1, -2, 3});  // its checksum was checked by the first
  check_values<float>(file->read(0), {2}, {-2, 3});
  std::string damaged = torch_file(kTwoTensors);
  damaged[damaged.find("\x40\x40PK")] ^= 1;
  put_bytes(folder / "x", damaged);
  const auto other = ArrayFile::open(folder / "x");
  check_fails([&] { other->read(1); }, {"CRC-32"});
  check_fails([&] { other->read(1); }, {"CRC-32"});
}

BOOST_AUTO_TEST_CASE(short_integers_of_torch) {
  TemporaryFolder folder;
  const auto second_of = [&](const std::string& storage, const std::string& values) {
    std::string pickle = kTwoTensors;
    pickle.replace(pickle.find("FloatStorage"), 12, storage);
    put_bytes(folder / "x", torch_file(pickle, values));
    return ArrayFile::open(folder / "x")->read(1);
  };
  check_values<std::int32_t>(second_of("ShortStorage", "\1\0\xfe\xff\3\0"s), {3}, {1, -2, 3});
  check_values<std::int32_t>(second_of("CharStorage", "\1\xfe\3"), {3}, {1, -2, 3});
  check_values<std::uint8_t>(second_of("ByteStorage", "\1\xfe\3"), {3}, {1, 254, 3});
}

/// An array of Marian's binary models.
struct MarianArray {
  std::string name;
  std::size_t type;
  std::vector<std::size_t> shape;
  std::string values;
};

std::string marian_binary(const std::vector<MarianArray>& arrays) {
  std::string heads = little_endian(1, 8) + little_endian(arrays.size(), 8), names, shapes, values;
  for (const MarianArray& array : arrays) {
    for (const std::size_t number :
         {array.name.size() + 1, array.type, array.shape.size(), array.values.size()})
      heads += little_endian(number, 8);
    names += array.name + '\0';
    for (const std::size_t size : array.shape) shapes += little_endian(size, 4);
    values += array.values;
  }
  return heads + names + shapes + little_endian(3, 8) + "..." + values;
}

/// intgemm's factor of 4, and what fills up 8 bytes.
const std::string kFactor = "\0\0\x80\x40...."s;
const std::string kMarian = marian_binary({{"plain", 0x404, {1, 2}, "\x00\x00\x80\x3f\x00\x00\x00\xc0...."s},
                                           {"half", 0x402, {2}, "\x00\x3c\x00\xc0"s},
                                           {"special:x.yml", 0x101, {3}, "a\xff\0"s},
                                           {"l1_W", 0x4101, {2, 3}, "\1\2\x80\4\5\6" + kFactor},
                                           {"Wemb", 0x4101, {2, 3}, "\1\2\x80\4\5\6" + kFactor},
                                           {"l2_W", 0x4102, {2, 1}, "\0\1\xff\xff"s + kFactor},
                                           {"none", 0x404, {0, 7}, ""}});

BOOST_AUTO_TEST_CASE(marian_binary_as_written_by_hand) {
  TemporaryFolder folder;
  put_bytes(folder / "x", kMarian);
  BOOST_TEST(is_array_file(folder / "x"));
  const auto file = ArrayFile::open(folder / "x");
  const auto& arrays = file->arrays();
  BOOST_REQUIRE(arrays.size() == 7u);
  BOOST_TEST(arrays[0].name == "plain");
  BOOST_TEST(arrays[1].type == "float16");
  BOOST_TEST(arrays[3].type == "scaled int8");
  check_values<float>(file->read(0), {1, 2}, {1, -2});
  check_values<float>(file->read(1), {2}, {1, -2});
  check_values<std::int32_t>(file->read(2), {3}, {'a', -1, 0});
  check_values<float>(file->read(3), {2, 3}, {0.25f, -32, 1.25f, 0.5f, 1, 1.5f});
  check_values<float>(file->read(4), {2, 3}, {0.25f, 0.5f, -32, 1, 1.25f, 1.5f});
  check_values<float>(file->read(5), {2, 1}, {64, -0.25f});
  check_values<float>(file->read(6), {0, 7}, {});
}

BOOST_AUTO_TEST_CASE(text_is_no_array_file) {
  TemporaryFolder folder;
  for (const char* text : {"a\tb\tccc\n{x}\t2\t3\n", "a b c d {\n", "caf\u00e9 12{\n"}) {
    put_bytes(folder / "x", text);
    BOOST_TEST(text[8] == '{');
    BOOST_TEST(!is_array_file(folder / "x"));
  }
  put_bytes(folder / "x", safetensors(kHeader, kValues));
  BOOST_TEST(is_array_file(folder / "x"));
}

/// Opens the file and reads all arrays, or fails with an Error.
void read_all(const std::string& path) {
  try {
    const auto file = ArrayFile::open(path);
    for (std::size_t i = 0; i < file->arrays().size(); ++i) file->read(i);
  } catch (const Error& e) {
    BOOST_REQUIRE_MESSAGE(std::string(e.what()).find('\n') == std::string::npos, e.what());
  }
}

/// What a byte is changed into.
std::array<int, 5> others(char byte) {
  return {0, 255, byte ^ 1, byte ^ 0x80, byte + 1};
}

BOOST_AUTO_TEST_CASE(any_changed_byte_is_an_error_or_another_value) {
  TemporaryFolder folder;
  for (const std::string& sound :
       {safetensors(kHeader, kValues), zip(false), zip(true), torch_file(kTwoTensors), kMarian}) {
    put_bytes(folder / "x", sound);
    BOOST_REQUIRE_NO_THROW(read_map(folder / "x"));
    for (std::size_t at = 0; at <= sound.size(); ++at) {
      put_bytes(folder / "x", sound.substr(0, at));
      read_all(folder / "x");
      if (at == sound.size()) break;
      for (const int byte : others(sound[at])) {
        std::string changed = sound;
        changed[at] = static_cast<char>(byte);
        put_bytes(folder / "x", changed);
        read_all(folder / "x");
      }
    }
  }
}

/// Within the archive its checksum would stand before it.
BOOST_AUTO_TEST_CASE(any_changed_byte_of_a_pickle_is_an_error_or_other_tensors) {
  for (std::size_t at = 0; at < kTwoTensors.size(); ++at) {
    BOOST_CHECK_THROW(read_state_dict(kTwoTensors.substr(0, at), "x"), Error);
    for (const int byte : others(kTwoTensors[at])) {
      std::string changed = kTwoTensors;
      changed[at] = static_cast<char>(byte);
      try {
        for (const PickledTensor& tensor : read_state_dict(changed, "x")) {
          BOOST_REQUIRE(!tensor.name.empty());
          BOOST_REQUIRE(tensor.offset + element_count(tensor.shape) <= tensor.elements);
        }
      } catch (const Error& e) {
        BOOST_REQUIRE_MESSAGE(std::string(e.what()).starts_with("x: this pickle "), e.what());
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(pictures_with_a_changed_byte_are_an_error_or_another_picture) {
  TemporaryFolder folder;
  for (const std::string name : {"palette.png", "photo.jpg", "progressive.jpg"}) {
    const std::string sound = bytes_of(concat(HEED_TESTDATA, "/images/", name));
    for (std::size_t at = 0; at < sound.size(); at += 5) {
      put_bytes(folder / "x", sound.substr(0, at));
      BOOST_CHECK_THROW(ArrayFile::open(folder / "x")->read(0), Error);
      std::string changed = sound;
      changed[at] = static_cast<char>(changed[at] ^ 0x81);
      put_bytes(folder / "x", changed);
      if (name.ends_with("png"))  // every byte has a checksum
        BOOST_CHECK_THROW(ArrayFile::open(folder / "x")->read(0), Error);
      else
        read_all(folder / "x");
    }
  }
}

BOOST_AUTO_TEST_CASE(values_of_a_png_are_those_it_stores) {
  TemporaryFolder folder;
  const std::string sound = bytes_of(concat(HEED_TESTDATA, "/images/grey.png"));
  put_bytes(folder / "plain", sound);
  put_bytes(folder / "gamma", sound.substr(0, 33) + "\0\0\0\4gAMA\0\1\x86\xa0\x31\xe8\x96\x5f"s +  // 1.0
                                  sound.substr(33));
  const Tensor plain = read_map(folder / "plain").at("pixels"),
               gamma = read_map(folder / "gamma").at("pixels");
  const auto a = plain.values<std::uint8_t>(), b = gamma.values<std::uint8_t>();
  BOOST_TEST(std::equal(a.begin(), a.end(), b.begin(), b.end()));
}

BOOST_AUTO_TEST_CASE(a_png_of_one_bit_may_have_thousands_of_pixels_to_a_byte) {
  const std::string path = concat(HEED_TESTDATA, "/images/blank.png");
  const Tensor pixels = read_map(path).at("pixels");
  BOOST_TEST((pixels.shape() == Shape{1, 1024, 1024}));
  BOOST_TEST(pixels.size() > 2 * 1032 * static_cast<std::int64_t>(bytes_of(path).size()));
}

BOOST_AUTO_TEST_CASE(written_safetensors_are_these_bytes) {
  TemporaryFolder folder;
  TensorMap map;
  map.add("z", Tensor::of<float>({1, -2}, {2}));
  map.add("b", Tensor::of<std::uint8_t>({1}, {1, 1})).attributes["dtype"] = "bool"s;
  map.add("a", Tensor::of<std::int64_t>({-1}, {}));
  map.attributes["format"] = "heed"s;
  map.attributes["creator"] = "heed 0"s;
  write_safetensors(folder / "x", map);
  const std::string header = R"({"__metadata__":{"creator":"heed 0","format":"pt"},)"
                             R"("a":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
                             R"("z":{"dtype":"F32","shape":[2],"data_offsets":[8,16]},)"
                             R"("b":{"dtype":"BOOL","shape":[1,1],"data_offsets":[16,17]}})";
  const std::string padding((8 - header.size() % 8) % 8, ' ');
  BOOST_TEST(bytes_of(folder / "x") ==
             safetensors(header + padding, "\xff\xff\xff\xff\xff\xff\xff\xff\0\0\x80\x3f\0\0\0\xc0\1"s));
  write_safetensors(folder / "half", map, FloatsAs::float16);
  check_values<float>(read_map(folder / "half").at("z"), {2}, {1, -2});
  map.at("z").values<float>()[0] = 70000;
  check_fails([&] { write_safetensors(folder / "half", map, FloatsAs::float16); },
              {"/z", "70000", "bfloat16"});
  map.add("text", Tensor::of<std::string>({"x"}, {1}));
  check_fails([&] { write_safetensors(folder / "text", map); }, {"/text", "text"});
  TensorMap reserved;
  reserved.add("__metadata__", Tensor::of<float>({1}, {1}));
  check_fails([&] { write_safetensors(folder / "reserved", reserved); }, {"/__metadata__", "another name"});
  BOOST_TEST((folder.files().size()) == 2u);  // nothing is left of what failed
}

/// Reads each array as a whole and by blocks of rows; `large`: the names of those that come in two blocks.
void check_blocks(const std::string& path, std::initializer_list<std::string_view> large) {
  const auto file = ArrayFile::open(path);
  for (std::size_t index = 0; index < file->arrays().size(); ++index) {
    const Tensor whole = file->read(index);
    const std::int64_t row = whole.shape().size() < 2 ? whole.size() : whole.size() / whole.shape()[0];
    std::vector<float> joined;
    std::int64_t blocks = 0;
    file->read_rows(index, [&](std::int64_t first, const Tensor& block) {
      BOOST_TEST(first * row == std::ssize(joined));
      BOOST_TEST(block.shape().size() == whole.shape().size());
      const auto values = block.values<float>();
      joined.insert(joined.end(), values.begin(), values.end());
      ++blocks;
    });
    BOOST_TEST(std::ranges::equal(joined, whole.values<float>()));
    const std::string& array = file->arrays()[index].name;
    BOOST_TEST(blocks == (std::ranges::count(large, array) > 0 ? 2 : 1), array);
  }
}

BOOST_AUTO_TEST_CASE(rows_of_a_large_table_of_integers_come_in_blocks) {
  TemporaryFolder folder;
  std::string integers(5003 * 300, '\0');
  for (std::size_t i = 0; i < integers.size(); ++i) integers[i] = static_cast<char>(i % 251);
  put_bytes(folder / "x", marian_binary({{"Wemb", 0x4101, {5003, 300}, integers + kFactor},
                                         {"l1_W", 0x4101, {5003, 300}, integers + kFactor}}));
  check_blocks(folder / "x", {"Wemb"});
}

BOOST_AUTO_TEST_CASE(rows_of_a_large_array_come_in_blocks) {
  TemporaryFolder folder;
  constexpr std::int64_t rows = 5003, columns = 3 * 100;
  std::vector<float> numbers(rows * columns);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 4099);
  TensorMap map;
  map.add("large", Tensor::of<float>(std::move(numbers), {rows, 3, 100}));
  map.add("small", Tensor::of<float>({1, 2, 3}, {3, 1}));
  map.add("vector", Tensor::of<float>(std::vector<float>(1 << 21, 7), {1 << 21}));
  map.add("wide", Tensor::of<float>(std::vector<float>(3 << 20, 7), {2, 3 << 19}));
  for (const auto& [name, floats] : {std::pair("x", FloatsAs::float32), {"y", FloatsAs::bfloat16}}) {
    write_safetensors(folder / name, map, floats);
    check_blocks(folder / name, {"large", "wide"});
  }
}

BOOST_AUTO_TEST_CASE(sixteen_bits_there_and_back) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float wide = from_half(half), brain = from_bfloat16(half);
    if (!std::isnan(wide)) BOOST_REQUIRE(to_half(wide) == half);
    if (std::isnan(wide)) BOOST_REQUIRE(std::isnan(from_half(to_half(wide))));
    if (!std::isnan(brain)) BOOST_REQUIRE(to_bfloat16(brain) == half);
    if (std::isnan(brain)) BOOST_REQUIRE(std::isnan(from_bfloat16(to_bfloat16(brain))));
  }
  BOOST_TEST(from_half(0x0001) == std::ldexp(1.0f, -24));
  BOOST_TEST(from_half(0x7bff) == 65504.0f);
  BOOST_TEST(from_half(0xc248) == -3.140625f);
  // Halfway between two neighbours: the even one.
  BOOST_TEST(to_half(1.0f + 0x1p-11f) == 0x3c00);
  BOOST_TEST(to_half(1.0f + 3 * 0x1p-11f) == 0x3c02);
  BOOST_TEST(to_half(1.0f + 0x1p-11f + 0x1p-20f) == 0x3c01);
  BOOST_TEST(to_half(0x1p-25f) == 0x0000);
  BOOST_TEST(to_half(3 * 0x1p-25f) == 0x0002);
  BOOST_TEST(to_half(65519.0f) == 0x7bff);
  BOOST_TEST(to_half(65520.0f) == 0x7c00);
  BOOST_TEST(to_bfloat16(1.0f + 0x1p-8f) == 0x3f80);
  BOOST_TEST(to_bfloat16(1.0f + 3 * 0x1p-8f) == 0x3f82);
}

}  // namespace
}  // namespace heed::io::test
