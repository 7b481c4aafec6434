#include "inspect/edits.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <span>
#include <tuple>

#include "base/digest.h"
#include "base/glob.h"
#include "base/log.h"
#include "base/paths.h"
#include "tensor/philox.h"

namespace heed {

namespace {

[[noreturn]] void fail_form(const char* option, const std::string& text, const std::string& wanted) {
  fail<UsageError>(option, ": got '", escaped(text), "', wanted ", wanted);
}

/// "3", "3,0", "*,4,2": leading indices, -1 for *. False if it is something else.
bool parse_numbers(const std::string& text, std::vector<std::int64_t>& numbers) {
  std::size_t start = 0;
  while (start <= text.size()) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string part = text.substr(start, end - start);
    if (part == "*") {
      numbers.push_back(-1);
    } else {
      if (part.empty() || part.size() > 9 || part.find_first_not_of("0123456789") != std::string::npos)
        return false;
      numbers.push_back(std::stoll(part));
    }
    start = end + 1;
  }
  return numbers.size() <= 3;
}

/// Cuts "@..." off `text`, if it ends in a selection.
std::vector<std::int64_t> cut_selection(std::string& text) {
  std::vector<std::int64_t> numbers;
  const std::size_t at = text.rfind('@');
  if (at == std::string::npos || !parse_numbers(text.substr(at + 1), numbers)) return {};
  text.erase(at);
  return numbers;
}

RowSelection selection(const std::vector<std::int64_t>& numbers, bool one_is_head) {
  if (numbers.size() == 1 && one_is_head) return {-1, -1, numbers[0]};
  RowSelection chosen;
  if (numbers.size() > 0) chosen.sentence = numbers[0];
  if (numbers.size() > 1) chosen.position = numbers[1];
  if (numbers.size() > 2) chosen.head = numbers[2];
  return chosen;
}

bool agree(std::int64_t chosen, std::int64_t index) {
  return chosen < 0 || chosen == index;
}

}  // namespace

bool RowSelection::overlaps(const RowSelection& other) const {
  auto both = [](std::int64_t a, std::int64_t b) { return a < 0 || b < 0 || a == b; };
  return both(sentence, other.sentence) && both(position, other.position) && both(head, other.head);
}

Edits::Edits(const EditConfig& config, const std::vector<NamedValue>& values, std::uint64_t seed)
    : seed_(seed) {
  const std::tuple<Edit::Kind, const char*, const std::vector<std::string>&> options[] = {
      {Edit::Kind::patch, "--patch", config.patch},
      {Edit::Kind::scale, "--scale", config.scale},
      {Edit::Kind::ablate, "--ablate", config.ablate},
      {Edit::Kind::ablate_mean, "--ablate-mean", config.ablate_mean},
      {Edit::Kind::noise, "--noise", config.noise}};
  for (const auto& [kind, option, texts] : options) {
    for (const std::string& text : texts) add(kind, option, text, values);
  }
}

