#include "io/h5_writer.h"

#include <hdf5_hl.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <numeric>

#include "io/copy_part.h"
#include "io/fletcher32.h"
#include "io/h5_attributes.h"
#include "io/layout.h"
#include "io/provenance.h"

namespace heed::io {
namespace {

constexpr std::int64_t kChunkBytes = std::int64_t{1} << 20;  // HDF5's chunk cache holds one of these
constexpr std::int64_t kPaddedChunk = 16;     // positions per chunk: short sentences waste little
constexpr std::int64_t kCompactBytes = 4096;  // what does not grow and is no larger lies in its object header

bool has_sentences(const std::vector<std::string>& dims) {
  return sentence_axis_of(dims) >= 0;
}

/// Pointers to the strings, which HDF5 wants as C strings.
std::vector<const char*> c_strings(const Tensor& tensor, const std::string& where) {
  std::vector<const char*> text;
  text.reserve(static_cast<std::size_t>(tensor.size()));
  for (const std::string& s : tensor.values<std::string>()) {
    if (s.find('\0') != std::string::npos) {
      fail(where, ": string ", text.size(), " contains a NUL byte, which HDF5 strings cannot hold");
    }
    text.push_back(s.c_str());
  }
  return text;
}

/// Number of sentences that all tensors of the map agree on; 0 when none has the dimension.
std::int64_t count_sentences(const TensorMap& map, const std::string& name) {
  const std::string* first = nullptr;
  std::int64_t count = 0;
  for (const auto& [path, tensor] : map.tensors()) {
    const auto axis = sentence_axis_of(tensor.dims());
    if (axis < 0) continue;
    const std::int64_t here = tensor.shape()[static_cast<std::size_t>(axis)];
    if (first && here != count) {
      fail(name, ":/", escaped(path), ": ", here, " sentences, but /", escaped(*first), " has ", count);
    }
    first = &path;
    count = here;
  }
  return count;
}

void check_path(const std::string& path, const std::string& name) {
  std::size_t start = 0;
  while (true) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    const std::string part = path.substr(start, end - start);
    if (part.empty() || part == "." || part == ".." || part.find('\0') != std::string::npos) {
      fail(name, ": \"", escaped(path), "\" is not a valid name of a tensor or group");
    }
    if (end == path.size()) return;
    start = end + 1;
  }
}

/// The string tensors of the signal's group whose dimensions are among the signal's, for the attribute
/// `coordinates` of xarray: "query_token key_token".
std::string coordinates_of(const TensorMap& map, const std::string& group, const Tensor& signal) {
  std::vector<std::string> names;
  for (const auto& [path, tensor] : map.tensors()) {
    const auto& dims = tensor.dims();
    const bool along = !dims.empty() && std::ranges::all_of(dims, [&](const std::string& dim) {
      return axis_of(signal.dims(), dim) >= 0;
    });
    if (tensor.dtype() == DType::string && parent_of(path) == group && along) names.push_back(leaf_of(path));
  }
  return joined(names, " ");
}

/// Size of the parts when `size` is cut into as few even parts of at most `most` as possible.
std::int64_t even_part(std::int64_t size, std::int64_t most) {
  const std::int64_t parts = std::max<std::int64_t>((size + most - 1) / most, 1);
  return (size + parts - 1) / parts;
}

/// Halves the outermost sizes until a chunk fits the cache.
void shrink_to_cache(Shape& chunk, std::int64_t bytes) {
  for (std::int64_t& size : chunk) {
    while (size > 1 && element_count(chunk) > kChunkBytes / bytes) size = (size + 1) / 2;
  }
}

}  // namespace

MapWriter::MapWriter(hid_t file, Storage storage, WriteOptions options, std::string name)
    : file_(file), storage_(storage), options_(std::move(options)), name_(std::move(name)) {}

void MapWriter::append(const TensorMap& map) {
  if (!started_)
    lay_out(map);
  else
    extend(map);
}

