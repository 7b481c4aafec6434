#include "text/foreign_tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "text/byte_bpe.h"
#include "text/foreign_json.h"
#include "text/foreign_sentencepiece.h"
#include "text/line_reader.h"
#include "text/tokenizer_config.h"
#include "text/tokenizer_json_reader.h"
#include "text/wordpiece.h"

namespace heed::text {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kBertTokens[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
constexpr std::string_view kMpnetTokens[] = {"<pad>", "[UNK]", "<s>", "</s>", "<mask>"};
constexpr char kJsonFile[] = "tokenizer.json", kVocabularyFile[] = "vocab.json", kMergesFile[] = "merges.txt";
constexpr char kWordPieceFile[] = "vocab.txt";

/// bos before a sentence, if tokenizer_config.json says so, as OPT's does.
SentenceFrame frame_of_gpt2(const PieceList& pieces, const TokenizerConfig& config) {
  if (config.flag("add_prefix_space", false)) fail(config.name(), ": add_prefix_space: import ", kJsonFile);
  if (!config.flag("add_bos_token", false)) return {};
  const std::int32_t id = pieces.find(config.token("bos_token", ""));
  if (id == SpecialIds::kAbsent) fail(config.name(), ": bos_token: wanted a piece of ", kVocabularyFile);
  return {.before = {id}, .after = {}};
}

/// vocab.json and merges.txt say nothing else: they are GPT-2's, or OPT's.
ForeignTokenizer from_files(const fs::path& vocabulary, const fs::path& merges_file) {
  const std::string file = escaped(vocabulary.string());
  const Json json = read_foreign_json(vocabulary.string());
  const TokenizerConfig config(vocabulary.parent_path());
  const bool has_frame = json.contains("<s>") && json.contains("</s>");
  if (has_frame && config.tokenizer_class() != "GPT2Tokenizer")
    fail(file, ": has <s> and </s>, but does not say whether they stand around a sentence: import ",
         kJsonFile);
  PieceList pieces(file, json.size());
  pieces.add_all(json);
  std::vector<Merge> merges;
  const std::string name = escaped(merges_file.string());
  expect_foreign_file(merges_file.string());
  LineReader lines(merges_file.string());
  for (std::string line; lines.next(line);)
    if (!line.empty() && !line.starts_with("#version")) merges.push_back(parse_merge(line, name));
  std::vector<std::int32_t> special;
  for (const char* token : {"<|endoftext|>", "<s>", "</s>", "<pad>", "<unk>", "<mask>"})
    if (json.contains(token)) special.push_back(json[token].get<std::int32_t>());
  ByteBpeOptions options;
  std::vector<std::string> files{vocabulary.string(), merges_file.string()};
  if (has_frame) {
    options.frame = frame_of_gpt2(pieces, config);
    files = config.files(files);
  }
  return {kByteBpeType, false,
          about_file(merges_file.string(),
                     [&] {
                       return make_byte_bpe_scheme(std::move(pieces).vocabulary(special), std::move(merges),
                                                   std::move(options));
                     }),
          std::move(files)};
}

/// vocab.txt: the line is the id.
ForeignTokenizer from_word_pieces(const fs::path& vocabulary) {
  const fs::path config_file = vocabulary.parent_path() / kTokenizerConfigFile;
  if (!fs::is_regular_file(config_file))
    fail(escaped(config_file.string()), ": is missing: it says by do_lower_case whether case counts");
  const Json config = read_foreign_json(config_file.string());
  Object fields(config, escaped(config_file.string()));
  WordPieceOptions options;
  fields.at("do_lower_case");
  options.lowercase = fields.flag("do_lower_case", true);
  options.strip_accents = fields.flag("strip_accents", options.lowercase);
  options.split_chinese = fields.flag("tokenize_chinese_chars", true);
  const std::string name = escaped(vocabulary.string());
  expect_foreign_file(vocabulary.string());
  LineReader lines(vocabulary.string());
  PieceList pieces(name, kMostPieces);
  for (std::string line; lines.next(line);) {
    if (line.empty()) fail(name, ':', lines.line_number(), ": empty piece");
    pieces.add(static_cast<std::int32_t>(lines.line_number() - 1), line);
  }
  // MPNet's list, too, has all of BERT's special pieces, but of these it uses only [UNK].
  const bool is_mpnet = pieces.find("<s>") == 0;
  std::vector<std::int32_t> special;
  for (const std::string_view piece : is_mpnet ? kMpnetTokens : kBertTokens)
    if (const std::int32_t id = pieces.find(std::string(piece)); id != SpecialIds::kAbsent)
      special.push_back(id);
  const auto id_of = [&](const char* piece) {
    const std::int32_t id = pieces.find(piece);
    if (id == SpecialIds::kAbsent) fail(name, ": has no ", piece);
    return id;
  };
  const std::int32_t begin = id_of(is_mpnet ? "<s>" : "[CLS]"), end = id_of(is_mpnet ? "</s>" : "[SEP]");
  if (is_mpnet)
    options.frame = {{begin}, {end}, {end, end}};
  else
    options.frame = {{begin}, {end}, {end}, 1};
  return {kWordPieceType,
          false,
          make_wordpiece_scheme(std::move(pieces).vocabulary(special), std::move(options)),
          {vocabulary.string(), config_file.string()}};
}

/// The file itself, or that of the folder; empty if there is none.
fs::path file_of(const fs::path& path, const char* name) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return path;
  return fs::is_regular_file(path / name, ignored) ? path / name : fs::path();
}

/// Whether it has the special pieces of BERT, each on a line of its own.
bool is_word_piece_list(const std::string& path) {
  std::error_code error;
  if (const std::uintmax_t size = fs::file_size(path, error); error || size > kMostFileBytes) return false;
  std::size_t found = 0;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    found += std::ranges::find(kBertTokens, line.substr(0, line.find('\r'))) != std::end(kBertTokens);
  return found >= 3;
}

}  // namespace