void Edits::add(Edit::Kind kind, const char* option, const std::string& text,
                const std::vector<NamedValue>& values) {
  Edit edit;
  edit.kind = kind;
  edit.text = concat(option, " ", text);
  const bool has_number = kind == Edit::Kind::scale || kind == Edit::Kind::noise,
             is_patch = kind == Edit::Kind::patch;
  const std::string form = is_patch     ? "NAME=FILE[:DATASET][@SENTENCE,POSITION,HEAD]"
                           : has_number ? "NAME[@HEAD or @SENTENCE,POSITION,HEAD]=NUMBER"
                                        : "NAME[@HEAD or @SENTENCE,POSITION,HEAD]";
  edit.name = text;
  std::string right;
  if (is_patch || has_number) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) fail_form(option, text, form);
    edit.name = text.substr(0, equals);
    right = text.substr(equals + 1);
  }
  edit.chosen = is_patch ? selection(cut_selection(right), false) : selection(cut_selection(edit.name), true);
  edit.name = without_root(edit.name);
  if (has_number) {
    std::size_t used = 0;
    try {
      edit.number = std::stod(right, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used == 0 || used != right.size() || !(std::abs(edit.number) <= std::numeric_limits<float>::max()))
      fail_form(option, text, form);
  }
  const std::size_t colon = right.rfind(':');
  const std::string file = right.substr(0, colon),
                    dataset = colon == std::string::npos ? "" : right.substr(colon + 1);
  if (is_patch && file.empty()) fail_form(option, text, form);

  const bool has_glob = is_glob(edit.name);
  std::vector<NamedValue> meant;
  if (has_glob) {
    meant = matching(values, {edit.name}, option);
    const auto last = std::remove_if(meant.begin(), meant.end(), [](auto& v) { return v.of_vocabulary; });
    if (last != meant.begin()) meant.erase(last, meant.end());  // whoever says all does not mean these
  } else {
    std::copy_if(values.begin(), values.end(), std::back_inserter(meant),
                 [&](const NamedValue& v) { return v.name == edit.name; });
  }
  if (meant.empty()) {
    const std::string name = edit.name.substr(0, edit.name.rfind('@'));  // of "NAME@" and no selection
    if (std::any_of(values.begin(), values.end(), [&](const NamedValue& v) { return v.name == name; }))
      fail_form(option, text, form);
    fail<UsageError>(edit.text,
                     ": no value of this name is computed here; near: ", near_names(values, edit.name),
                     " (--trace-list prints all)");
  }
  report_matches(edit.text, meant);
  typed_.push_back({edit.text, has_glob, edits_.size(), meant.size()});
  for (const NamedValue& value : meant) {
    Edit one = edit;
    one.name = value.name;
    one.done = std::make_shared<std::atomic<bool>>(false);
    if (has_glob) one.text += concat(" (", value.name, ")");
    if (is_patch) one.file = std::make_shared<PatchFile>(file, dataset, value, edit.chosen.head >= 0);
    add(std::move(one), value);
  }
}

void Edits::add(Edit edit, const NamedValue& value) {
  if (value.of_vocabulary) fail<UsageError>(edit.text, ": nothing is computed from ", edit.name);
  if (edit.chosen.head >= value.n_heads)
    fail<UsageError>(edit.text, ": head ", edit.chosen.head, ", wanted one from 0 to ", value.n_heads - 1);
  if (edit.kind == Edit::Kind::ablate_mean &&
      (value.attention || value.by_steps || value.rows == Rows::one || edit.chosen.position >= 0)) {
    fail<UsageError>(edit.text, ": the mean is taken over all positions of a sentence at once",
                     value.attention           ? ", not of attention"
                     : value.rows == Rows::one ? ", and here there is one for a sentence"
                     : value.by_steps
                         ? ", and a recurrence computes one after the other: patch it with a mean"
                         : "");
  }
  for (const Edit& other : edits_) {
    if (other.name == edit.name && other.chosen.overlaps(edit.chosen))
      fail<UsageError>(edit.text, ": the same value is changed by ", other.text);
  }
  edits_.push_back(std::move(edit));
  named_.push_back(value);
}

void Edits::next_frame(std::int64_t sentences) {
  first_ = next_;
  next_ += sentences;
  for (const Edit& edit : edits_) {
    if (edit.file) edit.file->next_frame(first_, sentences);
  }
}

void Edits::expect_search() {
  searches_ = true;
  for (std::size_t i = 0; i < edits_.size(); ++i) {
    if (edits_[i].kind == Edit::Kind::ablate_mean && named_[i].rows != Rows::source)
      fail<UsageError>(edits_[i].text,
                       ": a search cannot take a mean over positions that are still to come: use --force");
  }
}

void Edits::expect_lengths(const Packing& rows, Rows of) const {
  for (std::size_t i = 0; i < edits_.size(); ++i) {
    const Edit& edit = edits_[i];
    if (!edit.file || named_[i].rows != of || edit.chosen.position >= 0) continue;
    for (std::int64_t s = 0; s < rows.sentences(); ++s) {
      if (agree(edit.chosen.sentence, first_ + s)) edit.file->expect_positions(s, rows.length(s));
    }
  }
}

void Edits::expect_used() const {
  for (const Typed& typed : typed_) {
    const std::span<const Edit> edits = std::span(edits_).subspan(typed.first, typed.count);
    const Edit& edit = edits.front();
    const auto changed = std::ranges::count_if(edits, [](const Edit& e) { return e.done->load(); });
    if (edit.chosen.sentence >= next_)
      fail(edit.text, ": there is no sentence ", edit.chosen.sentence, ": the input has ", next_);
    if (next_ > 0 && edit.chosen.position >= 0 && changed == 0)
      fail(edit.text, ": nothing was edited: no such sentence has a position ", edit.chosen.position);
    if (typed.glob) logging::note(concat(typed.text, ": changed ", count_of(changed, "value")));
  }
}