void MapWriter::finish(InStream place) {
  write_scales();
  for (const auto& [path, dataset] : datasets_) describe(dataset, path);
  if (place.is_first) write_attribute(group(""), "stream_begin", std::int64_t{1}, where(""));
  if (place.is_last) write_attribute(group(""), "stream_end", std::int64_t{1}, where(""));
}

// ---- the first map ----

void MapWriter::check(const TensorMap& map) {
  sentences_ = count_sentences(map, name_);
  for (const auto& [path, tensor] : map.tensors()) note_dimensions(path, tensor);
  for (const auto& [path, info] : map.groups) {
    if (!path.empty()) check_path(path, name_);
    if (!path.empty() && !info.signal.empty() && !map.contains(path + "/" + info.signal))
      fail(where(path), ": the signal \"", escaped(info.signal), "\" is not in the group");
    if (!info.title.empty() && map.contains(path + "/title"))
      fail(where(path), ": has both a title and a tensor named title");
  }
}

void MapWriter::lay_out(const TensorMap& map) {
  started_ = true;
  check(map);
  for (const auto& [path, tensor] : map.tensors()) create_dataset(path, tensor);
  for (const auto& [path, info] : map.groups) write_group(map, path, info);
  for (const auto& [path, tensor] : map.tensors()) {
    write_values(path, datasets_.at(path), tensor, 0);
  }
  write_root(map);
}

void MapWriter::write_root(const TensorMap& map) {
  Attributes root = stamped(map.attributes, options_.command);
  root.erase("stream_begin");
  root.erase("stream_end");
  root.erase("default");
  // The newest group is the one that holds the last tensor: tools add theirs at the end.
  for (const auto& [path, tensor] : map.tensors()) {
    auto found = map.groups.find(parent_of(path));
    if (found != map.groups.end() && !found->second.signal.empty() && !found->first.empty()) {
      root["default"] = found->first;
    }
  }
  for (const auto& [name, value] : root) write_attribute(group(""), name, value, where(""));
}

hid_t MapWriter::group(const std::string& path) {
  return group_of(groups_, file_, path, name_);
}

void MapWriter::write_group(const TensorMap& map, const std::string& path, const Group& info) {
  const hid_t object = group(path);
  const bool is_plot = !info.signal.empty() && !path.empty();
  if (is_plot) {
    const Tensor& signal = map.at(path + "/" + info.signal);
    std::vector<std::string> axes = signal.dims();
    if (axes.empty()) axes.assign(signal.shape().size(), ".");
    write_attribute(object, "NX_class", "NXdata", where(path));
    write_attribute(object, "signal", info.signal, where(path));
    write_attribute(object, "axes", axes, where(path));
    const std::string coordinates = coordinates_of(map, path, signal);
    if (!coordinates.empty() && !signal.attributes.contains("coordinates"))
      write_attribute(datasets_.at(path + "/" + info.signal).id, "coordinates", coordinates, where(path));
    if (!info.default_slice.empty())
      write_attribute(object, "default_slice", info.default_slice, where(path));
  }
  for (const auto& [name, value] : info.attributes) write_attribute(object, name, value, where(path));
  if (info.title.empty()) return;
  const std::string title = path + "/title";
  Dataset dataset = new_dataset(title, DType::string, {}, {});
  write_values(title, dataset, Tensor::of<std::string>({info.title}, {}, {}), 0);
  describe(dataset, title);
}

std::pair<std::string, std::string> MapWriter::place_of(const std::string& path, const std::string& dim,
                                                        std::int64_t size) {
  const std::string parameters = parameters_group(path);
  if (parameters.empty()) return {parent_of(path), dim};
  return {parameters, concat(dim, "_", size)};
}

