// Attributes of HDF5 objects. Internal to lib/io.
#pragma once

#include <string>

#include "io/h5_handle.h"
#include "tensor/tensor_map.h"

namespace heed::io {

/// Creates an attribute of `object`: strings are UTF-8 of fixed length, padded with NUL; lists are one-dimensional.
/// Throws Error, naming `owner`, if it exceeds HDF5's 64 KiB per attribute: store long text as a dataset.
void write_attribute(hid_t object, const std::string& name, const Attribute& value, const std::string& owner);

/// Reads all attributes of `object` that a TensorMap can hold: strings, numbers (one-element arrays count as
/// scalars) and lists of strings. References, compounds and arrays of numbers are skipped. Throws Error,
/// naming `owner`, for attributes of excessive number or size.
Attributes read_attributes(hid_t object, const std::string& owner);

}  // namespace heed::io
