// BPE and unigram segmentation of raw text by SentencePiece (Kudo and Richardson 2018). Its normalisation is
// disabled (text is already in NFC), so that decoding restores every space and character.
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "text/scheme.h"
#include "text/sentencepiece_model.h"
#include "text/unicode.h"

namespace heed::text {
namespace {

// SentencePiece writes a space as U+2581. The character itself is replaced by a private one.
constexpr std::string_view kEscape = "\xF3\xB2\x96\x81";  // U+F2581
const std::string kEscapedEscape = std::string(kEscape) + std::string(kEscape);
const std::string kEscapedSpaceSymbol = std::string(kEscape) + "_";

std::string hide_space_symbol(const std::string& line) {
  return replace_all(replace_all(line, kEscape, kEscapedEscape), kSpaceSymbol, kEscapedSpaceSymbol);
}

std::string restore_space_symbol(std::string_view text) {
  std::string out;
  for (;;) {
    std::size_t at = text.find(kEscape);
    out += text.substr(0, at);
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + kEscape.size());
    if (text.starts_with('_')) {
      out += kSpaceSymbol;
      text.remove_prefix(1);
    } else {
      out += kEscape;
      if (text.starts_with(kEscape)) text.remove_prefix(kEscape.size());
    }
  }
}

/// Provides lines to the trainer: line_at(i) for each i below `size`.
class LineIterator : public sentencepiece::SentenceIterator {
 public:
  LineIterator(std::size_t size, std::function<std::string(std::size_t)> line_at)
      : size_(size), line_at_(std::move(line_at)) {
    load();
  }
  bool done() const override { return at_ >= size_; }
  void Next() override {
    ++at_;
    load();
  }
  const std::string& value() const override { return value_; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  void load() {
    if (!done()) value_ = line_at_(at_);
  }
  std::size_t size_, at_ = 0;
  std::function<std::string(std::size_t)> line_at_;
  std::string value_;
};

/// A line for the trainer. It uses tabs internally, so tabs are removed; they are spelled in bytes.
std::string shown(const std::string& line) {
  return hide_space_symbol(replace_all(line, "\t", " "));
}

// The trainer skips longer lines, and lines with its symbol for unknown characters (trainer_interface.cc).
constexpr std::size_t kMostLineBytes = 65536;
constexpr std::string_view kUnknownSymbol = "\xE2\x96\x85";  // U+2585

Vocabulary vocabulary_of(const sentencepiece::SentencePieceProcessor& processor, const SpecialIds& special) {
  std::vector<std::string> pieces;
  for (int id = 0; id < processor.GetPieceSize(); ++id) pieces.push_back(processor.IdToPiece(id));
  return Vocabulary(std::move(pieces), special, "SentencePiece model");
}

/// The log-probability of a character without a piece relative to the least likely piece.
constexpr double kUnknownPenalty = 10;

class SentencePieceScheme : public Scheme {
 public:
  SentencePieceScheme(std::string model, std::unique_ptr<sentencepiece::SentencePieceProcessor> processor,
                      PieceType type, const SpecialIds& special)
      : Scheme(vocabulary_of(*processor, special)),
        model_(std::move(model)),
        processor_(std::move(processor)),
        merges_(type == PieceType::bpe) {
    for (int id = 0; id < processor_->GetPieceSize(); ++id) {
      const std::string& piece = processor_->IdToPiece(id);
      if (processor_->IsControl(id) || processor_->IsUnknown(id) || processor_->IsByte(id) ||
          piece == vocabulary().mask())
        continue;
      scores_.emplace(piece, processor_->GetScore(id));
      longest_ = std::max(longest_, characters(piece).size());
      unknown_ = std::min(unknown_, processor_->GetScore(id) - kUnknownPenalty);
    }
  }

  std::vector<std::int32_t> encode(const std::string& line) const override {
    std::vector<int> ids;
    auto status = processor_->Encode(hide_space_symbol(line), &ids);
    if (!status.ok()) fail("SentencePiece: ", escaped(status.ToString(), 200));
    const std::int32_t mask = vocabulary().special().mask;
    std::vector<std::int32_t> kept;
    for (std::int32_t id : ids) {
      if (id == mask && id >= 0 && !kept.empty() && vocabulary().piece(kept.back()) == kSpaceSymbol)
        kept.pop_back();
      kept.push_back(id);
    }
    return kept;
  }

