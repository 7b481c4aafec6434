#include "stages/tokenize.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "base/digest.h"
#include "base/error.h"
#include "base/log.h"
#include "io/atomic_file.h"
#include "io/frame_stream.h"
#include "io/provenance.h"
#include "io/text_writer.h"
#include "stages/frames.h"
#include "text/foreign_tokenizer.h"
#include "text/line_reader.h"
#include "text/piece_counts.h"
#include "text/token_map.h"
#include "text/unicode.h"
#include "text/unknown_pieces.h"
#include "text/word_unigram.h"
#include "train/pair_file.h"

namespace heed {
namespace {

using text::LineReader;
using text::Sentence;
using text::Tokenizer;

/// Lines of text, written in blocks of a size, and of some lines.
class LineWriter {
 public:
  LineWriter(const std::string& path, std::int64_t most_lines) : out_(path), most_lines_(most_lines) {}

  void line(std::string_view text) {
    (block_ += text) += '\n';
    if (++lines_ >= most_lines_ || block_.size() >= kBlockBytes) flush();
  }
  void flush() {
    out_.write(block_);
    block_.clear();
    lines_ = 0;
  }
  void finish() {
    flush();
    out_.finish();
  }

 private:
  static constexpr std::size_t kBlockBytes = 1 << 16;
  io::TextWriter out_;
  std::int64_t most_lines_, lines_ = 0;
  std::string block_;
};

text::BpeCodes read_codes(const std::string& path) {
  return text::BpeCodes::parse(text::read_lines(path), escaped(path));
}

/// The entries of one word list in its order; for several lists, the counts of equal entries are added, and
/// the most frequent come first.
std::vector<text::CountedPiece> read_word_lists(const std::vector<std::string>& paths) {
  std::vector<text::CountedPiece> all;
  std::unordered_map<std::string, std::size_t> place;
  for (const std::string& path : paths) {
    for (text::CountedPiece& entry : text::parse_word_list(text::read_lines(path), escaped(path))) {
      auto [it, is_new] = place.emplace(entry.piece, all.size());
      if (is_new) {
        all.push_back(std::move(entry));
      } else {
        all[it->second].count += entry.count;
      }
    }
  }
  if (paths.size() > 1) {
    std::ranges::sort(all, [](const auto& a, const auto& b) {
      return a.count != b.count ? a.count > b.count : a.piece < b.piece;
    });
  }
  return all;
}

/// The text of --prompt, which is written as in JSON, except that quotes and line ends may also be plain. Throws
/// UsageError.
std::string unescaped(const std::string& prompt) {
  std::string json = "\"";
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    const bool is_control = static_cast<unsigned char>(prompt[i]) < 0x20;
    if (prompt[i] == '"' || is_control) {
      const std::string quoted = nlohmann::json(std::string(1, prompt[i])).dump();
      json.append(quoted, 1, quoted.size() - 2);
      continue;
    }
    json += prompt[i];
    if (prompt[i] == '\\' && i + 1 < prompt.size()) json += prompt[++i];
  }
  try {
    return nlohmann::json::parse(json + '"').get<std::string>();
  } catch (const nlohmann::json::exception&) {
    fail<UsageError>(
        "--prompt: wanted UTF-8, and after a backslash what JSON has there, such as n for a line feed: \"",
        escaped(prompt), '"');
  }
}

/// Lines to sentences of limited length, with counts for messages.
class SentenceMaker {
 public:
  SentenceMaker(const Tokenizer& tokenizer, const TokenizeCommand& command)
      : tokenizer_(tokenizer), command_(command), unknown_(tokenizer), prompt_(unescaped(command.prompt)) {}

  /// Two lines as one sentence.
  Sentence encode(const LineReader& reader, const std::string& line, const std::string& other) {
    const auto most = static_cast<std::size_t>(command_.truncate ? command_.max_length : 0);
    text::TypedIds pair = at(reader, [&] { return tokenizer_.pair(line, other, most); });
    cut_ += pair.cut;
    Sentence sentence{line + "\t" + other, std::move(pair.ids), std::move(pair.types)};
    unknown_.add(sentence.text, sentence.ids);
    pieces_ += static_cast<std::int64_t>(sentence.ids.size());
    limit(reader, sentence.ids);
    return sentence;
  }

