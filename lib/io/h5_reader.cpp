#include "io/h5_reader.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>

#include "io/copy_part.h"
#include "io/fletcher32.h"
#include "io/h5_attributes.h"
#include "io/h5_chunks.h"
#include "io/layout.h"
#include "io/provenance.h"

namespace heed::io {
namespace {

constexpr int kMaxDepth = 32;
constexpr std::size_t kMaxObjects = 65536;
constexpr std::int64_t kCheckedAtOnce = 4096;  // rows of strings
/// Batches are read together up to this size and this number of sentences.
constexpr std::int64_t kBytesRead = std::int64_t{2} << 20, kSentencesRead = 1024;
constexpr std::string_view kTitle = "title";  // of a group that is a plot

/// Removes an attribute from the map and returns it as a list of strings; a single string is a list of one, a
/// missing attribute an empty list.
std::vector<std::string> take_list(Attributes& attributes, const std::string& name) {
  const auto taken = attributes.extract(name);
  if (taken.empty()) return {};
  if (auto* many = std::get_if<std::vector<std::string>>(&taken.mapped())) return *many;
  if (auto* one = std::get_if<std::string>(&taken.mapped())) return {*one};
  return {};
}

std::string take_text(Attributes& attributes, const std::string& name) {
  const std::vector<std::string> list = take_list(attributes, name);
  return list.size() == 1 ? list[0] : "";
}

std::optional<std::int64_t> take_number(Attributes& attributes, std::string_view name) {
  const auto taken = attributes.extract(std::string(name));
  auto* number = taken.empty() ? nullptr : std::get_if<std::int64_t>(&taken.mapped());
  return number ? std::optional(*number) : std::nullopt;
}

/// Attributes of HDF5 and netCDF themselves, and those that the writer sets.
void drop_plumbing(Attributes& attributes) {
  for (const char* name : {"CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS",
                           "_Netcdf4Dimid", "_Netcdf4Coordinates", "_NCProperties", "coordinates", "dims"}) {
    attributes.erase(name);
  }
}

/// Whether `only`, which is sorted because a model has thousands of entries, contains the path or a group
/// around it.
bool is_wanted(const std::vector<std::string>& only, const std::string& path) {
  if (only.empty()) return true;
  for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1))
    if (std::ranges::binary_search(only, std::string_view(path).substr(0, end))) return true;
  return std::ranges::binary_search(only, path);
}

/// Whether the object at `path` is wanted or contains one that is.
bool leads_to_wanted(const std::vector<std::string>& only, const std::string& path) {
  if (is_wanted(only, path)) return true;
  const std::string inner = path + '/';
  const auto next = std::ranges::lower_bound(only, inner);
  return next != only.end() && next->starts_with(inner);
}

/// Memory for variable-length strings while HDF5 reads them. Many references to one long string expand a
/// small file, so it never allocates more than the rest of the budget.
class TextArena {
 public:
  explicit TextArena(std::int64_t most) : left_(most) {}
  std::int64_t used() const { return used_; }
  bool is_exhausted() const { return exhausted_; }
  static void* allocate(std::size_t size, void* self) { return static_cast<TextArena*>(self)->take(size); }
  static void release(void*, void*) {}  // the arena frees everything

 private:
  void* take(std::size_t size) {
    if (size > static_cast<std::size_t>(left_)) {
      exhausted_ = true;
      return nullptr;
    }
    left_ -= static_cast<std::int64_t>(size);
    used_ += static_cast<std::int64_t>(size);
    constexpr std::size_t block = 1 << 16;
    if (size > block / 4) return blocks_.emplace_back(new char[size]).get();
    if (size > room_) {
      next_ = blocks_.emplace_back(new char[block]).get();
      room_ = block;
    }
    char* piece = next_;
    next_ += size;
    room_ -= size;
    return piece;
  }

  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  std::size_t room_ = 0;
  std::int64_t left_;
  std::int64_t used_ = 0;
  bool exhausted_ = false;
};

