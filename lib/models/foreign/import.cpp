#include "models/foreign/import.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

#include "base/digest.h"
#include "base/edit_distance.h"
#include "base/error.h"
#include "base/glob.h"
#include "base/log.h"
#include "base/version.h"
#include "io/superblock.h"
#include "models/architectures.h"
#include "models/config_json.h"

namespace heed::foreign {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestCompared = 200;
/// The types of weights.
constexpr std::string_view kRealTypes[] = {"float32", "float16",     "bfloat16",
                                           "float64", "scaled int8", "scaled int16"};

/// "; it has A, B": some names of a folder, none of a file.
std::string files_of(const fs::path& folder) {
  constexpr std::size_t most = 6;
  constexpr int most_read = 1000;
  std::error_code ignored;
  std::set<std::string> names;
  bool has_more = false;
  int read = 0;
  for (fs::directory_iterator at(folder, ignored), end; at != end && read < most_read;
       at.increment(ignored), ++read) {
    const std::string name = at->path().filename().string();
    if (name.starts_with('.')) continue;
    names.insert(escaped(name));
    if (names.size() > most) names.erase(std::prev(names.end())), has_more = true;
  }
  return names.empty() ? ""
                       : concat("; it has ", joined({names.begin(), names.end()}), has_more ? ", ..." : "");
}

/// What to do about a folder's models of Marian, if it has some and none was taken.
std::string hint_of(const Source& source) {
  if (source.files_like("model", ".bin").size() > 1) return "; give one of its model*.bin by name";
  return source.files_like("model", ".bin.gz").empty() ? "" : "; decompress its model*.bin.gz";
}

const Family& family_of(const Source& source) {
  std::vector<std::string> names;
  for (const Family& family : families()) {
    if (family.recognises(source)) return family;
    names.emplace_back(family.name);
  }
  if (source.has_config()) {
    ConfigFields fields = source.config();
    const Json type = fields.get("model_type"), architectures = fields.get("architectures");
    const auto shown = [](const Json& json) { return escaped(json.dump()); };
    fail(escaped(source.path()), "/config.json: model_type is ", type.is_null() ? "missing" : shown(type),
         architectures.is_null() ? "" : "; architectures is " + shown(architectures),
         ": wanted a model of one of ", joined(names));
  }
  if (source.has_weights()) source.weights();  // which may be damaged
  std::error_code error;
  const fs::file_status status = fs::status(source.path(), error);
  if (!fs::exists(status)) fail(escaped(source.path()), ": cannot read: No such file or directory");
  if (io::is_hdf5_file(source.path()))
    fail(escaped(source.path()),
         ": is an HDF5 file, as models of heed are, which need no import: give it as it is by -m, or by "
         "train --init-from to go on training");
  fail(escaped(source.path()),
       fs::is_directory(status) ? ": no model in this folder, wanted" : ": is no model, wanted a folder with",
       " config.json and model.safetensors of one of ", joined(names), ", or a model file of heed",
       files_of(source.path()), hint_of(source));
}

/// A position table is made from the settings, whatever the weights are: wrong settings must cost an error,
/// not memory.
constexpr std::int64_t kLargestTable = std::int64_t{1} << 28;

template <class Config>
void check_positions(const Config& config) {
  if constexpr (std::is_base_of_v<TransformerOptions, Config>) {
    const std::int64_t d_head = config.head_width();
    const PositionSettings positions(config, config.d_model, config.n_heads, d_head, config.max_length);
    const std::int64_t width = std::max<std::int64_t>(positions.computed_width(), 1);
    if (config.max_length > kLargestTable / width)
      fail("max_length is ", config.max_length, ": a table of that many positions of ", width,
           " numbers is too large");
  }
}

/// Checks ranges and choices of the config before anything is made from it.
void check_heed_config(const std::string& json) {
  with_architecture(architecture_of(json), [&](const auto& architecture) {
    typename std::decay_t<decltype(architecture)>::Config config;
    from_json(json, fields_of(config));
    check_config(config);
    check_positions(config);
  });
}

/// The mapping matched with the tensors in the file.
class Match {
 public:
  Match(const Source& source, const Mappings& mappings)
      : source_(source), mappings_(mappings), arrays_(source.weights().arrays()) {
    choose_spelling();
    for (const Mapping& each : mappings_.list()) place(each);
    for (const Mappings::Copy& copy : mappings_.copies()) place(copy);
    leave_out();
    check_options();
    if (!problems_.empty())
      fail(escaped(source_.path()), ": its tensors do not fit its settings: ", listed(problems_));
  }