  Sentence encode(const LineReader& reader, const std::string& line) {
    const std::string whole = prompt_ + line;
    Sentence sentence{line, at(reader, [&] { return tokenizer_.sentence(whole); })};
    unknown_.add(line, prompt_.empty() ? sentence.ids : tokenizer_.sentence(line));
    pieces_ += static_cast<std::int64_t>(sentence.ids.size());
    limit(reader, sentence.ids);
    return sentence;
  }

  void report(const std::string& name) const {
    if (cut_ > 0)
      logging::warn(
          concat(name, ": cut ", count_of(cut_, "sentence"), " to ", count_of(command_.max_length, "piece")));
    logging::verbose(concat(name, ": ", pieces_, " pieces, ", unknown_.unknown(), " of them unknown"));
    if (const std::string text = unknown_.complaint(); !text.empty()) logging::note(concat(name, ": ", text));
  }

 private:
  template <class Work>
  std::invoke_result_t<Work> at(const LineReader& reader, const Work& work) const {
    const std::string& path = command_.vocabulary_path();
    return at_place([&] { return concat(reader.place(), path.empty() ? "" : ": ", escaped(path)); }, work);
  }

  void limit(const LineReader& reader, std::vector<std::int32_t>& ids) {
    const auto most = static_cast<std::size_t>(command_.max_length);
    if (most == 0 || ids.size() <= most) return;
    if (!command_.truncate) {
      fail(reader.place(), ": ", ids.size(), " pieces, wanted at most ", most,
           " (--max-length); --truncate cuts longer sentences");
    }
    tokenizer_.truncate(ids, most);
    ++cut_;
  }

  const Tokenizer& tokenizer_;
  const TokenizeCommand& command_;
  text::UnknownPieces unknown_;
  const std::string prompt_;
  std::int64_t pieces_ = 0, cut_ = 0;
};

void refuse_empty(const LineReader& reader) {
  if (reader.lines() == 0) fail(reader.name(), ": no lines: did the previous command fail?");
}

/// The side of the frame's ids; that of hypotheses is always the target.
std::string side_of(const TensorMap& frame) {
  if (frame.contains("hypotheses/ids")) return "target";
  auto group = frame.groups.find("tokens");
  if (group == frame.groups.end()) return "source";
  const std::string* name = io::text_of(group->second.attributes, "side");
  return name ? *name : "source";
}

}  // namespace

void TokenizeCommand::run() const {
  if (!pair.empty() && (!corpora.empty() || !word_lists.empty() || detokenize || pieces))
    fail<UsageError>("--pair makes /tokens: it excludes --train, --import-vocab, --detokenize and --pieces");
  const bool makes_vocabulary = !corpora.empty() || !word_lists.empty() || !counted.empty();
  if (!counted.empty() && (!corpora.empty() || !word_lists.empty() || !codes.empty()))
    fail<UsageError>("--train-counts excludes --train, --count, --import-vocab and --bpe-codes");
  if (count && !codes.empty())
    fail<UsageError>("--count counts for --train-counts, which learns merges: it excludes --bpe-codes");
  if (training.merges > 0 && (training.type != "bpe" || !training.pretokenized))
    fail<UsageError>(
        "--merges is the number of merges of --type bpe --pretokenized, for text whose words are separated "
        "by spaces; otherwise --vocab-size sets the number of pieces");
  if (training.merges > 0 && (!codes.empty() || !word_lists.empty()))
    fail<UsageError>("--merges is the number of merges to learn: it excludes --bpe-codes and --import-vocab");
  if (training.min_word_count > 1 && (count || !codes.empty() || !word_lists.empty()))
    fail<UsageError>(
        "--min-word-count selects the words that merges are learned from: it excludes --count "
        "(--train-counts takes it), --bpe-codes and --import-vocab");
  if ((count || !counted.empty()) && training.sample_lines > 0)
    fail<UsageError>("--sample-lines samples lines of --train: counts cover all lines");
  if (makes_vocabulary && !vocabulary.empty())
    fail<UsageError>(
        "--vocab FILE uses an existing vocabulary, but --train and the like make one; its size is set by "
        "--vocab-size");
  if ((makes_vocabulary || export_spm || detokenize || pieces) && !keep.empty())
    fail<UsageError>(
        "--keep keeps /tokens: it excludes --train, --import-vocab, --export-spm, --detokenize and --pieces");
  if (first_sentence > 0 && (makes_vocabulary || export_spm || detokenize || pieces))
    fail<UsageError>(
        "--first-sentence numbers /tokens: it excludes --train, --import-vocab, --export-spm, --detokenize "
        "and --pieces");
  if (special_tokens && (makes_vocabulary || !codes.empty() || export_spm || detokenize))
    fail<UsageError>(
        "--special-tokens applies to text split by an imported vocabulary: it excludes --train, "
        "--import-vocab, --bpe-codes, --export-spm and --detokenize");
  if (!prompt.empty() && (makes_vocabulary || !codes.empty() || export_spm || detokenize || pieces ||
                          !pair.empty() || !pairs.empty()))
    fail<UsageError>(
        "--prompt stands before each sentence of /tokens: it excludes --train, --import-vocab, --bpe-codes, "
        "--export-spm, --detokenize, --pieces, --pair and --pairs");
  if (!language.empty() && (makes_vocabulary || !codes.empty() || export_spm || detokenize || !pairs.empty()))
    fail<UsageError>(
        "--language gives sentences the code of their language: it excludes --train, --import-vocab, "
        "--bpe-codes, --export-spm, --detokenize and --pairs");
  if (export_spm && (!pair.empty() || makes_vocabulary || detokenize || pieces || flush))
    fail<UsageError>("--export-spm writes the vocabulary of --vocab or -m: it reads no text");
  if (pairs.empty() && (!parts.empty() || !target_vocabulary.empty()))
    fail<UsageError>(parts.empty() ? "--target-vocab" : "--parts", " goes with --pairs");
  if (!pairs.empty()) {
    write_pairs();
  } else if (makes_vocabulary) {
    make_vocabulary();
  } else if (export_spm) {
    write_spm();
  } else if (detokenize) {
    pieces ? read_pieces() : read_tokens();
  } else {
    pieces ? write_pieces() : write_tokens();
  }
}

