#include "train/checkpoint.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "base/error.h"
#include "io/frame_stream.h"
#include "models/model_file.h"

namespace heed {

namespace {

const std::string kIdentityPath = "checkpoint/identity/";
const std::string kStatePath = "checkpoint/state/";
const std::string kSnapshotPath = "checkpoint/snapshots/";
const std::string kMetricsPrefix = "checkpoint/metrics/";

/// Calls visit(name, member) for each number of the state.
template <class State, class Visit>
void visit_numbers(State& state, Visit&& visit) {
  visit("step", state.step);
  visit("epoch", state.epoch);
  visit("position", state.position);
  visit("validated_step", state.validated_step);
  visit("without_gain", state.without_gain);
  visit("best_score", state.best_score);
  visit("plateau_factor", state.plateau_factor);
  visit("baseline", state.baseline);
  visit("learning_rate", state.learning_rate);
  visit("gradient_norm", state.gradient_norm);
  visit("loss_sum", state.loss_sum);
  visit("tokens", state.tokens);
  visit("seconds", state.seconds);
}

std::string moment_prefix(const std::string& name) {
  return "checkpoint/" + name + "/";
}

Tensor strings(std::vector<std::string> values, const char* dim) {
  const auto size = static_cast<std::int64_t>(values.size());
  return Tensor::of<std::string>(std::move(values), {size}, {dim});
}

void add_identity(const Identity& identity, TensorMap& map) {
  std::vector<std::string> fields, values;
  for (const auto& [field, value, by_default, if_older] : identity) {
    fields.push_back(field);
    values.push_back(value);
  }
  map.add(kIdentityPath + "field", strings(std::move(fields), "field"));
  map.add(kIdentityPath + "value", strings(std::move(values), "field"));
}

/// The best one first (its name is empty if there is none), then those of the last epochs.
void add_snapshots(const TrainState& state, TensorMap& map) {
  std::vector<std::string> names{state.best.name}, digests{state.best.digest};
  std::vector<std::int64_t> epochs{state.best.epoch};
  for (const Snapshot& snapshot : state.epochs) {
    names.push_back(snapshot.name);
    digests.push_back(snapshot.digest);
    epochs.push_back(snapshot.epoch);
  }
  const auto size = static_cast<std::int64_t>(epochs.size());
  map.add(kSnapshotPath + "name", strings(std::move(names), "snapshot"));
  map.add(kSnapshotPath + "digest", strings(std::move(digests), "snapshot"));
  map.add(kSnapshotPath + "epoch", Tensor::of<std::int64_t>(std::move(epochs), {size}, {"snapshot"}));
}

void read_snapshots(const TensorMap& map, TrainState& state) {
  const auto names = map.at(kSnapshotPath + "name").values<std::string>();
  const auto digests = map.at(kSnapshotPath + "digest").values<std::string>();
  const auto epochs = map.at(kSnapshotPath + "epoch").values<std::int64_t>();
  if (names.empty() || digests.size() != names.size() || epochs.size() != names.size()) {
    fail("checkpoint/snapshots: ", names.size(), " names, ", digests.size(), " digests, ", epochs.size(),
         " epochs");
  }
  state.best = {names[0], digests[0], epochs[0]};
  state.epochs.clear();
  for (std::size_t i = 1; i < names.size(); ++i) state.epochs.push_back({names[i], digests[i], epochs[i]});
}

Identity read_identity(const TensorMap& map) {
  const auto fields = map.at(kIdentityPath + "field").values<std::string>();
  const auto values = map.at(kIdentityPath + "value").values<std::string>();
  Identity identity;
  for (std::size_t i = 0; i < std::min(fields.size(), values.size()); ++i)
    identity.push_back({fields[i], values[i]});
  return identity;
}

const std::string* find_value(const Identity& identity, const std::string& field) {
  const auto it =
      std::find_if(identity.begin(), identity.end(), [&](const auto& f) { return f.field == field; });
  return it == identity.end() ? nullptr : &it->value;
}

/// Digests are abbreviated: their beginning distinguishes them.
std::string shown(const std::string& value) {
  if (value.empty()) return "none";
  return value.size() == 64 ? value.substr(0, 12) : escaped(value);
}

void check_identity(const std::string& path, const Identity& saved, const Identity& present) {
  const auto refuse = [&](const std::string& field, const std::string& before, const std::string& now,
                          const std::string& advice) {
    fail<OtherRunError>(escaped(path), ": cannot resume: ", field, " was ", before, ", now it is ", now, ": ",
                        advice);
  };
  const std::string other_run =
      "give the options and texts that the run began with, or begin a new one without --resume";
  for (const auto& [field, value, by_default, if_older] : present) {
    const std::string* before = find_value(saved, field);
    if (before ? *before == value : by_default) continue;
    refuse(field, before ? shown(*before) : "not there", shown(value),
           before || if_older.empty() ? other_run : if_older);
  }
  for (const IdentityField& before : saved) {  // options at their default may not be listed now
    if (!find_value(present, before.field)) refuse(before.field, shown(before.value), "not given", other_run);
  }
}

void read_state(const TensorMap& map, TrainState& state) {
  visit_numbers(state, [&](const char* name, auto& number) {
    const std::string path = kStatePath + name;
    if (std::string_view(name) == "baseline" && !map.contains(path)) return;  // older than hard attention
    const Tensor& tensor = map.at(path);
    expect_shape(path, tensor.shape(), {1});
    number = tensor.values<std::remove_reference_t<decltype(number)>>()[0];
  });
  read_snapshots(map, state);
  state.metrics.clear();
  if (map.contains(kMetricsPrefix + "step")) state.metrics = metrics_from_map(map, kMetricsPrefix);
}

/// Appends values to bytes.
class Writer {
 public:
  template <class T>
  void add(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void add(const std::string& text) {
    add(text.size());
    bytes += text;
  }

  std::string bytes;
};

/// Reads them back.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  void take(T& value) {
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
  }
  void take(std::string& text) {
    std::size_t size = 0;
    take(size);
    text = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
  }

