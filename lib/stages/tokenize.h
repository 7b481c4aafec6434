// The tool tokenize: text to /tokens, /tokens to text, corpora to a vocabulary.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/options.h"
#include "text/tokenizer.h"

namespace heed {

struct TokenizeCommand {
  std::vector<std::string> input{"-"};  ///< read one after the other
  std::string output = "-";
  std::string keep;        ///< a file that also gathers the tensors; empty: none
  io::WriteOptions write;  ///< of the tensors

  std::string model;        ///< a model file, whose vocabulary is used
  std::string vocabulary;   ///< a vocabulary file; takes precedence over `model`
  std::string pair;         ///< a text whose lines are the second segment of each sentence; empty: none
  std::string side;         ///< source or target; empty: as stated by the input, otherwise source
  std::string prompt;       ///< before each sentence, written as in JSON
  std::string language;     ///< of the text, for a vocabulary of many languages; empty: its default
  std::string codes;        ///< subword-nmt codes
  bool export_spm = false;  ///< write the vocabulary as a model of SentencePiece

  std::vector<std::string> pairs;  ///< source and target text of a corpus file; empty: none
  std::string texts;               ///< the options of train that name them
  std::string target_vocabulary;   ///< vocabulary of its target; empty: `vocabulary` or that of the model
  std::vector<std::string> parts;  ///< corpus files of its parts

  std::vector<std::string> corpora;     ///< texts to learn from
  bool count = false;                   ///< count the words of `corpora` instead
  std::vector<std::string> counted;     ///< such counts, of parts of a text, to learn from
  std::vector<std::string> word_lists;  ///< vocabulary files of other programs
  std::int64_t threshold = 0;           ///< minimal count of an imported piece
  text::TrainOptions training;

  bool detokenize = false;
  bool pieces = false;          ///< pieces as text instead of ids
  bool special_tokens = false;  ///< text may spell special tokens
  bool replace = false;
  std::int64_t first_sentence = 0;  ///< lines of the text before the input
  std::int64_t batch = 64;          ///< lines per frame
  bool flush = false;               ///< a frame of fewer lines rather than waiting for more
  std::int64_t max_length = 0;      ///< maximal number of pieces of a sentence, eos included; 0: unlimited
  bool truncate = false;
  std::int64_t max_line = 1 << 20;  ///< maximal number of bytes of a line

  /// Learns or imports a vocabulary, detokenizes, or tokenizes, as the fields say. Throws Error, UsageError.
  void run() const;
  /// The file whose vocabulary is used; empty: none.
  const std::string& vocabulary_path() const { return vocabulary.empty() ? model : vocabulary; }

 private:
  void write_pairs() const;
  void make_vocabulary() const;
  void write_spm() const;
  void write_counts() const;
  text::Tokenizer learned() const;
  text::Tokenizer imported() const;
  text::Tokenizer tokenizer(const std::string& for_side) const;
  void write_tokens() const;
  void write_pieces() const;
  void read_tokens() const;
  void read_pieces() const;
};

}  // namespace heed