  struct Placed {
    std::size_t index;  ///< of the weights
    const Mapping* mapping;
  };
  const std::vector<Placed>& placed() const { return placed_; }
  struct PlacedCopy {
    std::size_t copy, original;
  };
  const std::vector<PlacedCopy>& copies() const { return copies_; }

  /// The reason for each tensor that is left out; "" for the others.
  const std::vector<std::string>& reasons() const { return reasons_; }

 private:
  /// A prefix or an ending in the list may be different in the file, but then in all of its names.
  void choose_spelling() {
    const auto any = [&](const auto& test) {
      return std::ranges::any_of(arrays_, test, &io::ArrayInfo::name);
    };
    for (const std::string& prefix : mappings_.prefixes())
      if (!any([&](const std::string& name) { return name.starts_with(prefix); })) dropped_.push_back(prefix);
    for (const auto& [usual, other] : mappings_.endings())
      if (any([&, &other = other](const std::string& name) { return name.ends_with(other); }))
        endings_.emplace_back(usual, other);
    reasons_.resize(arrays_.size());
    is_mapped_.resize(arrays_.size());
  }

  std::string in_file(std::string name) const {
    for (const std::string& prefix : dropped_)
      if (name.starts_with(prefix)) {
        name.erase(0, prefix.size());
        break;
      }
    for (const auto& [usual, other] : endings_)
      if (name.ends_with(usual)) {
        name.replace(name.size() - usual.size(), usual.size(), other);
        break;
      }
    return name;
  }

  void place(const Mapping& mapping) {
    const std::string name = in_file(mapping.source);
    const auto index = source_.find(name);
    if (!index) {
      if (missing_.insert(name).second)
        problems_.push_back(
            concat(escaped(name), ' ', to_string(mapping.shape), " is missing, for ", mapping.parameter));
      return;
    }
    const io::ArrayInfo& info = arrays_[*index];
    if (!is_mapped_[*index] && info.shape != mapping.shape)
      problems_.push_back(
          concat(escaped(name), ": shape ", to_string(info.shape), ", wanted ", to_string(mapping.shape)));
    if (!is_mapped_[*index] && std::ranges::count(kRealTypes, info.type) == 0)
      problems_.push_back(
          concat(escaped(name), ": type ", escaped(info.type), ", wanted floating point: is it quantised?"));
    is_mapped_[*index] = true;
    placed_.push_back({*index, &mapping});
  }

  void place(const Mappings::Copy& copy) {
    const auto at = source_.find(in_file(copy.source)), original = source_.find(in_file(copy.original));
    if (!at || !original) return;
    reasons_[*at] = "copy of " + in_file(copy.original);
    copies_.push_back({*at, *original});
  }

  void leave_out() {
    std::vector<std::string> free;  // names of the list that the file lacks
    for (const std::string& name : missing_) free.push_back(name);
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      if (is_mapped_[i] || !reasons_[i].empty()) continue;
      const std::string& name = arrays_[i].name;
      for (const auto& [glob, reason] : mappings_.ignored())
        if (glob_matches(glob, name)) reasons_[i] = reason;
      for (const std::string& glob : source_.options().ignored_tensors)
        if (glob_matches(glob, name)) reasons_[i] = "ignored by --ignore";
      if (!reasons_[i].empty()) continue;
      std::string text = concat(escaped(name), ' ', to_string(arrays_[i].shape), " has no place");
      // Only for messages, and for names of reasonable length: time grows with their length.
      if (problems_.size() < kMostListed && !free.empty() && name.size() < kLongestCompared)
        text += concat(" (nearest to ",
                       escaped(*std::ranges::min_element(
                           free, {}, [&](const std::string& each) { return edit_distance(name, each); })),
                       ")");
      problems_.push_back(text + ", --ignore leaves it out");
    }
  }
  void check_options() const {
    for (const std::string& glob : source_.options().ignored_tensors) {
      bool matches = false;
      for (std::size_t i = 0; i < arrays_.size() && !matches; ++i)
        matches = !is_mapped_[i] && glob_matches(glob, arrays_[i].name);
      if (!matches)
        fail<OptionError>("--ignore ", escaped(glob), ": no tensor without a place in ",
                          escaped(source_.path()), " has such a name");
    }
  }

  const Source& source_;
  const Mappings& mappings_;
  const std::vector<io::ArrayInfo>& arrays_;
  std::vector<std::string> dropped_;
  std::vector<std::pair<std::string, std::string>> endings_;
  std::vector<Placed> placed_;
  std::vector<PlacedCopy> copies_;
  std::vector<std::string> reasons_;
  std::vector<bool> is_mapped_;
  std::set<std::string> missing_;
  std::vector<std::string> problems_;
};