  std::vector<std::int32_t> draw(const std::string& line, PieceDraw& how) const override {
    if (!merges_ && how.unigram_alpha == 0)
      fail<UsageError>("--bpe-dropout: the vocabulary is of type unigram; give --unigram-alpha");
    if (merges_ && how.bpe_dropout == 0)
      fail<UsageError>("--unigram-alpha: the vocabulary is of type bpe; give --bpe-dropout");
    return encode_with_masks(
        vocabulary(), line, true, [&](const std::string& text, std::vector<std::int32_t>& ids) {
          const std::string marked = (ids.empty() ? std::string(kSpaceSymbol) : "") +
                                     replace_all(hide_space_symbol(text), " ", kSpaceSymbol);
          push(merges_ ? merged(marked, how)
                       : draw_unigrams(marked, unigram_score(), longest_, how.unigram_alpha, how.random),
               ids);
        });
  }

  std::string decode(std::span<const std::int32_t> ids) const override {
    std::string text;
    for (std::int32_t id : ids) {
      const std::string& piece = vocabulary().piece(id);
      if (piece == vocabulary().mask()) text += kSpaceSymbol;
      text += processor_->IsByte(id) ? std::string(1, byte_of_piece(piece).value_or('\0')) : piece;
    }
    if (text.starts_with(kSpaceSymbol)) text.erase(0, kSpaceSymbol.size());
    text = restore_space_symbol(replace_all(text, kSpaceSymbol, " "));
    return replace_invalid_utf8(text);  // a model may produce bytes that do not form characters
  }

  bool begins_word(const std::string&, const std::string& piece) const override {
    return piece.starts_with(kSpaceSymbol) || piece == vocabulary().mask();
  }

  std::string_view sentencepiece() const override { return model_; }

 private:
  /// Word by word: only the first character of a piece is U+2581.
  std::vector<std::string> merged(const std::string& marked, PieceDraw& how) const {
    const MergeRank rank = [&](const std::string& left, const std::string& right) -> std::optional<double> {
      const auto found = scores_.find(left + right);
      if (found == scores_.end()) return std::nullopt;
      return -found->second;
    };
    std::vector<std::string> all, word;
    const auto end_word = [&] {
      for (std::string& piece :
           merge_with_dropout(std::exchange(word, {}), rank, how.bpe_dropout, how.random))
        all.push_back(std::move(piece));
    };
    for (const std::string_view character : characters(marked)) {
      if (character == kSpaceSymbol) end_word();
      word.emplace_back(character);
    }
    end_word();
    return all;
  }

  PieceScore unigram_score() const {
    return [this](std::string_view piece) -> std::optional<double> {
      if (const auto found = scores_.find(std::string(piece)); found != scores_.end()) return found->second;
      if (characters(piece).size() == 1) return unknown_;
      return std::nullopt;
    };
  }

  /// Appends the ids of pieces; characters without one are spelled in bytes.
  void push(const std::vector<std::string>& pieces, std::vector<std::int32_t>& ids) const {
    for (const std::string& piece : pieces) {
      if (scores_.contains(piece)) {
        ids.push_back(vocabulary().id(piece));
        continue;
      }
      for (const char byte : piece) ids.push_back(vocabulary().id(byte_piece(byte)));
    }
  }