std::string trimmed(const char* text, std::size_t width, H5T_str_t padding) {
  std::size_t size = strnlen(text, width);
  while (padding == H5T_STR_SPACEPAD && size > 0 && text[size - 1] == ' ') --size;
  return {text, size};
}

/// The selected part of a dataset and its memory.
struct Selection {
  Handle in_file, in_memory;
  Shape shape;
};

template <class T>
Tensor read_numbers(const CheckedDataset& dataset, const Selection& part, std::vector<std::string> dims,
                    const std::string& where) {
  std::vector<T> values(static_cast<std::size_t>(element_count(part.shape)));
  // HDF5 converts no enumeration: a boolean is read as it is stored, in one byte.
  Handle stored = dataset.is_bool ? own(H5Dget_type(dataset.id), H5Tclose, where) : Handle();
  const hid_t type = dataset.is_bool ? stored.get() : element_type(dataset.dtype).in_memory;
  if (!values.empty()) {
    require(H5Dread(dataset.id, type, part.in_memory, part.in_file, H5P_DEFAULT, values.data()), where,
            ": cannot read its values (damaged?)");
  }
  return Tensor::of<T>(std::move(values), part.shape, std::move(dims));
}

std::vector<std::string> read_fixed_strings(const CheckedDataset& dataset, const Selection& part,
                                            const std::string& where) {
  Handle type = own(H5Dget_type(dataset.id), H5Tclose, where);
  const std::size_t width = H5Tget_size(type);
  const H5T_str_t padding = H5Tget_strpad(type);
  std::vector<char> raw(static_cast<std::size_t>(element_count(part.shape)) * width);
  require(H5Dread(dataset.id, type, part.in_memory, part.in_file, H5P_DEFAULT, raw.data()), where,
          ": cannot read");
  std::vector<std::string> text;
  for (std::size_t i = 0; i < raw.size(); i += width) text.push_back(trimmed(&raw[i], width, padding));
  return text;
}

std::vector<std::string> read_variable_strings(const CheckedDataset& dataset, const Selection& part,
                                               const std::string& where, ByteBudget& budget) {
  std::vector<char*> raw(static_cast<std::size_t>(element_count(part.shape)), nullptr);
  TextArena arena(budget.text_left());
  Handle transfer = own(H5Pcreate(H5P_DATASET_XFER), H5Pclose, where);
  require(H5Pset_buffer(transfer, kConversionBytes, nullptr, nullptr), where);
  require(H5Pset_vlen_mem_manager(transfer, TextArena::allocate, &arena, TextArena::release, &arena), where);
  // Read with the file's own character set: HDF5 does not convert between ASCII and UTF-8, which
  // is not needed.
  Handle type = own(H5Dget_type(dataset.id), H5Tclose, where);
  const herr_t result = H5Dread(dataset.id, type, part.in_memory, part.in_file, transfer, raw.data());
  if (arena.is_exhausted()) fail(where, ": its strings need more memory than is plausible or allowed");
  require(result, where, ": cannot read its strings (damaged?)");
  budget.take_text(arena.used(), where);
  std::vector<std::string> text;
  text.reserve(raw.size());
  for (const char* item : raw) text.emplace_back(item ? item : "");
  return text;
}

Tensor read_strings(const CheckedDataset& dataset, const Selection& part, std::vector<std::string> dims,
                    const std::string& where, ByteBudget& budget) {
  std::vector<std::string> text;
  if (element_count(part.shape) > 0) {
    text = dataset.is_fixed_string ? read_fixed_strings(dataset, part, where)
                                   : read_variable_strings(dataset, part, where, budget);
  }
  return Tensor::of<std::string>(std::move(text), part.shape, std::move(dims));
}

/// Name of the first scale that `list`, one element of DIMENSION_LIST, refers to; empty when the
/// reference is invalid.
std::string name_of_scale(hid_t dataset, const hvl_t& list) {
  if (list.len == 0 || list.len > 16) return {};
  Handle scale(H5Rdereference2(dataset, H5P_DEFAULT, H5R_OBJECT, list.p), H5Oclose);
  if (scale.get() < 0) return {};
  char path[1024];
  const ssize_t size = H5Iget_name(scale, path, sizeof path);
  return size > 0 && size < static_cast<ssize_t>(sizeof path) ? leaf_of(path) : std::string();
}

}  // namespace