void TokenizeCommand::make_vocabulary() const {
  if (!corpora.empty() && !word_lists.empty())
    fail<UsageError>("--train and --import-vocab exclude each other");
  if (count) return write_counts();
  Tokenizer made = corpora.empty() && counted.empty() ? imported() : learned();
  TensorMap map = made.to_map();
  map.attributes[io::kVocabularyDigest] = made.digest();
  io::write_map(output, map, write);
}

void TokenizeCommand::write_spm() const {
  const Tokenizer made = tokenizer(side);
  const TensorMap map = made.to_map();
  const Tensor* const model = map.find("vocabulary/sentencepiece");
  if (!model || made.type() == text::kWordUnigramType)
    fail<UsageError>(
        "--export-spm: the vocabulary is of type ", made.type() == "bpe" ? "pre-tokenized " : "", made.type(),
        ", which SentencePiece does not have; tokenize --train --type bpe or unigram makes one that it has");
  const auto bytes = model->values<std::uint8_t>();
  io::write_file(output, std::string(bytes.begin(), bytes.end()));
}

namespace {

/// "2 different words"
std::string kinds_of(const text::PieceCounts& counts, const text::TrainOptions& options) {
  const bool are_characters = text::kPieceTypes(options.type) == text::PieceType::character;
  return count_of(std::ssize(counts.counts()), are_characters ? "different character" : "different word");
}

/// "a", "a and 2 further files"
std::string names_of(const std::vector<std::string>& paths) {
  const std::int64_t others = std::ssize(paths) - 1;
  return concat(paths[0] == "-" ? "<stdin>" : escaped(paths[0]),
                others > 0 ? concat(" and ", count_of(others, "further file")) : "");
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\v\f\r") == std::string_view::npos;
}

/// The lines of all texts, with their progress.
class CountedLines {
 public:
  CountedLines(const std::vector<std::string>& paths, bool replace, std::int64_t max_line)
      : names_(names_of(paths)), lines_(paths, replace, max_line) {}
  /// Throws Error at the end of texts without lines.
  bool operator()(std::string& line) {
    if (!lines_.next(line)) {
      if (lines_.lines() == 0) fail(names_, ": no lines to learn from");
      return false;
    }
    is_blank_ = is_blank_ && is_blank(line);
    if (lines_.lines() % 1000 == 0) progress_.update(lines_.lines());
    return true;
  }
  std::int64_t number() const { return lines_.lines(); }
  const std::string& names() const { return names_; }
  bool are_blank() const { return is_blank_; }