/// Every parameter is filled exactly once.
void check_parameters(const ParameterSet<float>& parameters, const Mappings& mappings) {
  std::set<std::string> filled;
  for (const Mapping& mapping : mappings.list()) {
    if (!parameters.contains(mapping.parameter))
      fail("no parameter ", mapping.parameter, " for ", mapping.source);
    if (!filled.insert(mapping.parameter).second) fail(mapping.parameter, ": filled twice");
  }
  for (const Parameter& parameter : parameters.list())
    if (!filled.contains(parameter.name)) fail(parameter.name, ": no tensor fills it");
}

/// The model before its parameters are filled, for each of which there is a mapping.
std::unique_ptr<Model<float>> model_of(const ForeignModel& found) {
  std::unique_ptr<Model<float>> model = make_model<float>(found.config_json);
  check_parameters(model->parameters, found.mappings);
  return model;
}

/// Fills a parameter from the values of a tensor, or, if the model leaves it out, makes its digest of them.
class Filling {
 public:
  /// `all`: the model's parameters before some were left out.
  Filling(const Mapping& mapping, ParameterSet<float>& parameters, const std::vector<Parameter>& all)
      : mapping_(mapping) {
    if (parameters.contains(mapping.parameter)) {
      place_ = parameters.view(mapping.parameter);
      return;
    }
    left_out_ = std::ranges::find(all, mapping.parameter, &Parameter::name) - all.begin();
    // Values in another order can only be hashed when all of them are there.
    if (!mapping.transposed && mapping.slices.empty()) return;
    const Parameter& parameter = all[static_cast<std::size_t>(left_out_)];
    values_.resize(static_cast<std::size_t>(parameter.rows * parameter.cols));
    place_ = {values_.data(), parameter.rows, parameter.cols};
  }
  void add(std::span<const float> values, std::int64_t first_row) {
    if (place_.data)
      mapping_.fill(values, first_row, place_);
    else
      hash(values);
  }
  /// Adds the digest's line, if the parameter is left out.
  void finish(const std::vector<Parameter>& all, LinesLeftOut& lines) {
    if (left_out_ < 0) return;
    hash(values_);
    const auto at = static_cast<std::size_t>(left_out_);
    lines.emplace(at, digest_line(all[at], sha_.hex()));
  }

 private:
  void hash(std::span<const float> values) {
    sha_.add({reinterpret_cast<const char*>(values.data()), values.size_bytes()});
  }

  const Mapping& mapping_;
  Matrix<float> place_;         ///< without data: values are only hashed
  std::int64_t left_out_ = -1;  ///< its place among all; -1: it is in the model
  std::vector<float> values_;
  Sha256 sha_;
};

/// Fills the parameters, reading a tensor once for consecutive mappings from it. Returns the lines of those of `all`
/// that are left out. Throws Error on a value that is not finite.
LinesLeftOut fill(ParameterSet<float>& parameters, const std::vector<Parameter>& all, const Source& source,
                  const Match& match) {
  LinesLeftOut lines;
  const std::vector<Match::Placed>& placed = match.placed();
  for (std::size_t begin = 0, end = 0; begin < placed.size(); begin = end) {
    const std::size_t index = placed[begin].index;
    std::vector<Filling> fillings;
    for (; end < placed.size() && placed[end].index == index; ++end)
      fillings.emplace_back(*placed[end].mapping, parameters, all);
    std::int64_t before = 0;  // values
    source.weights().read_rows(index, [&](std::int64_t first, const Tensor& rows) {
      std::vector<float> narrowed;
      if (rows.dtype() == DType::f64) {
        const auto wide = rows.values<double>();
        narrowed.assign(wide.begin(), wide.end());
      }
      const std::span<const float> values = rows.dtype() == DType::f64 ? narrowed : rows.values<float>();
      const auto odd = std::ranges::find_if_not(values, [](float x) { return std::isfinite(x); });
      if (odd != values.end())
        fail(escaped(source.path()), ":/", escaped(source.weights().arrays()[index].name), ": element ",
             before + (odd - values.begin()), " is ", *odd);
      for (Filling& filling : fillings) filling.add(values, first);
      before += rows.size();
    });
    for (Filling& filling : fillings) filling.finish(all, lines);
  }
  return lines;
}

void check_copies(const Source& source, const Match& match) {
  const std::vector<io::ArrayInfo>& arrays = source.weights().arrays();
  for (const auto& [copy, original] : match.copies())
    if (!source.tied(arrays[copy].name, arrays[original].name))
      fail(escaped(source.path()), ":/", escaped(arrays[copy].name), ": wanted a copy of ",
           escaped(arrays[original].name),
           ", which holds other values: weights that are not tied are not supported");
}