/// Collects the named dimensions of each group and checks that its tensors agree on their sizes.
void MapWriter::note_dimensions(const std::string& path, const Tensor& tensor) {
  check_path(path, name_);
  const auto& dims = tensor.dims();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].empty()) continue;
    if (std::count(dims.begin(), dims.end(), dims[i]) > 1) {
      fail(where(path), ": two dimensions are named ", escaped(dims[i]), ": viewers need distinct names");
    }
    if (dims[i] == kSentenceDim && !parameters_group(path).empty())
      fail(where(path), ": a parameter has a dimension \"sentence\", along which it would grow");
    if (dims[i].find('/') != std::string::npos)
      fail(where(path), ": \"", escaped(dims[i]), "\" is not a valid name of a dimension");
    const auto [group, scale] = place_of(path, dims[i], tensor.shape()[i]);
    auto [it, is_new] = dimensions_[group].try_emplace(scale);
    if (is_new) it->second.size = tensor.shape()[i];
    if (it->second.size != tensor.shape()[i]) {
      fail(where(path), ": dimension ", escaped(dims[i]), " has size ", tensor.shape()[i], " here and ",
           it->second.size, " elsewhere in the group: name them differently");
    }
  }
}

MapWriter::Dataset MapWriter::new_dataset(const std::string& path, DType dtype, const Shape& shape,
                                          const std::vector<std::string>& dims) {
  Shape chunk = chunk_of(shape, dims, dtype);
  const Handle plist = creation_list(shape, chunk, dtype);
  const Handle text = string_type();
  const hid_t type = dtype == DType::string ? text.get() : element_type(dtype).in_file;
  Handle id = own(H5Dcreate2(group(parent_of(path)), leaf_of(path).c_str(), type, space_for(shape, dims),
                             H5P_DEFAULT, plist, H5P_DEFAULT),
                  H5Dclose, where(path), ": cannot create the dataset");
  return {std::move(id), dtype, shape, dims, std::move(chunk)};
}

void MapWriter::create_dataset(const std::string& path, const Tensor& tensor) {
  Dataset dataset = new_dataset(path, tensor.dtype(), tensor.shape(), tensor.dims());
  dataset.attributes = tensor.attributes;
  if (storage_ == Storage::file && !has_sentences(tensor.dims())) dataset.digest = digest_of(tensor);
  datasets_.emplace(path, std::move(dataset));
}

Handle MapWriter::space_for(const Shape& shape, const std::vector<std::string>& dims) const {
  if (shape.empty()) return own(H5Screate(H5S_SCALAR), H5Sclose, name_);
  const std::vector<hsize_t> size = sizes_of(shape);
  std::vector<hsize_t> most = size;
  for (std::size_t i = 0; i < dims.size() && storage_ == Storage::file && has_sentences(dims); ++i) {
    if (dims[i] == kSentenceDim || is_padded_dim(dims[i])) most[i] = H5S_UNLIMITED;
  }
  return own(H5Screate_simple(static_cast<int>(size.size()), size.data(), most.data()), H5Sclose, name_,
             ": cannot make a dataset of shape ", to_string(shape));
}

/// Empty for what does not grow and is small.
Shape MapWriter::chunk_of(const Shape& shape, const std::vector<std::string>& dims, DType dtype) const {
  const bool can_grow = storage_ == Storage::file && has_sentences(dims);
  if (!can_grow && element_count(shape) * element_type(dtype).bytes <= kCompactBytes) return {};
  Shape chunk = shape;
  for (std::size_t i = 0; i < chunk.size(); ++i) {
    if (can_grow && is_padded_dim(dims[i])) chunk[i] = even_part(chunk[i], kPaddedChunk);
    // One layer and one head per chunk: pictures show one at a time.
    if (storage_ == Storage::file && !dims.empty() && (dims[i] == "layer" || dims[i] == "head")) chunk[i] = 1;
    chunk[i] = std::max<std::int64_t>(chunk[i], 1);
  }
  shrink_to_cache(chunk, element_type(dtype).bytes);
  return chunk;
}

Handle MapWriter::creation_list(const Shape& shape, const Shape& chunk, DType dtype) const {
  Handle plist = own(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, name_);
  require(H5Pset_obj_track_times(plist, false), name_);
  if (chunk.empty()) {
    if (element_count(shape) > 0) require(H5Pset_layout(plist, H5D_COMPACT), name_);
    return plist;
  }
  require(H5Pset_chunk(plist, static_cast<int>(chunk.size()), sizes_of(chunk).data()), name_,
          ": cannot set chunks");
  if (dtype == DType::string) return plist;  // HDF5 filters no references into its heap
  require(H5Pset_fletcher32(plist), name_, ": cannot set checksums");
  return plist;
}