 private:
  std::string names_;
  LineReader lines_;
  bool is_blank_ = true;
  logging::Progress progress_{"lines", 0};
};

}  // namespace

void TokenizeCommand::write_counts() const {
  text::PieceCounts counts(training);
  LineWriter out(output, INT64_MAX);
  CountedLines lines(corpora, replace, max_line);
  for (std::string line; lines(line);) counts.add(line);
  counts.write([&](const std::string& line) { out.line(line); });
  out.finish();
  logging::note(concat("counted ", kinds_of(counts, training), " in ", count_of(lines.number(), "line")));
}

Tokenizer TokenizeCommand::learned() const {
  if (!counted.empty()) {
    text::PieceCounts counts(training);
    for (const std::string& path : counted) {
      LineReader lines(path, false, LineReader::kMostBytes, text::ByteOrderMark::keep);
      counts.read([&](std::string& line) { return lines.next(line); }, escaped(path));
    }
    if (std::ranges::all_of(counts.counts(), [](const auto& entry) { return is_blank(entry.first); }))
      fail(names_of(counted), ": no words to learn from");
    counts.leave_out_rare_words();
    const std::string kinds = kinds_of(counts, training);
    Tokenizer made = Tokenizer::train(std::move(counts), training);
    logging::note(concat("learned ", count_of(made.size(), "piece"), " from counts of ", kinds));
    return made;
  }
  CountedLines lines(corpora, replace, max_line);
  const auto next_line = [&](std::string& line) {
    if (lines(line)) return true;
    if (lines.are_blank()) fail(lines.names(), ": only blank lines, nothing to learn from");
    return false;
  };
  Tokenizer made = codes.empty() ? Tokenizer::train(next_line, training)
                                 : Tokenizer::from_codes(read_codes(codes), next_line, training.min_frequency,
                                                         training.special);
  logging::note(
      concat("learned ", count_of(made.size(), "piece"), " from ", count_of(lines.number(), "line")));
  return made;
}

Tokenizer TokenizeCommand::imported() const {
  if (!training.special.empty()) fail<UsageError>("--special goes with --train, not with --import-vocab");
  if (std::ranges::any_of(word_lists, text::is_foreign_tokenizer)) {
    if (word_lists.size() > 1 || !codes.empty() || threshold != 0)
      fail<UsageError>(
          "--import-vocab takes one tokenizer of another program, which is complete: no further file, "
          "--bpe-codes or --vocabulary-threshold");
    Tokenizer made =
        Tokenizer::from_foreign(text::read_foreign_tokenizer(word_lists[0], side.empty() ? "source" : side));
    logging::note(concat("imported ", made.size(), " pieces of type ", made.type()));
    return made;
  }
  std::vector<text::CountedPiece> words = read_word_lists(word_lists);
  Tokenizer made = codes.empty() ? Tokenizer::from_words(words, threshold)
                                 : Tokenizer::from_codes(read_codes(codes), words, threshold);
  logging::note(concat("imported ", made.size(), " pieces"));
  return made;
}

Tokenizer TokenizeCommand::tokenizer(const std::string& for_side) const {
  const std::string& path = vocabulary_path();
  if (!codes.empty() && vocabulary.empty()) return Tokenizer::from_codes(read_codes(codes));
  if (!codes.empty()) fail<UsageError>("--vocab already has its merges: leave out --bpe-codes");
  if (path.empty()) fail<UsageError>("no vocabulary: give --vocab FILE, -m MODEL or set HEED_MODEL");
  const auto of_side = chosen<Side>("--side", {"source", "target"}, for_side.empty() ? "source" : for_side);
  const Tokenizer loaded = at_place(escaped(path), [&] { return load_tokenizer(path, of_side); });
  const Tokenizer chosen =
      language.empty() ? loaded : loaded.in_language(loaded.language(language, "--language"));
  return special_tokens ? chosen.spelling_special_tokens() : chosen;
}