/// Prints one line about conversions of types.
void note_types(const Source& source, const Match& match) {
  std::map<std::string, std::set<std::size_t>> by_type;
  for (const auto& placed : match.placed())
    by_type[source.weights().arrays()[placed.index].type].insert(placed.index);
  for (const auto& [type, tensors] : by_type)
    if (type != "float32") logging::verbose(concat(tensors.size(), " tensors ", type, " -> float32"));
}

ForeignModel described(const Source& source) {
  ForeignModel found = family_of(source).describe(source);
  check_heed_config(found.config_json);
  if (found.search) check_config(*found.search);
  return found;
}

std::string digest_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Sha256 sha;
  std::vector<char> block(1 << 20);
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0)
    sha.add({block.data(), static_cast<std::size_t>(file.gcount())});
  return sha.hex();
}

/// Calls use(), attributing its errors to the content of `path`, not to the command line.
template <class Use>
auto about(const std::string& path, const Use& use) {
  try {
    return use();
  } catch (const OptionError&) {
    throw;
  } catch (const Error& error) {
    fail(placed(escaped(path), error.what()));
  }
}

}  // namespace

bool is_foreign_model(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return true;
  if (!fs::is_regular_file(path, ignored) || !io::is_array_file(path)) return false;
  const Source source(path, {});
  return std::ranges::any_of(families(), [&](const Family& family) { return family.recognises(source); });
}

namespace {

std::vector<ReportLine> report_of(const Source& source) {
  const ForeignModel found = described(source);
  const Match match(source, found.mappings);
  const std::unique_ptr<Model<float>> model = model_of(found);
  check_copies(source, match);
  const std::vector<io::ArrayInfo>& arrays = source.weights().arrays();
  std::vector<ReportLine> lines;
  for (const auto& [index, mapping] : match.placed())
    lines.push_back({arrays[index].name, arrays[index].type, arrays[index].shape, mapping->transform(),
                     mapping->parameter, model->parameters.find(mapping->parameter).shape});
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (!match.reasons()[i].empty())
      lines.push_back({arrays[i].name, arrays[i].type, arrays[i].shape, match.reasons()[i], "", {}});
  return lines;
}

LoadedModel loaded_of(const Source& source, Needed needed) {
  ForeignModel found = described(source);
  const Match match(source, found.mappings);
  LoadedModel loaded{model_of(found),
                     found.source ? *found.source : *found.target,
                     found.target ? *found.target : *found.source,
                     std::move(found.classes),
                     {},
                     {},
                     {}};
  Model<float>& model = *loaded.model;
  check_copies(source, match);
  const std::vector<Parameter> all = model.parameters.list();
  leave_out_unneeded(model, needed);
  const LinesLeftOut left_out = fill(model.parameters, all, source, match);
  note_types(source, match);
  for (const std::string& note : found.notes) {
    const std::string text = concat(escaped(source.path()), ": ", note);
    source.options().says_notes ? logging::note(text) : logging::verbose(text);
  }
  Json origin{{"kind", found.kind}, {"heed", version()}};
  for (const auto& [name, value] : found.formulas) origin["formulas"][name] = value;
  if (found.search) origin["search"] = Json::parse(to_json(*found.search));
  if (source.options().states_files)
    for (const std::string& name : std::set(source.files()))
      origin["files"][name] = digest_of(source.file(name));
  loaded.origin = origin.dump();
  complete(loaded, source.path(), model.config_json, content_digests(model, texts_of(loaded), left_out));
  return loaded;
}

}  // namespace

std::vector<ReportLine> report(const std::string& path, const ImportOptions& options) {
  return about(path, [&] { return report_of(Source(path, options)); });
}

Outline outline(const std::string& path, const ImportOptions& options) {
  return about(path, [&] {
    const Source source(path, options);
    const ForeignModel found = described(source);
    const Match match(source, found.mappings);
    const std::unique_ptr<Model<float>> model = model_of(found);
    Outline outline{model->config_json, {}};
    for (const Parameter& p : model->parameters.list()) outline.shapes[p.name] = p.shape;
    return outline;
  });
}

LoadedModel load(const std::string& path, const ImportOptions& options, Needed needed) {
  return about(path, [&] { return loaded_of(Source(path, options), needed); });
}

text::Tokenizer load_tokenizer(const std::string& path, Side side) {
  return about(path, [&] {
    const ForeignModel found = described(Source(path, {}));
    return side == Side::source && found.source ? *found.source
           : found.target                       ? *found.target
                                                : *found.source;
  });
}

}  // namespace heed::foreign