bool is_foreign_tokenizer(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return true;
  if (!fs::is_regular_file(path, ignored)) return false;
  if (is_sentencepiece_model(path)) return true;
  char first = 0;
  std::ifstream(path) >> first;
  return first == '{' || is_word_piece_list(path);
}

ForeignTokenizer read_foreign_tokenizer(const std::string& path, const std::string& side, std::int64_t rows) {
  if (has_sentencepiece_model(path)) return read_sentencepiece_tokenizer(path, side, rows);
  const bool is_folder = fs::is_directory(path);
  if (!is_folder && is_word_piece_list(path)) return from_word_pieces(path);
  if (const fs::path file = file_of(path, kJsonFile); !file.empty()) {
    Json json = read_foreign_json(file.string());
    // vocab.json may have a piece "model", but then with an id.
    if (is_folder || (json.contains("model") && json["model"].is_object()))
      return read_tokenizer_json(std::move(json), file.string(), rows);
  }
  const fs::path vocabulary = file_of(path, kVocabularyFile);
  if (const fs::path list = fs::path(path) / kWordPieceFile;
      is_folder && vocabulary.empty() && fs::is_regular_file(list))
    return from_word_pieces(list);
  if (vocabulary.empty())
    fail(escaped(path), ": no tokenizer in this folder, wanted ", kJsonFile, ", ", kVocabularyFile, " and ",
         kMergesFile, ", ", kWordPieceFile,
         ", or a SentencePiece model of Marian, T5, Llama, Gemma, NLLB, mBART, M2M-100, XLM-RoBERTa or "
         "CamemBERT");
  const fs::path merges = vocabulary.parent_path() / kMergesFile;
  if (!fs::is_regular_file(merges))
    fail(escaped(merges.string()), ": is missing beside ", escaped(vocabulary.filename().string()));
  return from_files(vocabulary, merges);
}

}  // namespace heed::text
