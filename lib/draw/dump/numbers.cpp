// viz-dump --list, --tsv, --json, --top, --stats and --npy: text and numbers rather than pictures.
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/glob.h"
#include "base/log.h"
#include "base/paths.h"
#include "draw/dump/forms.h"
#include "draw/print/listing.h"
#include "draw/print/model_card.h"
#include "draw/print/slice_text.h"
#include "draw/select/merge_words.h"
#include "draw/select/statistics.h"
#include "draw/select/tensors.h"
#include "io/foreign/array_file.h"
#include "io/foreign/safetensors.h"
#include "io/text_writer.h"

namespace heed::draw {
namespace {

constexpr std::int64_t kMostValues = std::int64_t{1} << 27;  // 1 GiB of doubles

/// Keeps the tensors selected by --name.
void keep_named(TensorMap& frame, const std::string& name) {
  const IsMeant is_meant = meant_by(name);
  auto& tensors = frame.tensors();
  if (std::ranges::none_of(tensors, [&](const auto& tensor) { return is_meant(tensor.first); })) {
    if (name.find('*') != std::string::npos)
      fail("--name: '", escaped(name), "' matches none of the ", tensors.size(),
           " tensors: * stays within a level, ** crosses levels");
    frame.at(without_root(name));  // fails, listing what there is
  }
  std::erase_if(tensors, [&](const auto& tensor) { return !is_meant(tensor.first); });
}

/// The arrays as a map without values, in which a tensor can be found by its name.
TensorMap names_of(const io::ArrayFile& file) {
  TensorMap names;
  for (const io::ArrayInfo& array : file.arrays()) names.tensors().emplace_back(array.name, Tensor());
  return names;
}

bool is_array_file(const DumpOptions& options) {
  return options.inputs.size() == 1 && io::is_array_file(options.input());
}

/// The listing of another program's file from its header.
Listing listing_of(const std::string& input, const std::string& name) {
  const auto opened = io::ArrayFile::open(input);
  const io::ArrayFile& file = *opened;
  if (TensorMap names = names_of(file); !name.empty())  // fails if it means none
    at_place(name_of_input(input), [&] { keep_named(names, name); });
  Listing listing;
  Attributes metadata;
  for (const auto& [key, value] : file.metadata()) metadata[key] = value;
  listing.add_attributes(metadata);
  const IsMeant is_meant = meant_by(name);
  for (const io::ArrayInfo& array : file.arrays())
    if (is_meant(array.name)) listing.add(array);
  return listing;
}

/// `card`, unless null, receives the model card, of this width, if the input is a model.
Listing listing_of(const std::vector<std::string>& inputs, const std::string& name, std::string* card,
                   int width) {
  io::FrameReader reader(inputs);
  Listing listing(inputs.size() > 1);
  for (TensorMap frame; reader.next(frame); frame = {}) {
    if (card && inputs.size() == 1 && is_model(frame)) {
      if (card->empty()) *card = model_card(frame, reader.name(), width);
      continue;
    }
    at_place(reader.name(), [&] {
      if (!name.empty()) keep_named(frame, name);
      listing.add(frame);
    });
  }
  return listing;
}

/// The tensors of the first of several frames, which the others must have.
class SameTensors {
 public:
  void expect(const TensorMap& frame, const std::string& name) {
    std::vector<std::string> missing, added;
    for (const std::string& path : first_)
      if (!frame.contains(path)) missing.push_back(path);
    for (const auto& [path, tensor] : frame.tensors())
      if (std::ranges::find(first_, path) == first_.end()) added.push_back(path);
    if (name_.empty()) {
      first_ = std::move(added);
      name_ = name;
    } else if (!missing.empty() || !added.empty()) {
      fail(name, ": has ", missing.empty() ? "" : "no " + listed_paths(missing),
           missing.empty() || added.empty() ? "" : ", but ", listed_paths(added), ", unlike ",
           name == name_ ? "its first frame" : name_, ": parts of a text have the same tensors");
    }
  }

