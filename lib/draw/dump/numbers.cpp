// viz-dump --list, --tsv, --json, --top, --stats and --npy: text and numbers rather than pictures.
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/glob.h"
#include "draw/dump/forms.h"
#include "draw/print/listing.h"
#include "draw/print/slice_text.h"
#include "draw/select/merge_words.h"
#include "draw/select/statistics.h"
#include "draw/select/tensors.h"
#include "io/text_writer.h"

namespace heed::draw {
namespace {

constexpr std::int64_t kMostValues = std::int64_t{1} << 27;  // 1 GiB of doubles

/// Keeps the tensors whose path contains `name` as whole components, or that a glob means: a tensor, or all of a
/// group.
void keep_named(TensorMap& frame, const std::string& name) {
  const std::string path = path_of(name);
  const auto is_meant = [&](const auto& tensor) {
    return is_glob(path) ? glob_means(path, tensor.first)
                         : concat("/", tensor.first, "/").find(concat("/", path, "/")) != std::string::npos;
  };
  auto& tensors = frame.tensors();
  if (std::none_of(tensors.begin(), tensors.end(), is_meant)) frame.at(path);  // fails, listing what there is
  std::erase_if(tensors, [&](const auto& tensor) { return !is_meant(tensor); });
}

/// Writes the text of each chosen slice; `sentence` is its number when there may be several.
void write_slices(
    const DumpOptions& options,
    const std::function<std::string(const Slice&, std::optional<std::int64_t> sentence)>& text_of) {
  io::FrameReader reader(options.input);
  io::TextWriter output(options.output);
  const bool single = is_one_sentence(selections_of(options));
  visit_chosen(options, reader, keep_all, [&](const TensorMap&, const Slice& slice, std::int64_t sentence) {
    output.write(text_of(slice, single || sentence < 0 ? std::nullopt : std::optional(sentence)));
  });
  output.finish();
}

Tensor chosen_tensor(const DumpOptions& options) {
  io::FrameReader reader(options.input);
  if (is_one_sentence(selections_of(options))) {
    Tensor single;
    visit_single(options, reader, keep_all, "an .npy file",
                 [&](const TensorMap&, const Slice& slice) { single = slice.values; });
    return single;
  }
  const TensorMap map = reader.whole();
  const Slice slice = take_slice(map, find_tensor(map, options.name), selections_of(options));
  return options.words ? merge_words(slice).values : slice.values;
}

}  // namespace

void dump_list(const DumpOptions& options) {
  if (!selections_of(options).empty()) {
    fail<UsageError>(
        "--list is of whole tensors: use a slice with --tsv, --heatmap, --stats or another form");
  }
  io::FrameReader reader(options.input);
  io::TextWriter output(options.output);
  Listing listing;
  for (TensorMap frame; reader.next(frame); frame = {}) {
    if (!options.name.empty()) keep_named(frame, options.name);
    listing.add(frame);
  }
  output.write(options.tsv ? listing.tsv() : options.json ? listing.json() : listing.text());
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
  write_text(options.output, options.json ? statistics_json(all) : statistics_tsv(all));
}

void dump_npy(const DumpOptions& options) {
  if (options.output == "-" && isatty(STDOUT_FILENO) == 1) {
    fail<UsageError>("an .npy file is binary and stdout is a terminal: name a file by -o");
  }
  write_text(options.output, npy(chosen_tensor(options)));
}

Gathered gather(const DumpOptions& options) {
  Gathered gathered;
  io::FrameReader reader(options.input);
  visit_chosen(options, reader, keep_all, [&](const TensorMap&, const Slice& slice, std::int64_t) {
    const auto values = numbers(slice);
    if (std::ssize(gathered.values) + std::ssize(values) > kMostValues) {
      fail("/", escaped(slice.name), ": more than ", kMostValues,
           " values: choose some of them (--sentence, --slice)");
    }
    gathered.name = slice.name;
    gathered.values.insert(gathered.values.end(), values.begin(), values.end());
  });
  return gathered;
}

void write_text(const std::string& path, const std::string& text) {
  io::TextWriter output(path);
  output.write(text);
  output.finish();
}

}  // namespace heed::draw