// ---- dimension scales ----

void MapWriter::write_scales() {
  for (auto& [group_path, dimensions] : dimensions_) {
    for (auto& [dim, dimension] : dimensions) create_scale(inside(group_path, dim), dim, dimension);
  }
  if (options_.scales) attach_scales();
}

namespace {

/// An element of a scale's REFERENCE_LIST, as the HDF5 dimension scale specification has it.
struct ScaleUse {
  hobj_ref_t dataset;
  int dimension;
  int padding = 0;  // which is written too
};

hobj_ref_t reference_to(hid_t object, const std::string& where) {
  hobj_ref_t reference = 0;
  require(H5Rcreate(&reference, object, ".", H5R_OBJECT, -1), where, ": cannot refer to it");
  return reference;
}

/// A one-dimensional attribute.
void write_list(hid_t object, const char* name, hid_t type, std::size_t size, const void* values,
                const std::string& where) {
  const hsize_t count = size;
  const Handle space = own(H5Screate_simple(1, &count, nullptr), H5Sclose, where);
  const Handle attribute = own(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                               where, ": attribute ", name);
  require(H5Awrite(attribute, type, values), where, ": attribute ", name);
}

Handle scale_use_type(const std::string& where) {
  Handle type = own(H5Tcreate(H5T_COMPOUND, sizeof(ScaleUse)), H5Tclose, where);
  require(H5Tinsert(type, "dataset", HOFFSET(ScaleUse, dataset), H5T_STD_REF_OBJ), where);
  require(H5Tinsert(type, "dimension", HOFFSET(ScaleUse, dimension), H5T_NATIVE_INT), where);
  return type;
}

}  // namespace

/// Does what H5DSattach_scale() does for one dimension after the other, which rewrites the attributes for each.
void MapWriter::attach_scales() {
  const Handle list_type = own(H5Tvlen_create(H5T_STD_REF_OBJ), H5Tclose, name_),
               use_type = scale_use_type(name_);
  struct Scale {
    hobj_ref_t reference;
    std::vector<ScaleUse> uses;
  };
  std::map<std::string, Scale> scales;  // by path
  for (const auto& [group_path, dimensions] : dimensions_)
    for (const auto& [dim, dimension] : dimensions) {
      const std::string path = inside(group_path, dim);
      scales[path] = {reference_to(dimension.scale, where(path)), {}};
    }
  for (const auto& [path, dataset] : datasets_) {
    const hobj_ref_t reference = reference_to(dataset.id, where(path));
    std::vector<hvl_t> lists(dataset.dims.size(), hvl_t{0, nullptr});
    for (std::size_t i = 0; i < lists.size(); ++i) {
      if (dataset.dims[i].empty()) continue;
      const auto [group_path, dim] = place_of(path, dataset.dims[i], dataset.extent[i]);
      const std::string place = inside(group_path, dim);
      if (path == place) continue;  // it is the scale
      Scale& scale = scales.at(place);
      scale.uses.push_back({.dataset = reference, .dimension = static_cast<int>(i)});
      lists[i] = {1, &scale.reference};
    }
    if (std::ranges::any_of(lists, [](const hvl_t& list) { return list.len > 0; }))
      write_list(dataset.id, "DIMENSION_LIST", list_type, lists.size(), lists.data(), where(path));
  }
  for (const auto& [group_path, dimensions] : dimensions_)
    for (const auto& [dim, dimension] : dimensions) {
      const std::string path = inside(group_path, dim);
      const std::vector<ScaleUse>& uses = scales.at(path).uses;
      if (!uses.empty())
        write_list(dimension.scale, "REFERENCE_LIST", use_type, uses.size(), uses.data(), where(path));
    }
}

/// netCDF's mark for the scale of a dimension without values.
std::string bare_dimension(std::int64_t size) {
  char text[80];
  std::snprintf(text, sizeof text, "This is a netCDF dimension but not a netCDF variable. %10lld",
                static_cast<long long>(size));
  return text;
}