MapReader::MapReader(Handle file, std::uint64_t stored, const ReadOptions& options, std::string name)
    : file_(std::move(file)), stored_(stored), name_(std::move(name)), options_(options), budget_(stored) {
  std::ranges::sort(options_.only);
  const Handle root = open_root();
  read_root(root);
  list(root);
}

Handle MapReader::open_root() const {
  return own(H5Gopen2(file_, "/", H5P_DEFAULT), H5Gclose, name_, ": cannot open the root group");
}

void MapReader::narrow(const std::vector<std::string>& only) {
  options_.only = only;
  std::ranges::sort(options_.only);
  groups_.clear(), signal_axes_.clear(), entries_.clear();
  widths_ = TrimmedWidths();
  objects_ = 0;
  sentences_ = -1;
  list(open_root());
}

bool MapReader::is_heed() const {
  const std::string* format = text_of(attributes_, "format");
  return format && *format == "heed";
}

// ---- listing the content ----

void MapReader::read_root(hid_t root) {
  attributes_ = read_attributes(root, where(""));
  expect_known_format(attributes_, name_);
  first_sentence_of(attributes_, name_);
  begins_stream_ = attributes_.erase("stream_begin") > 0;
  ends_stream_ = attributes_.erase("stream_end") > 0;
  attributes_.erase("NX_class");
  drop_plumbing(attributes_);
}

void MapReader::list(hid_t root) {
  walk(root, "", 0);
  finish_catalogue();
}

void MapReader::walk(hid_t group, const std::string& path, int depth) {
  if (depth > kMaxDepth) fail(where(path), ": groups nested deeper than ", kMaxDepth);
  if (!path.empty()) read_group(group, path);
  for_each_object(
      group, path.empty() ? name_ + ":" : where(path),
      [&](const std::string& name) {
        return name == kTitle || leads_to_wanted(options_.only, inside(path, name));
      },
      [&](const std::string& name, H5I_type_t kind, Handle object) {
        if (++objects_ > kMaxObjects) fail(name_, ": more than ", kMaxObjects, " objects");
        if (kind == H5I_GROUP) walk(object, inside(path, name), depth + 1);
        if (kind == H5I_DATASET) add_dataset(inside(path, name), path, std::move(object));
      });
}

void MapReader::read_group(hid_t group, const std::string& path) {
  Group info;
  info.attributes = read_attributes(group, where(path));
  drop_plumbing(info.attributes);
  const std::string kind = take_text(info.attributes, "NX_class");
  if (kind == "NXdata") {
    info.signal = take_text(info.attributes, "signal");
    info.default_slice = take_list(info.attributes, "default_slice");
    signal_axes_[path + "/" + info.signal] = take_list(info.attributes, "axes");
  }
  groups_[path] = std::move(info);
}

void MapReader::add_dataset(const std::string& path, const std::string& group_path, Handle object) {
  Entry entry;
  entry.path = path;
  entry.attributes = read_attributes(object, where(path));
  // In heed's files, a scale that is a tensor has named dimensions.
  if (take_text(entry.attributes, "CLASS") == "DIMENSION_SCALE" && !entry.attributes.contains("dims")) return;
  const bool is_title = leaf_of(path) == kTitle && !group_path.empty() && !groups_[group_path].signal.empty();
  if (!is_title && !is_wanted(options_.only, path)) return;
  H5O_info_t info;
  require(H5Oget_info2(object, &info, H5O_INFO_BASIC), where(path), ": cannot find it");
  entry.address = info.addr;
  entry.dataset = open_checked(std::move(object), where(path), budget_);
  if (is_heed() && entry.dataset.dtype == DType::string)
    entry.checksum = take_number(entry.attributes, kChecksum);
  if (is_title && entry.dataset.dtype == DType::string && entry.dataset.shape.empty()) {
    groups_[group_path].title = read(entry, {}).values<std::string>()[0];
    return;
  }
  if (entry.dataset.is_bool) entry.attributes["dtype"] = "bool";
  entry.dims = dims_of(entry);
  drop_plumbing(entry.attributes);
  entries_.push_back(std::move(entry));
}