  std::string model_;
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
  bool merges_;
  std::unordered_map<std::string, double> scores_;  ///< of the pieces of text
  std::size_t longest_ = 1;                         ///< of them, in characters
  double unknown_ = 0;                              ///< score of a character that is none
};

}  // namespace

void count_sentencepiece_words(const std::string& line, WordCounts& counts) {
  const std::string text = shown(line);
  if (text.empty() || text.size() > kMostLineBytes || text.find(kUnknownSymbol) != std::string::npos) return;
  const std::string spaced = replace_all(line, "\t", " ");
  for (std::size_t at = 0; at <= spaced.size();) {
    const std::size_t end = std::min(spaced.find(' ', at), spaced.size());
    ++find_or_add(counts, std::string_view(spaced).substr(at, end - at))->second;
    at = end + 1;
  }
}

namespace {

/// `format`: of the iterator's lines, text or tsv: a line, a tab, how often it occurs.
std::string train_sentencepiece(sentencepiece::SentenceIterator& iterator, const std::string& type,
                                const std::string& format, std::int64_t vocab_size, const Vocabulary& special,
                                const std::string& from) {
  std::vector<std::string> control;
  for (std::int32_t id : {special.special().cls, special.special().sep}) {
    if (id != SpecialIds::kAbsent) control.push_back(special.piece(id));
  }
  std::string model;
  auto status = sentencepiece::SentencePieceTrainer::Train(
      {{"model_type", type},
       {"input_format", format},
       {"vocab_size", std::to_string(vocab_size)},
       {"pad_id", "0"},
       {"unk_id", "1"},
       {"bos_id", "2"},
       {"eos_id", "3"},
       {"control_symbols", joined(control, ",")},
       {"user_defined_symbols", std::string(special.mask())},
       {"byte_fallback", "true"},
       {"character_coverage", "1.0"},
       {"hard_vocab_limit", "false"},
       {"normalization_rule_name", "identity"},
       {"remove_extra_whitespaces", "false"},
       {"max_sentence_length", std::to_string(kMostLineBytes)},
       {"num_threads", "4"},  // affects the result: counts are summed per thread
       {"minloglevel", "2"}},
      &iterator, &model);
  if (!status.ok()) {
    const std::string reason = status.ToString();
    constexpr std::string_view few = "required_chars", versus = " vs ";
    if (const std::size_t at = reason.find(few); at != reason.npos) {
      const std::size_t least = reason.find(versus, at), end = reason.find('.', least);
      if (least != reason.npos)
        fail<UsageError>("--vocab-size: got ", vocab_size,
                         ", but 256 bytes and the characters of this text take ",
                         escaped(reason.substr(least + versus.size(), end - least - versus.size())));
    }
    fail("SentencePiece cannot learn ", vocab_size, " pieces (256 of them bytes) from ", from, ": ",
         escaped(reason, 200));
  }
  return without_input_format(model);  // the same model, however its text was counted
}

}  // namespace

/// Every word is a line to the trainer, which prepends a space. A space without a word therefore has to come
/// before one, or before another space.
std::string train_sentencepiece_bpe(const WordCounts& words, std::int64_t vocab_size,
                                    const Vocabulary& special) {
  std::vector<std::pair<std::string_view, std::int64_t>> lines = in_order(words);
  std::string after_a_space;
  if (!lines.empty() && lines.front().first.empty()) {
    std::int64_t spaces = lines.front().second;
    lines.erase(lines.begin());
    if (spaces % 2 == 1 && !lines.empty()) {
      after_a_space = concat(" ", lines.front().first);
      if (--lines.front().second == 0) lines.erase(lines.begin());
      lines.emplace_back(after_a_space, 1);
      --spaces;
    } else if (spaces % 2 == 1 && spaces > 1) {
      lines.emplace_back("  ", 1);
      spaces -= 3;
    }
    if (spaces > 1) lines.emplace_back(" ", spaces / 2);
  }
  LineIterator iterator(lines.size(), [&](std::size_t i) {
    return concat(hide_space_symbol(std::string(lines[i].first)), "\t", lines[i].second);
  });
  return train_sentencepiece(iterator, "bpe", "tsv", vocab_size, special, concat(words.size(), " words"));
}

std::string train_sentencepiece_unigram(const std::vector<std::string>& lines, std::int64_t vocab_size,
                                        const Vocabulary& special) {
  LineIterator iterator(lines.size(), [&](std::size_t i) { return shown(lines[i]); });
  return train_sentencepiece(iterator, "unigram", "text", vocab_size, special,
                             concat(lines.size(), " lines"));
}

SchemePtr make_sentencepiece_scheme(std::string model, PieceType type, const SpecialIds& special) {
  auto processor = load_sentencepiece(model, "SentencePiece model");
  return std::make_shared<SentencePieceScheme>(std::move(model), std::move(processor), type, special);
}

}  // namespace heed::text