void MapWriter::create_scale(const std::string& path, const std::string& dim, Dimension& dimension) {
  if (auto it = datasets_.find(path); it != datasets_.end()) {
    if (it->second.dims != std::vector{dim})
      fail(where(path), ": a tensor has the name of a dimension of its group");
    if (!options_.scales) return;
    dimension.scale = own(H5Dopen2(file_, ("/" + path).c_str(), H5P_DEFAULT), H5Dclose, where(path));
    require(H5DSset_scale(dimension.scale, dim.c_str()), where(path), ": cannot mark the dimension scale");
    return;
  }
  Dataset dataset = new_dataset(path, DType::i32, {dimension.size}, {});
  const bool is_bare = is_model_path(path);  // the rows of a matrix have no numbers that anyone plots
  if (!is_bare) {
    std::vector<std::int32_t> index(static_cast<std::size_t>(dimension.size));
    std::iota(index.begin(), index.end(), 0);
    write_values(path, dataset, Tensor::of<std::int32_t>(std::move(index), {dimension.size}, {}), 0);
  }
  dimension.scale = std::move(dataset.id);
  require(H5DSset_scale(dimension.scale, is_bare ? bare_dimension(dimension.size).c_str() : dim.c_str()),
          where(path), ": cannot mark the dimension scale");
}

/// The names of the dimensions are an attribute, which we read, and labels, which users of h5py see
/// (H5DSset_label() would rewrite them for each).
void MapWriter::describe(const Dataset& dataset, const std::string& path) {
  const auto& dims = dataset.dims;
  if (dataset.dtype == DType::string)
    write_attribute(dataset.id, std::string(kChecksum), static_cast<std::int64_t>(dataset.checksum),
                    where(path));
  for (const auto& [name, value] : dataset.attributes) write_attribute(dataset.id, name, value, where(path));
  if (std::ranges::all_of(dims, [](const std::string& dim) { return dim.empty(); })) return;
  write_attribute(dataset.id, "dims", dims, where(path));
  std::vector<const char*> labels;
  for (const std::string& dim : dims) labels.push_back(dim.empty() ? nullptr : dim.c_str());
  const Handle text = own(H5Tcopy(H5T_C_S1), H5Tclose, name_);
  require(H5Tset_size(text, H5T_VARIABLE), name_);
  write_list(dataset.id, "DIMENSION_LABELS", text, labels.size(), labels.data(), where(path));
}

// ---- the following maps ----

void MapWriter::extend(const TensorMap& map) {
  if (storage_ == Storage::image) fail(name_, ": an image holds one tensor map only");
  if (map.tensors().size() < datasets_.size()) {
    for (const auto& [path, dataset] : datasets_)
      if (!map.contains(path)) fail(where(path), ": is in the first frame but not in a later one");
  }
  const std::int64_t added = count_sentences(map, name_);
  for (const auto& [path, tensor] : map.tensors()) {
    auto it = datasets_.find(path);
    if (it == datasets_.end()) fail(where(path), ": is in a later frame but not in the first");
    grow(path, it->second, tensor);
  }
  for (const auto& [path, tensor] : map.tensors()) {
    if (has_sentences(tensor.dims())) write_values(path, datasets_.at(path), tensor, sentences_);
  }
  sentences_ += added;
}

/// Makes room for the sentences of `tensor` and for its width.
void MapWriter::grow(const std::string& path, Dataset& dataset, const Tensor& tensor) {
  const Shape& shape = tensor.shape();
  const auto& dims = dataset.dims;
  if (tensor.dtype() != dataset.dtype || tensor.dims() != dims || shape.size() != dataset.extent.size()) {
    fail(where(path), ": changes its type or dimensions from one frame to the next");
  }
  if (!has_sentences(dims)) {
    if (shape == dataset.extent && digest_of(tensor) == dataset.digest) return;
    fail(where(path), ": differs from frame to frame but has no dimension \"sentence\" to gather along");
  }
  Shape wanted = dataset.extent;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == kSentenceDim)
      wanted[i] = sentences_ + shape[i];
    else if (is_padded_dim(dims[i]))
      wanted[i] = std::max(wanted[i], shape[i]);
    else if (wanted[i] != shape[i]) {
      fail(where(path), ": dimension ", escaped(dims[i]), " is ", shape[i], " in a later frame, ", wanted[i],
           " in the first");
    }
  }
  if (wanted == dataset.extent) return;
  require(H5Dset_extent(dataset.id, sizes_of(wanted).data()), where(path), ": cannot grow to ",
          to_string(wanted));
  dataset.extent = wanted;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].empty()) continue;
    Dimension& dimension = dimensions_.at(parent_of(path)).at(dims[i]);
    dimension.size = std::max(dimension.size, wanted[i]);
  }
}

