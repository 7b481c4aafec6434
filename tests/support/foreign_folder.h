// Folders of transformers' models, as tests change them.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "io/foreign/array_file.h"
#include "io/foreign/safetensors.h"
#include "models/foreign/import.h"

namespace heed::test {

/// A folder in memory, to be changed.
struct Folder {
  foreign::Json config;
  TensorMap tensors;
  std::map<std::string, std::string> files;  ///< others

  explicit Folder(const std::string& name) {
    const std::string path = std::string(HEED_TESTDATA) + "/import/" + name;
    config = foreign::read_json_object(path + "/config.json");
    const auto file = io::ArrayFile::open(path);
    for (std::size_t i = 0; i < file->arrays().size(); ++i)
      tensors.add(file->arrays()[i].name, file->read(i));
  }
  void rename(const std::string& from, const std::string& to) {
    Tensor tensor = tensors.at(from);
    tensors.erase(from);
    tensors.add(to, std::move(tensor));
  }
  void write(const std::string& path) const {
    std::filesystem::create_directories(path);
    std::ofstream(path + "/config.json") << config;
    io::write_safetensors(path + "/model.safetensors", tensors);
    for (const auto& [name, content] : files) std::ofstream(path + "/" + name) << content;
  }
};

inline Tensor ones(Shape shape) {
  return Tensor::of<float>(std::vector<float>(static_cast<std::size_t>(element_count(shape)), 1), shape);
}

}  // namespace heed::test
