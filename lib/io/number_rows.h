// Tables of numbers, typed by hand or printed by other programs: every tool that reads tensors accepts them as
// one tensor. Internal to lib/io.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "tensor/tensor_map.h"

namespace heed::io {

/// The name of that tensor, the same as for a .npy file.
inline constexpr const char* kOnlyArray = "array";

/// Larger tables are not typed; use HDF5 or NumPy.
inline constexpr std::size_t kMostNumberBytes = std::size_t{1} << 24;

/// Whether `head`, the first bytes of a file, may begin such a table: a number, a comment, or only empty
/// lines.
bool begins_number_rows(std::span<const std::byte> head);

/// f64 [rows, columns]: a line is a row, with numbers separated by tabs, spaces or commas; empty lines and
/// lines that begin with # are skipped. Throws Error naming `name`, line and field on anything else, and on
/// rows of different lengths.
Tensor parse_number_rows(std::span<const std::byte> bytes, const std::string& name);

}  // namespace heed::io