 private:
  std::vector<std::string> first_;  ///< paths
  std::string name_;                ///< of its input; empty: there was none
};

/// Writes the text of each chosen slice; `sentence` is its number when there may be several.
void write_slices(
    const DumpOptions& options,
    const std::function<std::string(const Slice&, std::optional<std::int64_t> sentence)>& text_of) {
  io::FrameReader reader = open_input(options);
  io::TextWriter output(options.output);
  const bool single = is_one_sentence(selections_of(options));
  visit_chosen(options, reader, keep_all, [&](const TensorMap&, const Slice& slice, std::int64_t sentence) {
    const auto number = single || sentence < 0 ? std::nullopt : std::optional(sentence);
    output.write(at_place(reader.name(), [&] { return text_of(slice, number); }));
  });
  output.finish();
}

Tensor chosen_tensor(const DumpOptions& options) {
  io::FrameReader reader = open_input(options);
  if (is_one_sentence(selections_of(options))) {
    Tensor single;
    visit_single(options, reader, keep_all, "an .npy file",
                 [&](const TensorMap&, const Slice& slice, std::int64_t) { single = slice.values; });
    return single;
  }
  const TensorMap map = reader.whole();
  const Slice slice = at_place(
      reader.name(), [&] { return take_slice(map, find_tensor(map, options.name), selections_of(options)); });
  return options.words ? merge_words(slice).values : slice.values;
}

}  // namespace

void dump_list(const DumpOptions& options) {
  if (!selections_of(options).empty()) {
    fail<UsageError>(options.list ? "--list lists whole tensors: omit it for a slice"
                                  : "without --heatmap, --tsv, --stats, -o FILE.png or the like, whole "
                                    "tensors are listed: choose a form for the slice");
  }
  io::TextWriter output(options.output);
  const bool shows_card = !options.list && !options.tsv && !options.json && options.name.empty();
  std::string card;
  const Listing listing = is_array_file(options)
                              ? listing_of(options.input(), options.name)
                              : listing_of(options.inputs, options.name, shows_card ? &card : nullptr,
                                           detect_terminal(options.color).width);
  output.write(!card.empty()  ? card
               : options.tsv  ? listing.tsv()
               : options.json ? listing.json()
                              : listing.text());
  output.finish();
}

void dump_table(const DumpOptions& options) {
  TsvLines lines;
  write_slices(options, [&](const Slice& slice, std::optional<std::int64_t> sentence) {
    if (options.json) return json(slice);
    return sentence ? lines.add(slice, sentence) : tsv(slice);
  });
}

void dump_top(const DumpOptions& options) {
  StrongestLines lines(options.top);
  write_slices(options, [&](const Slice& slice, std::optional<std::int64_t> sentence) {
    return lines.add(slice, sentence);
  });
}

void dump_stats(const DumpOptions& options) {
  const Statistics all = statistics(gather(options).values);
  io::write_file(options.output, options.json ? statistics_json(all) : statistics_tsv(all));
}

void dump_npy(const DumpOptions& options) {
  if (options.output == "-" && isatty(STDOUT_FILENO) == 1) {
    fail<UsageError>("an .npy file is binary and stdout is a terminal: name a file by -o");
  }
  io::write_file(options.output, npy(chosen_tensor(options)));
}

void dump_safetensors(const DumpOptions& options) {
  if (options.output == "-" && isatty(STDOUT_FILENO) == 1)
    fail<UsageError>("a safetensors file is binary and stdout is a terminal: name a file by -o");
  TensorMap map = read_meant(options.input(), meant_by(options.name));
  if (!options.name.empty()) at_place(name_of_input(options.input()), [&] { keep_named(map, options.name); });
  std::vector<std::string> texts;
  for (const auto& [path, tensor] : map.tensors())
    if (tensor.dtype() == DType::string) texts.push_back("/" + path);
  for (const std::string& path : texts) map.erase(path.substr(1));
  if (!texts.empty())
    logging::note(concat("left out, because safetensors files hold no text: ", joined(texts)));
  if (map.tensors().empty()) fail(escaped(options.input()), ": contains no numeric tensors");
  io::write_safetensors(options.output, map, io::kFloatsAs(options.dtype));
}

void dump_h5(const DumpOptions& options) {
  io::FrameReader reader(options.inputs, {.as_stored = true});
  io::FrameWriter writer(options.output);
  SameTensors same;
  for (TensorMap frame; reader.next(frame);) {
    if (!options.name.empty()) {
      at_place(reader.name(), [&] { keep_named(frame, options.name); });
      std::erase_if(frame.groups, [&](const auto& group) {
        const auto& [path, info] = group;
        return !info.signal.empty() && !frame.contains(path + "/" + info.signal);
      });
    }
    same.expect(frame, reader.name());
    writer.write(frame);
  }
  writer.finish();
}

IsMeant meant_by(const std::string& name) {
  const std::string path = without_root(name);
  if (path.empty()) return [](const std::string&) { return true; };
  if (is_glob(path)) return [path](const std::string& tensor) { return glob_means(path, tensor); };
  return [path](const std::string& tensor) {
    return concat("/", tensor, "/").find(concat("/", path, "/")) != std::string::npos;
  };
}

io::FrameReader open_input(const DumpOptions& options) {
  io::ReadOptions reading;
  if (is_array_file(options)) {
    const TensorMap names = names_of(*io::ArrayFile::open(options.input()));
    reading.only = {
        at_place(name_of_input(options.input()), [&] { return find_tensor(names, options.name); })};
  }
  return io::FrameReader(options.inputs, reading);
}

TensorMap read_meant(const std::string& input, const IsMeant& is_meant) {
  if (!io::is_array_file(input)) return io::read_map(input);
  io::ReadOptions reading;
  TensorMap names = names_of(*io::ArrayFile::open(input));
  for (const auto& [path, tensor] : names.tensors())
    if (is_meant(path)) reading.only.push_back(path);
  if (reading.only.empty()) return names;
  if (reading.only.size() == names.tensors().size()) reading.only.clear();
  return io::read_map(input, reading);
}

Gathered gather(const DumpOptions& options) {
  Gathered gathered;
  io::FrameReader reader = open_input(options);
  visit_chosen(options, reader, keep_all, [&](const TensorMap&, const Slice& slice, std::int64_t) {
    const auto values = at_place(reader.name(), [&] { return numbers(slice); });
    if (std::ssize(gathered.values) + std::ssize(values) > kMostValues) {
      fail(reader.name(), ":/", escaped(slice.name), ": more than ", kMostValues,
           " values: choose some of them (--sentence, --slice)");
    }
    gathered.name = slice.name;
    gathered.values.insert(gathered.values.end(), values.begin(), values.end());
  });
  return gathered;
}

}  // namespace heed::draw