/// Writes numbers as whole chunks, each with its checksum, without the copies that HDF5 makes. False, and
/// nothing is written, if they begin within a chunk.
bool MapWriter::write_chunks(const Dataset& dataset, const Tensor& tensor, const Shape& start,
                             const std::string& place) {
  const Shape& chunk = dataset.chunk;
  if (chunk.empty() || tensor.dtype() == DType::string || std::endian::native != std::endian::little)
    return false;
  for (std::size_t i = 0; i < chunk.size(); ++i)
    if (start[i] % chunk[i] != 0) return false;
  const std::int64_t item = item_bytes(tensor.dtype());
  const Shape to_shape = in_bytes(chunk, item), from_shape = in_bytes(tensor.shape(), item),
              beginning(to_shape.size(), 0);
  const auto bytes = static_cast<std::size_t>(element_count(to_shape));
  chunk_.resize(bytes + kFletcherBytes);
  Shape from = beginning;
  do {
    Shape size = to_shape;
    std::vector<hsize_t> at;
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      size[i] = std::min(chunk[i], tensor.shape()[i] - from[i]);
      at.push_back(static_cast<hsize_t>(start[i] + from[i]));
    }
    const std::span<std::byte> values = std::span(chunk_).first(bytes);
    if (size != to_shape) std::ranges::fill(values, std::byte{0});
    copy_part<std::byte>(numbers_of(tensor), from_shape, from, values, to_shape, beginning, size);
    put_fletcher32(values, std::span(chunk_).last<kFletcherBytes>());
    require(H5Dwrite_chunk(dataset.id, H5P_DEFAULT, 0, at.data(), chunk_.size(), chunk_.data()), place,
            ": cannot write");
  } while (next_block(from, beginning, to_shape, from_shape));
  return true;
}

void MapWriter::write_values(const std::string& path, Dataset& dataset, const Tensor& tensor,
                             std::int64_t at) {
  if (tensor.size() == 0) return;
  const std::string place = where(path);
  Shape start(tensor.shape().size(), 0);
  if (const auto axis = sentence_axis_of(dataset.dims); axis >= 0) start[static_cast<std::size_t>(axis)] = at;
  if (write_chunks(dataset, tensor, start, place)) return;
  Handle in_file = own(H5Dget_space(dataset.id), H5Sclose, place);
  Handle in_memory = own(H5Scopy(in_file), H5Sclose, place);
  if (!start.empty()) in_memory = select(in_file, sizes_of(start), sizes_of(tensor.shape()), place);
  const bool is_text = tensor.dtype() == DType::string;
  const Handle text = string_type();
  const std::vector<const char*> strings = is_text ? c_strings(tensor, place) : std::vector<const char*>{};
  const Handle transfer = own(H5Pcreate(H5P_DATASET_XFER), H5Pclose, place);
  require(H5Pset_buffer(transfer, kConversionBytes, nullptr, nullptr), place);
  require(H5Dwrite(dataset.id, is_text ? text.get() : element_type(tensor.dtype()).in_memory, in_memory,
                   in_file, transfer,
                   is_text ? static_cast<const void*>(strings.data())
                           : static_cast<const void*>(numbers_of(tensor).data())),
          place, ": cannot write");
  if (is_text) dataset.checksum += checksum_of(tensor.values<std::string>(), tensor.shape(), start);
}

}  // namespace heed::io