 private:
  std::string_view bytes_;
};

/// Links the current checkpoint, if there is one, to its second name.
void keep_previous(const RunFiles& files) {
  // A second link, made aside and renamed, so that neither name is ever missing.
  const std::string& aside = files.next_previous;
  ::unlink(aside.c_str());
  const bool linked = ::link(files.checkpoint.c_str(), aside.c_str()) == 0;
  if (!linked && errno == ENOENT) return;
  // Without links (some file systems), the first name is missing until the new checkpoint is complete.
  const std::string& from = linked ? aside : files.checkpoint;
  if (::rename(from.c_str(), files.previous_checkpoint.c_str()) != 0) {
    fail(escaped(files.previous_checkpoint), ": cannot keep the previous checkpoint: ", std::strerror(errno));
  }
}

}  // namespace

void add_checkpoint(const TrainState& state, const Identity& identity, TensorMap& map) {
  add_identity(identity, map);
  visit_numbers(state, [&](const char* name, const auto& number) {
    using Number = std::remove_cvref_t<decltype(number)>;
    map.add(kStatePath + name, Tensor::of<Number>({number}, {1}, {"one"}));
  });
  add_snapshots(state, map);
  if (!state.metrics.empty()) metrics_to_map(state.metrics, kMetricsPrefix, true, map);
}

void add_moment(const std::string& name, std::span<const float> moment, const Model<float>& model,
                TensorMap& map) {
  model.parameters.to_map(moment, moment_prefix(name), map);
}

std::string packed(const TrainState& state) {
  Writer out;
  visit_numbers(state, [&](const char*, const auto& number) { out.add(number); });
  const auto add = [&](const Snapshot& snapshot) {
    out.add(snapshot.name);
    out.add(snapshot.digest);
    out.add(snapshot.epoch);
  };
  add(state.best);
  out.add(state.epochs.size());
  for (const Snapshot& snapshot : state.epochs) add(snapshot);
  out.add(state.metrics.size());
  for (const MetricsRow& row : state.metrics) out.add(row);
  return out.bytes;
}

TrainState unpacked(const std::string& bytes) {
  Reader in(bytes);
  TrainState state;
  visit_numbers(state, [&](const char*, auto& number) { in.take(number); });
  const auto take = [&](Snapshot& snapshot) {
    in.take(snapshot.name);
    in.take(snapshot.digest);
    in.take(snapshot.epoch);
  };
  const auto resize = [&](auto& list) {
    std::size_t size = 0;
    in.take(size);
    list.resize(size);
  };
  take(state.best);
  resize(state.epochs);
  for (Snapshot& snapshot : state.epochs) take(snapshot);
  resize(state.metrics);
  for (MetricsRow& row : state.metrics) in.take(row);
  return state;
}

void save_checkpoint(const RunFiles& files, const TensorMap& map) {
  keep_previous(files);
  io::write_map(files.checkpoint, map);
}

TensorMap load_checkpoint(const std::string& path, const Identity& identity, TrainState& state,
                          Model<float>& model) {
  TensorMap map = io::read_map(path);
  try {
    check_identity(path, read_identity(map), identity);
    read_state(map, state);
    model.parameters.from_map(map, kParameterPrefix, model.parameters.values());
  } catch (const OtherRunError&) {
    throw;
  } catch (const Error& error) {
    fail(placed(escaped(path), error.what()));
  }
  return map;
}

void read_moment(const std::string& path, const TensorMap& checkpoint, const std::string& name,
                 const Model<float>& model, std::span<float> moment) {
  at_place(escaped(path), [&] { model.parameters.from_map(checkpoint, moment_prefix(name), moment); });
}

}  // namespace heed