/// Our attribute first, then labels, then attached scales (netCDF, xarray), then the axes of the plot (a
/// signal that was replaced in h5py has lost both).
std::vector<std::string> MapReader::dims_of(const Entry& entry) const {
  const std::size_t rank = entry.dataset.shape.size();
  Attributes attributes = entry.attributes;
  std::vector<std::string> dims = take_list(attributes, "dims");
  if (dims.size() != rank) dims = take_list(attributes, "DIMENSION_LABELS");
  if (dims.size() != rank) dims = dims_from_scales(entry);
  if (dims.size() != rank) {
    auto axes = signal_axes_.find(entry.path);
    dims = axes == signal_axes_.end() ? std::vector<std::string>() : axes->second;
    std::replace(dims.begin(), dims.end(), std::string("."), std::string());
  }
  const bool some = std::any_of(dims.begin(), dims.end(), [](const std::string& d) { return !d.empty(); });
  if (dims.size() != rank || !some) return {};
  return dims;
}

std::vector<std::string> MapReader::dims_from_scales(const Entry& entry) const {
  const hid_t dataset = entry.dataset.id;
  if (H5Aexists(dataset, "DIMENSION_LIST") <= 0) return {};
  Handle attribute(H5Aopen(dataset, "DIMENSION_LIST", H5P_DEFAULT), H5Aclose);
  if (attribute.get() < 0) return {};
  Handle stored(H5Aget_type(attribute), H5Tclose), space(H5Aget_space(attribute), H5Sclose);
  Handle type(H5Tvlen_create(H5T_STD_REF_OBJ), H5Tclose);
  if (H5Tequal(stored, type) <= 0) return {};
  const std::size_t rank = entry.dataset.shape.size();
  if (H5Sget_simple_extent_npoints(space) != static_cast<hssize_t>(rank)) return {};
  std::vector<hvl_t> lists(rank, hvl_t{0, nullptr});
  if (H5Aread(attribute, type, lists.data()) < 0) return {};
  std::vector<std::string> dims;
  for (const hvl_t& list : lists) dims.push_back(name_of_scale(dataset, list));
  H5Dvlen_reclaim(type, space, H5P_DEFAULT, lists.data());
  return dims;
}

/// Finds the dimension `sentence` and what may be trimmed.
void MapReader::finish_catalogue() {
  const Entry* first = nullptr;
  for (Entry& entry : entries_) {
    entry.sentence_axis = sentence_axis_of(entry.dims);
    if (entry.sentence_axis < 0) continue;
    const std::int64_t count = entry.dataset.shape[static_cast<std::size_t>(entry.sentence_axis)];
    if (first && count != sentences_) {
      fail(where(entry.path), ": ", count, " sentences, but /", escaped(first->path), " has ", sentences_);
    }
    first = &entry;
    sentences_ = count;
  }
  for (const Entry& entry : entries_)
    if (entry.sentence_axis < 0) widths_.keep(entry.path, entry.dims);
  if (options_.as_stored) std::ranges::stable_sort(entries_, {}, &Entry::address);
  // Groups that say nothing, or above no wanted tensor, are only folders.
  std::erase_if(groups_, [&](const auto& group) {
    const Group& info = group.second;
    if (info.signal.empty() && info.title.empty() && info.attributes.empty()) return true;
    return std::none_of(entries_.begin(), entries_.end(),
                        [&](const Entry& e) { return e.path.starts_with(group.first + "/"); });
  });
}

// ---- values ----

Tensor MapReader::read(Entry& entry, const Window& window) {
  const bool whole = window == whole_window(entry);
  if (!entry.has_whole_chunks) expect_whole_chunks(entry.dataset, where(entry.path));
  entry.has_whole_chunks = true;
  if (!whole) check_strings(entry);
  Tensor tensor = read_values(entry, window);
  if (entry.checksum && whole) {
    expect_checksum(entry, checksum_of(tensor.values<std::string>(), tensor.shape(),
                                       std::vector<std::int64_t>(window.size(), 0)));
  }
  tensor.attributes = entry.attributes;
  return tensor;
}