FrameEditor::FrameEditor(const Edits& edits, std::vector<std::int64_t> sentences)
    : edits_(edits), sentences_(std::move(sentences)) {}

bool FrameEditor::edits(const std::string& name) const {
  return std::any_of(edits_.list().begin(), edits_.list().end(),
                     [&](const Edit& e) { return e.name == name; });
}

bool FrameEditor::meant(const Edit& edit, const Place& place, std::int64_t head) const {
  const std::int64_t sentence =
      edits_.first_sentence() + sentences_[static_cast<std::size_t>(place.sentence)];
  return agree(edit.chosen.sentence, sentence) && agree(edit.chosen.position, place.position) &&
         agree(edit.chosen.head, head);
}

void FrameEditor::edit(const std::string& name, Matrix<float> value, std::span<const Place> places,
                       std::int64_t n_heads) const {
  const std::int64_t width = value.cols / n_heads;
  for (const Edit& edit : edits_.list()) {
    if (edit.name != name) continue;
    for (std::int64_t h = 0; h < n_heads; ++h) {
      const Matrix<float> part = value.columns(h * width, width);
      if (edit.kind == Edit::Kind::ablate_mean) {
        take_means(edit, part, places, h);
        continue;
      }
      for (std::int64_t i = 0; i < value.rows; ++i) {
        const Place& place = places[static_cast<std::size_t>(i)];
        if (meant(edit, place, h)) change(edit, {part.row(i), static_cast<std::size_t>(width)}, place, h);
      }
    }
  }
}

void FrameEditor::edit_attention(const std::string& name, std::span<float> row, const Place& query,
                                 std::int64_t head) const {
  for (const Edit& edit : edits_.list()) {
    if (edit.name == name && meant(edit, query, head)) change(edit, row, query, head);
  }
}

void FrameEditor::change(const Edit& edit, std::span<float> row, const Place& place,
                         std::int64_t head) const {
  const std::int64_t sentence = sentences_[static_cast<std::size_t>(place.sentence)];
  if (edit.file && edits_.searches() && !edit.file->reaches(sentence, place.position)) return;
  edit.done->store(true, std::memory_order_relaxed);
  switch (edit.kind) {
    case Edit::Kind::patch: {
      const auto from = edit.file->row(sentence, head, place.position, static_cast<std::int64_t>(row.size()));
      std::copy(from.begin(), from.end(), row.begin());
      return;
    }
    case Edit::Kind::scale:
      for (float& x : row) x *= static_cast<float>(edit.number);
      return;
    case Edit::Kind::noise: {
      // The same numbers for the same place, whatever stands beside it; others for each value.
      const auto number = static_cast<std::uint64_t>(edits_.number_of(sentence));
      Random random(edits_.seed() ^ hash(edit.name), number << 32 |
                                                         static_cast<std::uint64_t>(place.position) << 8 |
                                                         static_cast<std::uint64_t>(head));
      for (float& x : row) x += static_cast<float>(edit.number * random.normal());
      return;
    }
    case Edit::Kind::ablate:
    case Edit::Kind::ablate_mean:
      std::fill(row.begin(), row.end(), 0.0f);
  }
}

/// Replaces every row of a sentence by the mean of its rows, in whatever order they come.
void FrameEditor::take_means(const Edit& edit, Matrix<float> value, std::span<const Place> places,
                             std::int64_t head) const {
  std::map<std::int64_t, std::vector<std::int64_t>> rows_of;
  for (std::int64_t i = 0; i < value.rows; ++i) {
    const Place& place = places[static_cast<std::size_t>(i)];
    if (meant(edit, {place.sentence, -1}, head)) rows_of[place.sentence].push_back(i);
  }
  if (!rows_of.empty()) edit.done->store(true, std::memory_order_relaxed);
  for (const auto& [sentence, rows] : rows_of) {
    for (std::int64_t j = 0; j < value.cols; ++j) {
      double sum = 0;
      for (std::int64_t i : rows) sum += value(i, j);
      for (std::int64_t i : rows) value(i, j) = static_cast<float>(sum / static_cast<double>(rows.size()));
    }
  }
}

}  // namespace heed
