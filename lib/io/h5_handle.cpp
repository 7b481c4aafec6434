#include "io/h5_handle.h"

#include <algorithm>
#include <cstdlib>

#include "base/exhausted.h"
#include "base/paths.h"
#include "io/byte_stream.h"

namespace heed::io {
namespace {

void prepare_process() {
  const Fragile fragile("the HDF5 library");  // calls itself for ever when its own errors cannot be set up
  reserve_standard_streams();
  setenv("HDF5_USE_FILE_LOCKING", "FALSE",
         1);  // files are replaced whole, so locks would only get in the way
  H5dont_atexit();
  if (H5open() < 0) fail("the HDF5 library failed to initialise");
  H5PLset_loading_state(0);
}

/// One record of HDF5's error stack, innermost first.
herr_t keep_reason(unsigned depth, const H5E_error2_t* record, void* into) {
  auto& reason = *static_cast<std::string*>(into);
  const std::string text = record->desc ? record->desc : "";
  if (depth == 0) reason = text;
  constexpr std::string_view mark = "error message = '";
  const std::size_t start = text.find(mark);
  if (start == std::string::npos) return 0;
  reason = text.substr(start + mark.size(), text.find('\'', start + mark.size()) - start - mark.size());
  return 1;
}

}  // namespace

void start_hdf5() {
  static std::once_flag once;
  std::call_once(once, prepare_process);
  // The error stack belongs to the thread.
  thread_local const bool quiet = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr) >= 0;
  (void)quiet;
}

std::unique_lock<std::mutex> use_hdf5() {
  static std::mutex mutex;
  std::unique_lock lock(mutex);
  start_hdf5();
  return lock;
}

std::string hdf5_reason() {
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_reason, &reason);
  H5Eclear2(H5E_DEFAULT);
  return reason.empty() ? "HDF5 gives no reason" : escaped(reason, 120);
}

Handle string_type() {
  return string_type(H5T_VARIABLE);
}

Handle string_type(std::size_t bytes) {
  Handle type = own(H5Tcopy(H5T_C_S1), H5Tclose, "string type");
  require(H5Tset_size(type, std::max<std::size_t>(bytes, 1)), "string type");
  if (bytes != H5T_VARIABLE) require(H5Tset_strpad(type, H5T_STR_NULLPAD), "string type");
  require(H5Tset_cset(type, H5T_CSET_UTF8), "string type");
  return type;
}

ElementType element_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return {H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, 4};
    case DType::f64:
      return {H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, 8};
    case DType::i32:
      return {H5T_STD_I32LE, H5T_NATIVE_INT32, 4};
    case DType::i64:
      return {H5T_STD_I64LE, H5T_NATIVE_INT64, 8};
    case DType::u8:
      return {H5T_STD_U8LE, H5T_NATIVE_UINT8, 1};
    case DType::string:
      break;
  }
  return {-1, -1, 16};  // a reference into HDF5's heap
}

hid_t group_of(std::map<std::string, Handle>& groups, hid_t file, const std::string& path,
               const std::string& name) {
  if (const auto it = groups.find(path); it != groups.end()) return it->second;
  Handle made;
  if (path.empty()) {
    made = own(H5Gopen2(file, "/", H5P_DEFAULT), H5Gclose, name);
  } else {
    const std::string where = name + ":/" + escaped(path);
    Handle plist = own(H5Pcreate(H5P_GROUP_CREATE), H5Pclose, where);
    require(H5Pset_obj_track_times(plist, false), where);
    const hid_t parent = group_of(groups, file, parent_of(path), name);
    made = own(H5Gcreate2(parent, leaf_of(path).c_str(), H5P_DEFAULT, plist, H5P_DEFAULT), H5Gclose, where,
               ": cannot create the group");
  }
  return groups.emplace(path, std::move(made)).first->second;
}

Handle select(hid_t space, const std::vector<hsize_t>& start, const std::vector<hsize_t>& count,
              const std::string& what) {
  require(H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr), what);
  return own(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), H5Sclose, what);
}

}  // namespace heed::io