/// Reads a dataset of strings completely before its first part is used: only the sum over all verifies it.
void MapReader::check_strings(Entry& entry) {
  if (!entry.checksum) return;
  const ByteBudget before = budget_;
  std::uint64_t sum = 0;
  Window window = whole_window(entry);
  std::vector<std::int64_t> start(window.size(), 0);
  for (const std::int64_t rows = window[0].second; start[0] < rows; start[0] += kCheckedAtOnce) {
    window[0] = {start[0], std::min(kCheckedAtOnce, rows - start[0])};
    const Tensor part = read_values(entry, window);
    sum += checksum_of(part.values<std::string>(), part.shape(), start);
    budget_ = before;
  }
  expect_checksum(entry, sum);
  entry.checksum.reset();  // once is enough
}

void MapReader::expect_checksum(const Entry& entry, std::uint64_t sum) const {
  if (static_cast<std::uint64_t>(*entry.checksum) == sum) return;
  fail(where(entry.path),
       ": its strings do not fit their checksum: damaged, or changed by another program, which should have "
       "deleted the attribute ",
       kChecksum, " of the dataset");
}

Tensor MapReader::read_values(const Entry& entry, const Window& window) {
  const CheckedDataset& dataset = entry.dataset;
  const std::string place = where(entry.path);
  Selection part{own(H5Dget_space(dataset.id), H5Sclose, place), {}, {}};
  std::vector<hsize_t> start, count;
  for (auto [from, size] : window) {
    start.push_back(static_cast<hsize_t>(from));
    count.push_back(static_cast<hsize_t>(size));
    part.shape.push_back(size);
  }
  std::int64_t bytes;
  if (__builtin_mul_overflow(element_count(part.shape), dataset.item_bytes, &bytes)) bytes = INT64_MAX;
  budget_.take(bytes, place);
  if (window.empty()) {
    part.in_memory = own(H5Screate(H5S_SCALAR), H5Sclose, place);
  } else if (bytes > 0) {
    part.in_memory = select(part.in_file, start, count, place);
  }
  Tensor tensor = with_type(dataset.dtype, [&]<class T>(T) {
    if constexpr (std::is_same_v<T, std::string>) {
      return read_strings(dataset, part, entry.dims, place, budget_);
    } else {
      return read_numbers<T>(dataset, part, entry.dims, place);
    }
  });
  return tensor;
}

MapReader::Window MapReader::whole_window(const Entry& entry) const {
  Window window;
  for (std::int64_t size : entry.dataset.shape) window.emplace_back(0, size);
  return window;
}

void MapReader::read_lengths(std::int64_t start, std::int64_t count) {
  widths_.clear();
  for (Entry& entry : entries_) {
    if (entry.sentence_axis < 0 || !widths_.are_lengths(entry.path, entry.dataset.dtype)) continue;
    Window window = whole_window(entry);
    window[static_cast<std::size_t>(entry.sentence_axis)] = {start, count};
    widths_.set_lengths(entry.path, read(entry, window));
  }
}

void MapReader::describe(TensorMap& about) const {
  about.groups = groups_;
  about.attributes = attributes_;
}

/// Whole batches, as many as kBytesRead and kSentencesRead allow, and at least one. Where possible they end
/// with a chunk of the largest tensor, so that each chunk is read once.
std::int64_t MapReader::sentences_at_once(std::int64_t batch) const {
  batch = std::max<std::int64_t>(batch, 1);
  double bytes = 0, largest = 0;  // of a sentence
  std::int64_t chunk = batch;
  for (const Entry& entry : entries_) {
    if (entry.sentence_axis < 0) continue;
    const auto axis = static_cast<std::size_t>(entry.sentence_axis);
    auto here = static_cast<double>(entry.dataset.item_bytes);
    for (std::size_t i = 0; i < entry.dataset.shape.size(); ++i)
      if (i != axis) here *= static_cast<double>(entry.dataset.shape[i]);
    bytes += here;
    if (here <= largest || entry.dataset.chunk.empty()) continue;
    largest = here;
    chunk = entry.dataset.chunk[axis];
  }
  const std::int64_t most =
      std::min(static_cast<std::int64_t>(kBytesRead / std::max(bytes, 1.0)), kSentencesRead);
  const std::int64_t step = chunk % batch == 0 && chunk <= most ? chunk : batch;
  return std::max(batch, (at_ + most) / step * step - at_);
}

