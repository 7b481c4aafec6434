// BPE and unigram segmentation of raw text by SentencePiece (Kudo and Richardson 2018). Its normalisation is
// off (text is in NFC before), so that decoding restores every space and character.
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <cstdio>
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

/// Provides lines to the trainer.
class LineIterator : public sentencepiece::SentenceIterator {
 public:
  explicit LineIterator(const std::vector<std::string>& lines) : lines_(lines) { load(); }
  bool done() const override { return at_ >= lines_.size(); }
  void Next() override {
    ++at_;
    load();
  }
  const std::string& value() const override { return value_; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  // The trainer uses tabs internally, so they are kept from it; they are spelled in bytes.
  void load() {
    if (!done()) value_ = hide_space_symbol(replace_all(lines_[at_], "\t", " "));
  }
  const std::vector<std::string>& lines_;
  std::size_t at_ = 0;
  std::string value_;
};

Vocabulary vocabulary_of(const sentencepiece::SentencePieceProcessor& processor, const SpecialIds& special) {
  std::vector<std::string> pieces;
  for (int id = 0; id < processor.GetPieceSize(); ++id) pieces.push_back(processor.IdToPiece(id));
  return Vocabulary(std::move(pieces), special, "SentencePiece model");
}

/// By so much a character without a piece is less likely than any piece.
constexpr double kUnknownPenalty = 10;

class SentencePieceScheme : public Scheme {
 public:
  SentencePieceScheme(std::string model, std::unique_ptr<sentencepiece::SentencePieceProcessor> processor,
                      const std::string& type, const SpecialIds& special)
      : Scheme(vocabulary_of(*processor, special)),
        model_(std::move(model)),
        processor_(std::move(processor)),
        merges_(type == "bpe") {
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
      text += processor_->IsByte(id) ? std::string(1, byte_of_piece(piece)) : piece;
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
      for (const char byte : piece) {
        char name[8];
        std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(static_cast<unsigned char>(byte)));
        ids.push_back(vocabulary().id(name));
      }
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

std::string train_sentencepiece(const std::vector<std::string>& lines, const std::string& type,
                                std::int64_t vocab_size, const Vocabulary& special) {
  LineIterator iterator(lines);
  std::vector<std::string> control;
  for (std::int32_t id : {special.special().cls, special.special().sep}) {
    if (id != SpecialIds::kAbsent) control.push_back(special.piece(id));
  }
  std::string model;
  auto status = sentencepiece::SentencePieceTrainer::Train(
      {{"model_type", type},
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
       {"max_sentence_length", "65536"},
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
    fail("SentencePiece cannot learn ", vocab_size, " pieces (256 of them bytes) from ", lines.size(),
         " lines: ", escaped(reason, 200));
  }
  return model;
}

SchemePtr make_sentencepiece_scheme(std::string model, const std::string& type, const SpecialIds& special) {
  auto processor = load_sentencepiece(model, "SentencePiece model");
  return std::make_shared<SentencePieceScheme>(std::move(model), std::move(processor), type, special);
}

}  // namespace heed::text
