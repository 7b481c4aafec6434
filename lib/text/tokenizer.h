// Text <-> ids. A tokenizer owns its vocabulary and all other data for splitting text into pieces and joining
// them; model files contain it as a tensor map.
//
//  type                  pieces                            decode(encode(x)), apart from unknown pieces
//  word                  words between white space         the words separated by single spaces
//  char                  characters                        NFC(x)
//  bpe, unigram          SentencePiece, bytes as fallback  NFC(x); nothing is unknown
//  bpe, pretokenized     subword-nmt segments of words     the words of x, separated by single spaces
//  byte_bpe              of GPT-2, GPT-NeoX, OPT, Llama 3, Qwen2, SmolLM (text/byte_bpe.h), imported
//                        (text/foreign_tokenizer.h)
//                                                          x; nothing is unknown
//  character_bpe         of Llama 1 and 2, Mistral, Gemma, Phi-3 (text/character_bpe.h), imported
//                                                          x with spaces for U+2581, of Llama 2 by
//                                                          transformers 5 without a first space
//  sentencepiece         of Marian, T5, Llama 1 and 2, Gemma, NLLB, mBART, M2M-100, imported
//                        (text/foreign_sentencepiece.h); word_unigram:
//                        of XLM-RoBERTa, CamemBERT and, by tokenizer.json, T5
//                                                          x after the model's own normaliser
//
// Text is normalised to NFC first, except pre-tokenized text and text for imported tokenizers that do not
// require it, which is left unchanged. Text cannot spell a special piece except the mask, if the vocabulary
// has one. Sentences have no bos; sentence() adds cls, if the vocabulary has it, and eos. Empty text is an
// empty sentence.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/choice.h"
#include "base/range.h"
#include "tensor/tensor_map.h"
#include "text/bpe.h"
#include "text/drawn_pieces.h"
#include "text/vocabulary.h"

