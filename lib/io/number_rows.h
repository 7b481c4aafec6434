// Tables of numbers as people type them and other programs print them: where a tool reads tensors, text of this kind is one
// tensor. Internal to lib/io.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "tensor/tensor_map.h"

namespace heed::io {

/// The name of that tensor, as of a .npy file's.
inline constexpr const char* kOnlyArray = "array";

/// More is not typed, and takes HDF5 or NumPy.
inline constexpr std::size_t kMostNumberBytes = std::size_t{1} << 24;

/// Whether `head`, the first bytes of a file, may begin such a table: a number, a comment, or empty lines and no more.
bool begins_number_rows(std::span<const std::byte> head);

/// f64 [rows, columns]: a line is a row, its numbers stand between tabs, spaces or commas; empty lines and lines that begin
/// with # are skipped. Throws Error naming `name`, line and field on anything else, and on rows of different lengths.
Tensor parse_number_rows(std::span<const std::byte> bytes, const std::string& name);

}  // namespace heed::io