void TokenizeCommand::write_tokens() const {
  const Tokenizer pieces_of = tokenizer(side);
  LineReader reader(input, replace, max_line);
  reader.count_from(first_sentence);
  if (first_sentence % batch != 0)
    logging::warn(concat("--first-sentence ", first_sentence, ": not a multiple of --batch ", batch,
                         ": the last bits of results may differ from those of a single run"));
  io::FrameWriter writer(output, write, keep);
  SentenceMaker maker(pieces_of, *this);
  std::vector<Sentence> sentences;
  auto send = [&] {
    if (sentences.empty()) return;
    TensorMap frame = text::token_map(sentences, pieces_of, side.empty() ? "source" : side);
    io::set_first_sentence(frame.attributes, first_sentence + reader.lines() - std::ssize(sentences));
    writer.write(std::move(frame));
    sentences.clear();
  };
  std::optional<LineReader> others;
  if (!pair.empty()) others.emplace(pair, replace, max_line), others->count_from(first_sentence);
  for (std::string line, other; reader.next(line);) {
    if (others && !others->next(other))
      fail(others->name(), ": has ", count_of(others->lines(), "line"), ", ", reader.name(), " has more");
    sentences.push_back(others ? maker.encode(reader, line, other) : maker.encode(reader, line));
    if (sentences.back().ids.empty())
      fail(reader.name(), ": line ", reader.line_number(), line.empty() ? " is empty" : " has no tokens",
           ", and this vocabulary puts nothing (cls, bos, eos) around text: nothing would be left to read");
    if (std::cmp_equal(sentences.size(), batch) || (flush && !reader.has_arrived())) send();
  }
  refuse_empty(reader);
  if (std::string other; others && others->next(other))
    fail(others->name(), ": has more lines than ", reader.name(), ", which has ", reader.lines());
  send();
  writer.finish();
  maker.report(reader.name());
}

namespace {

/// A text read for a corpus, and the messages about it.
struct CorpusSide {
  LineReader lines;
  const Tokenizer& tokenizer;
  text::UnknownPieces unknown;
  Sha256 digest;
  std::optional<Sha256> of_part;
  std::string line;

  CorpusSide(const std::string& path, const Tokenizer& pieces_of, const TokenizeCommand& command)
      : lines(path, command.replace, command.max_line), tokenizer(pieces_of), unknown(pieces_of) {
    lines.count_from(command.first_sentence);
  }

  bool next() {
    if (!lines.next(line)) return false;
    digest.add_line(line);
    if (of_part) of_part->add_line(line);
    return true;
  }
  template <class Encode>
  std::vector<std::int32_t> ids(const Encode& encode) {
    std::vector<std::int32_t> ids = at_place([&] { return lines.place(); }, [&] { return encode(line); });
    unknown.add(line, ids);
    if (std::ssize(ids) > PairFileWriter::kMostTokens)
      fail(lines.place(), ": ", ids.size(), " pieces, a corpus holds sentences of at most ",
           PairFileWriter::kMostTokens);
    return ids;
  }
  void report() const {
    if (const std::string text = unknown.complaint(); !text.empty())
      logging::note(concat(lines.name(), ": ", text));
  }
};

bool next_pair(CorpusSide& source, CorpusSide& target) {
  const bool has_source = source.next(), has_target = target.next();
  if (has_source == has_target) return has_source;
  fail((has_source ? target : source).lines.name(), ": has ",
       count_of((has_source ? target : source).lines.lines(), "line"), ", ",
       (has_source ? source : target).lines.name(),
       " has more: line n of one must belong to line n of the other");
}

/// Takes the pieces of the next lines of both texts from a file made from them.
void add_part(PairFileWriter& writer, PairFile& part, CorpusSide& source, CorpusSide& target) {
  const std::int64_t before = source.lines.line_number();
  if (part.info().first_sentence != before)
    fail(part.name(), ": begins with pair ", part.info().first_sentence, ", but ", before,
         " stand before it: is a part missing, duplicated or out of order?");
  part.expect_vocabularies(source.tokenizer.digest(), source.tokenizer.size(), target.tokenizer.digest(),
                           target.tokenizer.size());
  source.of_part.emplace(), target.of_part.emplace();
  for (std::int64_t i = 0; i < part.size(); ++i) {
    if (!next_pair(source, target))
      fail(part.name(), ": has ", part.size(), " pairs, but ", source.lines.name(), " has ", i,
           " lines for it");
    writer.add(part.ids(Side::source, i), part.ids(Side::target, i));
  }
  if (source.of_part->hex() != part.info().source_digest ||
      target.of_part->hex() != part.info().target_digest)
    fail(part.name(), ": was made of other lines than ", before + 1, " to ", before + part.size(), " of ",
         source.lines.name(), " and ", target.lines.name());
  source.of_part.reset(), target.of_part.reset();
}

}  // namespace