namespace heed::text {

class AddedTokens;
class Scheme;
struct SentenceFrame;
struct ForeignTokenizer;
class PieceCounts;

/// Provides the next line; false at the end.
using LineSource = std::function<bool(std::string& line)>;

/// The types that are learned here.
enum class PieceType { bpe, unigram, word, character };
inline const Choice<PieceType> kPieceTypes{"type", {"bpe", "unigram", "word", "char"}};
/// Imported only, not learned here.
inline constexpr char kByteBpeType[] = "byte_bpe";

struct TrainOptions {
  std::string type = "bpe";
  bool pretokenized = false;
  std::int64_t vocab_size = 8000;
  std::int64_t merges = 0;
  std::int64_t min_frequency = 1;
  std::int64_t min_word_count = 1;
  std::string special;
  std::int64_t sample_lines = 0;
  std::uint64_t seed = 1;  ///< of the sample

  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("type", self.type, "kind of pieces", kPieceTypes.words);
    field("pretokenized", self.pretokenized,
          "the text is words separated by spaces and is not normalised; bpe is that of subword-nmt");
    field("vocab_size", self.vocab_size, "largest number of pieces, the special ones included",
          up_to(10'000'000));
    field("merges", self.merges,
          "pre-tokenized bpe: number of merges, instead of --vocab-size (0: not given)",
          between(0, 10'000'000));
    field("min_frequency", self.min_frequency, "leave out words, characters or segments that are rarer",
          between(0, 1'000'000'000));
    field("min_word_count", self.min_word_count,
          "bpe: learn only from words that occur at least N times; 2 leaves out about half the words of a "
          "large text, "
          "and the counts of their pairs and characters, which then take no memory while merges are learned",
          between(1, 1'000'000'000));
    field(
        "special", self.special,
        "give the vocabulary these special pieces too: comma-separated, from cls, sep and mask; in text the "
        "mask is written <mask>");
    field(
        "sample_lines", self.sample_lines,
        "unigram: learn from N lines, chosen by --seed and line number in the whole text (0: from all); 1 to "
        "10 million are enough",
        between(0, 1'000'000'000));
  }
};

/// A sentence of two segments.
struct TypedIds {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> types;  ///< of each id, 0 or 1
  bool cut = false;
};

class Tokenizer {
 public:
  /// Learns a tokenizer from text. Pre-tokenized bpe makes `merges` merges (vocab_size of them when 0) and
  /// takes every segment of the text into its vocabulary, as subword-nmt does.
  static Tokenizer train(const LineSource& next_line, const TrainOptions& options);
  /// Learns from counts of the text made with these options, which are not of type unigram.
  static Tokenizer train(PieceCounts counts, const TrainOptions& options);

  /// A tokenizer of another program.
  static Tokenizer from_foreign(const ForeignTokenizer& foreign);
  /// A word tokenizer from an imported word list.
  static Tokenizer from_words(const std::vector<CountedPiece>& words, std::int64_t min_frequency = 0);
  /// subword-nmt codes with the segments of a text as vocabulary, the frequent ones first.
  static Tokenizer from_codes(BpeCodes codes, const LineSource& next_line, std::int64_t min_frequency = 1,
                              const std::string& special = {});
  /// subword-nmt codes with an imported vocabulary file, in its order. Segments rarer than `threshold` are
  /// left out; a segment that is not in the vocabulary is split (apply-bpe --vocabulary-threshold).
  static Tokenizer from_codes(BpeCodes codes, const std::vector<CountedPiece>& segments,
                              std::int64_t threshold = 0);
  /// subword-nmt codes with all symbols of the merges as vocabulary.
  static Tokenizer from_codes(BpeCodes codes);

  /// The pieces "0", "1", ... for a model whose tokenizer is unknown: text is ids between spaces, with
  /// nothing around it.
  static Tokenizer of_ids(std::int64_t size, const SpecialIds& special);
  /// This tokenizer with other special ids and `size` pieces; missing ones are named "<unused_0>", ... and
  /// represent no text. Throws Error if it has more.
  Tokenizer fitted(std::int64_t size, const SpecialIds& special) const;

  /// The ids of a line of valid UTF-8, without cls, bos and eos. `draw`, unless null: a sampled segmentation.
  /// Throws UsageError if the vocabulary does not support that.
  std::vector<std::int32_t> encode(const std::string& line, PieceDraw* draw = nullptr) const;
  /// The ids of a line as in /tokens: cls, encode(line), eos; absent special pieces are omitted.
  std::vector<std::int32_t> sentence(const std::string& line, PieceDraw* draw = nullptr) const;
  /// Two lines as one sentence, such as a question and a text: cls, encode(line), sep, encode(other), eos, or
  /// as combined by the tokenizer's own program; cut to `most` ids (0: not at all), from the longer line
  /// first. Throws Error if the vocabulary has no separator.
  TypedIds pair(const std::string& line, const std::string& other, std::size_t most = 0) const;
  /// sentence() without cls: the output of a decoder, after what it begins with.
  std::vector<std::int32_t> with_eos(const std::string& line, PieceDraw* draw = nullptr) const;
  /// Whether sentence() ends with eos. If not, as in GPT-2, a decoder reads text as given.
  bool ends_sentences() const;
  /// Cuts the result of sentence() to `most` ids, keeping those that it puts after a sentence.
  void truncate(std::vector<std::int32_t>& ids, std::size_t most) const;
  /// The text of a sentence: special pieces are skipped, except unk and mask ("<unk>", "<mask>"). Throws
  /// Error on an id that is not in the vocabulary.
  std::string decode(std::span<const std::int32_t> ids) const;
  /// Whether the piece represents no text.
  bool is_mark(std::int32_t id) const;

  /// The ids of the codes of languages (languages.h), in order; empty: the vocabulary has none. They stand
  /// for no text, and text cannot spell them. sentence() has one of them.
  const std::vector<std::int32_t>& languages() const { return languages_; }
  bool is_language(std::int32_t id) const;
  /// The code of a language by its name. Throws UsageError naming `option`, and what there is.
  std::int32_t language(const std::string& name, const std::string& option) const;
  /// This tokenizer for sentences in the language of this code. Throws UsageError if sentences have no code.
  Tokenizer in_language(std::int32_t code) const;
  /// The code of sentence(); kAbsent if there is none.
  std::int32_t source_language() const;
  /// This tokenizer for a decoder all of whose texts begin with this token, as a translation with the code of
  /// its language: with_eos() does.
  Tokenizer beginning_with(std::int32_t first) const;
  std::int32_t first() const { return first_; }

  /// A tokenizer whose text also spells special tokens ("<|im_start|>", "[SEP]"), as in other programs.
  /// Throws UsageError if the type does not support that.
  Tokenizer spelling_special_tokens() const;

  const Vocabulary& vocabulary() const;
  const SpecialIds& special() const { return vocabulary().special(); }
  std::int64_t size() const { return vocabulary().size(); }
  const std::string& piece(std::int32_t id) const { return vocabulary().piece(id); }
  std::vector<std::string> pieces(std::span<const std::int32_t> ids) const;
  /// The word number of each piece, from 0. A special piece other than unk and mask is a word of its own.
  std::vector<std::int32_t> word_of(std::span<const std::int32_t> ids) const;

  const std::string& type() const { return type_; }
  bool pretokenized() const { return pretokenized_; }

  /// Tensors <prefix>/piece str(id), <prefix>/config JSON str(1), and <prefix>/merges str(merge) or
  /// <prefix>/sentencepiece u8(byte) if the type has them. The config states special ids other than the
  /// default ones.
  TensorMap to_map(const std::string& prefix = "vocabulary") const;
  static Tokenizer from_map(const TensorMap& map, const std::string& prefix = "vocabulary");
  /// The tokenizer of one side ("source" or "target") of a model file, or of a vocabulary file.
  static Tokenizer of_side(const TensorMap& map, const std::string& side);
  /// Source and target, which share one where the file has one.
  static std::pair<Tokenizer, Tokenizer> of_both_sides(const TensorMap& map);

  /// SHA-256 of everything that determines ids and text: tokenizers with equal digests are interchangeable.
  const std::string& digest() const { return digest_; }

 private:
  /// The special ids around sentences.
  SentenceFrame frame() const;
  Tokenizer(std::string type, bool pretokenized, std::shared_ptr<const Scheme> scheme,
            std::vector<std::int32_t> languages = {});
  std::string compute_digest() const;

  std::string type_;
  bool pretokenized_;
  std::shared_ptr<const Scheme> scheme_;
  std::shared_ptr<const AddedTokens> spelled_;  ///< replaces those of the scheme; null: those
  std::vector<std::int32_t> languages_;
  // Of its use, not of the tokenizer: no part of the digest, and not stored.
  std::int32_t language_ = SpecialIds::kAbsent;  ///< the code of sentence(); kAbsent: that of the frame
  std::int32_t first_ = SpecialIds::kAbsent;     ///< see beginning_with()
  std::string digest_;
};

}  // namespace heed::text