bool MapReader::next_batches(std::int64_t batch, TensorMap& about, const TensorSink& sink,
                             const ChunkedSink& stored) {
  if (started_ && at_ >= sentences_) return false;
  if (!started_ && entries_.empty()) return false;
  started_ = true;
  budget_.reset();
  const std::int64_t count = std::min(sentences_at_once(batch), std::max<std::int64_t>(sentences_ - at_, 0));
  read_lengths(at_, count);
  std::uint64_t unfetched = stored_;
  for (Entry& entry : entries_) {
    Window window = whole_window(entry);
    for (std::size_t i = 0; i < window.size() && entry.sentence_axis >= 0; ++i) {
      if (static_cast<std::ptrdiff_t>(i) == entry.sentence_axis)
        window[i] = {at_, count};
      else
        window[i].second = widths_.of(entry.path, entry.dims[i], window[i].second);
    }
    hand_over(entry, window, sink, stored, unfetched);
  }
  describe(about);
  set_first_sentence(about.attributes, first_sentence_of(attributes_, name_) + at_);
  at_ += count;
  return true;
}

namespace {

/// Whether chunks are stored unchanged except for their checksum.
bool has_plain_chunks(const CheckedDataset& dataset) {
  return !dataset.chunk.empty() && dataset.filters == std::vector<H5Z_filter_t>{H5Z_FILTER_FLETCHER32};
}

/// The address of the chunk at `at`, if it was written, with this number of bytes and a checksum.
std::optional<std::int64_t> address_of_chunk(const CheckedDataset& dataset, const Shape& at,
                                             std::uint64_t bytes, const std::string& where) {
  unsigned mask = 0;
  haddr_t address = HADDR_UNDEF;
  hsize_t stored = 0;
  require(H5Dget_chunk_info_by_coord(dataset.id, sizes_of(at).data(), &mask, &address, &stored), where,
          ": cannot find a chunk");
  if (address > INT64_MAX || mask != 0 || stored != bytes + kFletcherBytes) return std::nullopt;
  return static_cast<std::int64_t>(address);
}

}  // namespace

/// Nothing for values that HDF5 must convert, inflate or fill in, for a part of chunks that are much larger, nor
/// for more than the file's `unfetched` bytes.
std::optional<ChunkedTensor> MapReader::find_stored(const Entry& entry, const Window& window,
                                                    std::uint64_t& unfetched) {
  const CheckedDataset& dataset = entry.dataset;
  if (dataset.dtype == DType::string || dataset.is_bool || !has_plain_chunks(dataset)) return std::nullopt;
  const std::string place = where(entry.path);
  Handle type = own(H5Dget_type(dataset.id), H5Tclose, place, ": cannot read its type");
  if (H5Tequal(type, element_type(dataset.dtype).in_file) <= 0) return std::nullopt;
  const std::int64_t values = element_count(dataset.chunk);  // whose bytes the budget has, so no overflow
  const std::uint64_t bytes = static_cast<std::uint64_t>(values * dataset.item_bytes);
  if (bytes > kMostFetchedChunk) return std::nullopt;
  ChunkedTensor stored{dataset.dtype, {}, entry.dims, entry.attributes, dataset.chunk, {}, {}};
  Shape first, end;            // of the chunks, by their first elements
  double all = 1, needed = 1;  // chunks
  for (std::size_t i = 0; i < window.size(); ++i) {
    const auto [from, count] = window[i];
    const std::int64_t chunk = dataset.chunk[i];
    // Chunks beyond the dataset would exceed the budget.
    if (count == 0 || chunk > dataset.shape[i]) return std::nullopt;
    stored.shape.push_back(count);
    stored.start.push_back(from % chunk);
    first.push_back(from - from % chunk);
    end.push_back(from + count);
    all *= std::ceil(static_cast<double>(dataset.shape[i]) / static_cast<double>(chunk));
    needed *= std::ceil(static_cast<double>(from % chunk + count) / static_cast<double>(chunk));
  }
  // HDF5 scans all chunks to find one, which must take less time than to read it.
  if (all > std::min(4096.0, static_cast<double>(bytes) / 64)) return std::nullopt;
  const std::int64_t part = element_count(stored.shape);
  if (needed * static_cast<double>(values) > 4 * static_cast<double>(part)) return std::nullopt;
  Shape at = first;
  do {
    const auto address = address_of_chunk(dataset, at, bytes, place);
    if (!address) return std::nullopt;
    stored.addresses.push_back(*address);
  } while (next_block(at, first, dataset.chunk, end));
  if (stored_bytes(stored) > unfetched) return std::nullopt;  // a dataset of several names
  unfetched -= stored_bytes(stored);
  budget_.take(part * dataset.item_bytes, place);
  return stored;
}

