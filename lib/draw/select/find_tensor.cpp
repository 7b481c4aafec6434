#include "draw/select/find_tensor.h"

#include <optional>
#include <vector>

#include "base/error.h"

namespace heed::draw {
namespace {

/// The signal of `group`, if the map has it.
std::optional<std::string> signal_of(const TensorMap& map, const std::string& group) {
  const auto found = map.groups.find(group);
  if (found == map.groups.end() || found->second.signal.empty()) return std::nullopt;
  const std::string path = in_group(group, found->second.signal);
  return map.contains(path) ? std::optional(path) : std::nullopt;
}

std::string default_tensor(const TensorMap& map) {
  const auto named = map.attributes.find("default");
  if (named != map.attributes.end() && std::holds_alternative<std::string>(named->second)) {
    const std::string& group = std::get<std::string>(named->second);
    if (const auto path = signal_of(map, group.starts_with('/') ? group.substr(1) : group)) return *path;
  }
  std::vector<std::string> signals;
  for (const auto& [group, info] : map.groups) {
    if (const auto path = signal_of(map, group)) signals.push_back(*path);
  }
  if (signals.size() == 1) return signals.front();
  if (map.tensors().size() == 1) return map.tensors().front().first;
  std::vector<std::string> numeric;
  for (const auto& [path, tensor] : map.tensors()) {
    if (tensor.dtype() != DType::string) numeric.push_back(path);
  }
  if (numeric.size() == 1) return numeric.front();
  if (map.tensors().empty()) fail("the input holds no tensors");
  std::string list;
  for (std::size_t i = 0; i < map.tensors().size() && i < 12; ++i) {
    list += concat(i ? ", " : "", escaped(map.tensors()[i].first));
  }
  fail<UsageError>("which tensor? Choose by --name; there are ", list,
                   map.tensors().size() > 12 ? ", ..." : "");
}

}  // namespace

std::string group_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string in_group(const std::string& group, const std::string& name) {
  return group.empty() ? name : group + "/" + name;
}

std::string find_tensor(const TensorMap& map, const std::string& name) {
  if (name.empty()) return default_tensor(map);
  const std::string path = name.starts_with('/') ? name.substr(1) : name;
  if (map.contains(path)) return path;
  if (const auto signal = signal_of(map, path)) return *signal;
  std::vector<std::string> found;
  for (const auto& [candidate, tensor] : map.tensors()) {
    if (candidate.ends_with("/" + path)) found.push_back(candidate);
  }
  for (const auto& [group, info] : map.groups) {
    const auto signal = group.ends_with("/" + path) ? signal_of(map, group) : std::nullopt;
    if (signal) found.push_back(*signal);
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) map.at(path);  // fails, listing what there is
  fail<UsageError>("--name ", escaped(name), " could be /", escaped(found[0]), " or /", escaped(found[1]));
}

}  // namespace heed::draw