void TokenizeCommand::write_pairs() const {
  if (pairs.size() != 2)
    fail<UsageError>("--pairs: got ", count_of(std::ssize(pairs), "text"), ", wanted a source and a target");
  if (output == "-" || io::is_special_file(output)) fail<UsageError>("--pairs: give a file by -o");
  if (vocabulary.empty() && !target_vocabulary.empty())
    fail<UsageError>("--target-vocab goes with --vocab, the source's");
  const Tokenizer of_source = tokenizer("source");
  const Tokenizer of_target = target_vocabulary.empty() ? tokenizer("target") : [&] {
    TokenizeCommand other = *this;
    other.vocabulary = target_vocabulary;
    return other.tokenizer("target");
  }();
  CorpusSide source(pairs[0], of_source, *this), target(pairs[1], of_target, *this);
  PairFileWriter writer(output, write, of_source.size(), of_target.size());
  for (const std::string& path : parts) {
    PairFile part(path);
    add_part(writer, part, source, target);
  }
  logging::Progress progress("pairs", 0);
  while (next_pair(source, target)) {
    if (!parts.empty())
      fail(pairs[0], ": has more lines than the ", source.lines.line_number() - 1,
           " pairs of the parts: is one missing?");
    writer.add(source.ids([&](const std::string& line) { return of_source.sentence(line); }),
               target.ids([&](const std::string& line) { return of_target.with_eos(line); }));
    if (source.lines.lines() % 1000 == 0) progress.update(source.lines.lines());
  }
  refuse_empty(source.lines);
  writer.finish({of_source.digest(), of_target.digest(), source.digest.hex(), target.digest.hex(), texts,
                 first_sentence});
  source.report(), target.report();
  logging::verbose(concat(source.lines.lines(), " pairs"));
}

void TokenizeCommand::write_pieces() const {
  const Tokenizer pieces_of = tokenizer(side);
  LineReader reader(input, replace, max_line);
  LineWriter out(output, batch);
  SentenceMaker maker(pieces_of, *this);
  for (std::string line; reader.next(line);) {
    Sentence sentence = maker.encode(reader, line);
    std::erase(sentence.ids, pieces_of.special().eos);  // a line has its own end
    out.line(joined(pieces_of.pieces(sentence.ids), " "));
    if (flush && !reader.has_arrived()) out.flush();
  }
  refuse_empty(reader);
  out.finish();
  maker.report(reader.name());
}

void TokenizeCommand::read_tokens() const {
  io::FrameReader reader(input);
  LineWriter out(output, batch);
  std::optional<Tokenizer> pieces_of;
  std::vector<std::string> lines;
  for_each_frame(
      reader,
      [&](TensorMap& frame, const std::string& name) {
        if (!pieces_of) pieces_of = tokenizer(side.empty() ? side_of(frame) : side);
        if (frame.contains("hypotheses/ids")) return;
        io::expect_digest(frame, name, io::kVocabularyDigest, pieces_of->digest(), vocabulary_path());
      },
      [&](TensorMap& frame) {
        lines.clear();
        for (const auto& ids : text::sentence_ids(frame, *pieces_of))
          lines.push_back(text::one_line(pieces_of->decode(ids)));
      },
      [&](const TensorMap&) {
        for (const std::string& line : lines) out.line(line);
        out.flush();
      });
  out.finish();
}

void TokenizeCommand::read_pieces() const {
  const Tokenizer pieces_of = tokenizer(side);
  LineReader reader(input, replace, max_line);
  LineWriter out(output, batch);
  for (std::string line; reader.next(line);) {
    std::vector<std::int32_t> ids;
    for (std::string_view piece : text::split_any(line, " ")) {
      if (!pieces_of.vocabulary().contains(std::string(piece))) {
        fail(reader.place(), ": \"", escaped(piece), "\" is not a piece of the vocabulary");
      }
      ids.push_back(pieces_of.vocabulary().id(std::string(piece)));
    }
    out.line(text::one_line(pieces_of.decode(ids)));
    if (flush && !reader.has_arrived()) out.flush();
  }
  refuse_empty(reader);
  out.finish();
}

}  // namespace heed