void MapReader::hand_over(Entry& entry, const Window& window, const TensorSink& sink,
                          const ChunkedSink& stored, std::uint64_t& unfetched) {
  if (auto found = stored ? find_stored(entry, window, unfetched) : std::nullopt)
    stored(entry.path, std::move(*found));
  else
    sink(entry.path, read(entry, window));
}

void MapReader::whole(TensorMap& about, const TensorSink& sink, const ChunkedSink& stored) {
  budget_.reset();
  std::uint64_t unfetched = stored_;
  for (Entry& entry : entries_) {
    hand_over(entry, whole_window(entry), sink, stored, unfetched);
    entry.dataset.id = Handle();  // frees the chunks that HDF5 keeps for a further read
  }
  describe(about);
}

namespace {

/// Bytes of a value of the dataset, if it can be mapped; 0: it cannot.
std::int64_t mappable_bytes(const CheckedDataset& dataset, const std::string& where) {
  if (dataset.shape.size() != 1 || dataset.dtype != DType::i32) return 0;
  if (!has_plain_chunks(dataset)) return 0;
  Handle type = own(H5Dget_type(dataset.id), H5Tclose, where, ": cannot read its type");
  return H5Tequal(type, H5T_STD_I32LE) > 0 ? 4 : H5Tequal(type, H5T_STD_U16LE) > 0 ? 2 : 0;
}

}  // namespace

void MapReader::layout(TensorMap& about, const TensorSink& sink) {
  for (const Entry& entry : entries_) {
    const std::string place = where(entry.path);
    const CheckedDataset& dataset = entry.dataset;
    const std::int64_t bytes = mappable_bytes(dataset, place);
    if (bytes == 0) continue;
    const std::int64_t chunk = dataset.chunk[0];
    const auto chunk_bytes = static_cast<std::uint64_t>(chunk) * static_cast<std::uint64_t>(bytes);
    if (chunk_bytes > kMostFetchedChunk) fail(place, ": chunks of ", chunk_bytes, " bytes");
    std::vector<std::int64_t> addresses;
    for (std::int64_t at = 0; at < dataset.shape[0]; at += chunk) {
      const auto address = address_of_chunk(dataset, {at}, chunk_bytes, place);
      if (!address) fail(place, ": the chunk of value ", at, " was never written, or has no checksum");
      addresses.push_back(*address);
    }
    const auto count = std::ssize(addresses);
    Tensor tensor = Tensor::of<std::int64_t>(std::move(addresses), {count}, {"chunk"});
    tensor.attributes = {{"size", dataset.shape[0]}, {"chunk", chunk}, {"item_bytes", bytes}};
    sink(entry.path, std::move(tensor));
  }
  describe(about);
}

}  // namespace heed::io
