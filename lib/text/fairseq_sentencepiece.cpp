#include "text/fairseq_sentencepiece.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "text/bounded_json.h"
#include "text/foreign_json.h"
#include "text/foreign_sentencepiece.h"
#include "text/languages.h"
#include "text/sentencepiece_model.h"
#include "text/tokenizer_config.h"
#include "text/word_unigram.h"

namespace heed::text {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr char kModelConfigFile[] = "config.json", kListFile[] = "vocab.json";
constexpr char kSpecialFile[] = "special_tokens_map.json", kLibraryFile[] = "tokenizer.json";
/// fairseq's special pieces. SentencePiece has unk, <s> and </s> in the places of the first three.
constexpr std::array<const char*, 4> kFairseqSpecial{"<s>", "<pad>", "</s>", "<unk>"};
constexpr char kMask[] = "<mask>";

// transformers' classes of tokenizers with such a model.
constexpr char kXlmRoberta[] = "XLMRobertaTokenizer", kCamembert[] = "CamembertTokenizer";
constexpr char kNllb[] = "NllbTokenizer", kMbart[] = "MBartTokenizer", kMbart50[] = "MBart50Tokenizer",
               kM2m100[] = "M2M100Tokenizer";
constexpr const char* kFairseqClasses[] = {kXlmRoberta, kCamembert, kNllb, kMbart, kMbart50, kM2m100};
/// Those that transformers chooses by model_type where no class is stated.
constexpr std::pair<const char*, const char*> kClassesByType[] = {
    {"xlm-roberta", kXlmRoberta}, {"camembert", kCamembert}, {"mbart", kMbart}, {"m2m_100", kM2m100}};

/// The first of these classes that tokenizer_config.json, config.json, or model_type there name; empty: none
/// does. Their models look alike.
std::string fairseq_class(const TokenizerConfig& config, const fs::path& folder) {
  std::vector<std::string> named{config.tokenizer_class()};
  std::error_code ignored;
  if (const fs::path file = folder / kModelConfigFile; fs::is_regular_file(file, ignored)) {
    const Json json = read_foreign_json(file.string());
    if (const Json name = json.value("tokenizer_class", Json()); name.is_string()) named.push_back(name);
    for (const auto& [type, name] : kClassesByType)
      if (json.value("model_type", Json()) == type) named.emplace_back(name);
  }
  for (const std::string& name : named)
    if (std::ranges::find(kFairseqClasses, name) != std::end(kFairseqClasses)) return name;
  return "";
}

// ---- XLM-RoBERTa, CamemBERT ----

/// How transformers numbers the pieces of a model: these, the model's from `first_of_model` on, and the mask.
struct FairseqNumbering {
  const char* tokenizer_class;
  std::vector<std::pair<std::string, float>> special_pieces;  ///< with scores
  int first_of_model;
  bool mask_strips;
};

const FairseqNumbering kFairseqNumberings[] = {
    {kXlmRoberta, {{"<s>", 0}, {"<pad>", 0}, {"</s>", 0}, {"<unk>", 0}}, 3, false},
    {kCamembert,
     {{"<s>NOTUSED", 0}, {"<pad>", 0}, {"</s>NOTUSED", 0}, {"<unk>", 0}, {"<unk>NOTUSED", -100}},
     1,
     true}};

/// null: it is a class for translation.
const FairseqNumbering* numbering_of(const std::string& tokenizer_class) {
  const auto found =
      std::ranges::find(kFairseqNumberings, tokenizer_class, &FairseqNumbering::tokenizer_class);
  return found == std::end(kFairseqNumberings) ? nullptr : &*found;
}

/// In the places of these fairseq has its own.
void expect_first_pieces(const sentencepiece::SentencePieceProcessor& model, const std::string& name,
                         const std::string& tokenizer_class) {
  constexpr const char* own_special[] = {"<unk>", "<s>", "</s>"};
  for (int id = 0; id < 3; ++id)
    if (model.GetPieceSize() < 3 || model.IdToPiece(id) != own_special[id])
      fail(name, ": its first pieces are not <unk>, <s> and </s>: is it of a ", tokenizer_class, '?');
}

/// XLM-RoBERTa's or CamemBERT's, which give the ids of the library tokenizers.
ForeignTokenizer from_masked_words_model(const fs::path& path, const TokenizerConfig& config,
                                         const FairseqNumbering& numbering) {
  const std::string name = escaped(path.string());
  const std::string model = read_foreign_file(path.string());
  const auto processor = load_sentencepiece(model, name);
  expect_first_pieces(*processor, name, numbering.tokenizer_class);

  std::vector<std::string> texts;
  std::vector<float> scores;
  const auto add = [&](const std::string& piece, float score) {
    texts.push_back(piece);
    scores.push_back(score);
  };
  for (const auto& [piece, score] : numbering.special_pieces) add(piece, score);
  for (int id = numbering.first_of_model; id < processor->GetPieceSize(); ++id) {
    if (processor->IsByte(id)) fail(name, ": pieces that are bytes are not supported");
    add(processor->IdToPiece(id), processor->GetScore(id));
  }
  add(kMask, 0);
  PieceList pieces(name, texts.size());
  std::vector<std::int32_t> special;
  std::vector<bool> is_special;
  for (const std::string& piece : texts) {
    const auto id = static_cast<std::int32_t>(is_special.size());
    pieces.add(id, piece);
    is_special.push_back(piece == kMask ||
                         std::ranges::find(kFairseqSpecial, piece) != kFairseqSpecial.end());
    if (is_special.back()) special.push_back(id);
  }
  const std::int32_t bos = pieces.find("<s>"), eos = pieces.find("</s>"), unk = pieces.find("<unk>");
  WordUnigramOptions options{.frame = {{bos}, {eos}, {eos, eos}}, .mask_strips = numbering.mask_strips};
  std::string renumbered = sentencepiece_model(ModelType::unigram, texts, scores, is_special, unk,
                                               std::string(normalisation_table(model)));
  SchemePtr scheme = about_file(path.string(), [&] {
    return make_word_unigram_scheme(std::move(pieces).vocabulary(special), std::move(renumbered),
                                    std::move(options));
  });
  return {kWordUnigramType, false, std::move(scheme), config.files({path.string()})};
}

// ---- NLLB, mBART, M2M-100 ----

/// fairseq's ids: its special pieces, then the model's further ones.
PieceList with_fairseq_ids(const sentencepiece::SentencePieceProcessor& model, const std::string& name,
                           std::size_t more) {
  constexpr int skipped = 3;
  const std::size_t rest = static_cast<std::size_t>(std::max(model.GetPieceSize() - skipped, 0));
  PieceList pieces(name, kFairseqSpecial.size() + rest + more);
  for (const char* piece : kFairseqSpecial) pieces.add(static_cast<std::int32_t>(pieces.size()), piece);
  for (int id = skipped; id < model.GetPieceSize(); ++id)
    pieces.add(static_cast<std::int32_t>(pieces.size()), model.IdToPiece(id));
  return pieces;
}

/// M2M-100's vocab.json.
PieceList listed_pieces(const std::string& path, std::size_t more) {
  const Json json = read_foreign_json(path);
  PieceList pieces(escaped(path), json.size() + more);
  pieces.add_all(json);
  return pieces;
}

using AddedPieces = std::vector<std::pair<std::string, std::int32_t>>;

/// The list added_tokens in the text of a tokenizer.json, most of which, as large as the model, is not
/// wanted.
Json added_tokens_of(std::string_view text, const std::string& where) {
  constexpr std::string_view key = "\"added_tokens\"", blanks = " \t\r\n";
  std::size_t begin = text.npos;
  std::int64_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      const bool is_key = depth == 1 && begin == text.npos && text.substr(i).starts_with(key);
      for (++i; i < text.size() && text[i] != '"'; ++i) i += text[i] == '\\';
      if (!is_key) continue;
      begin = std::min(text.find_first_not_of(blanks, i + 1), text.size());  // at the colon
      begin = std::min(text.find_first_not_of(blanks, begin + 1), text.size());
      if (begin == text.size() || text[begin] != '[') break;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 1 && begin != text.npos) {
      const Json list = parse_bounded_json(std::string(text.substr(begin, i + 1 - begin)), where);
      if (list.is_array()) return list;
      break;
    }
  }
  fail(where, ": no list of tokens: is it damaged?");
}

/// The special pieces with ids that a tokenizer.json beside the model adds to it.
AddedPieces added_beside(const fs::path& file) {
  AddedPieces added;
  const std::string where = escaped(file.string()) + "/added_tokens";
  for (const Json& each : added_tokens_of(read_foreign_file(file.string()), where)) {
    Object token(each, where);
    const std::int32_t id = token.id("id");
    const std::string piece = token.text("content");
    if (!token.flag("special", false))
      fail(where, ": ", escaped(piece), " is not special, which is not supported");
    added.emplace_back(piece, id);
  }
  return added;
}

/// The codes of languages in a list of further special tokens, in its order.
std::vector<std::string> listed_codes(const fs::path& folder, const TokenizerConfig& config,
                                      std::vector<std::string>& files) {
  std::vector<Json> lists{config.value("additional_special_tokens"), config.value("extra_special_tokens")};
  std::error_code ignored;
  if (fs::is_regular_file(folder / kSpecialFile, ignored)) {
    files.push_back((folder / kSpecialFile).string());
    lists.push_back(read_foreign_json(files.back()).value("additional_special_tokens", Json()));
  }
  std::vector<std::string> codes;
  for (const Json& list : lists) {
    for (const Json& each : list) {
      const Json content = each.is_object() ? each.value("content", Json()) : each;
      if (content.is_string() && is_language_code(content.get<std::string>())) codes.push_back(content);
    }
    if (!codes.empty()) break;
  }
  return codes;
}

bool has_code(const AddedPieces& pieces) {
  return std::ranges::any_of(pieces, [](const auto& each) { return is_language_code(each.first); });
}

/// The special pieces that follow those of the model, codes of languages and <mask>: with the ids that files
/// state; else M2M-100's own, or in the order of a list with <mask> last.
AddedPieces further_pieces(const fs::path& folder, const TokenizerConfig& config, bool is_m2m,
                           std::size_t known, std::vector<std::string>& files) {
  AddedPieces added = config.added();
  if (has_code(added)) return added;
  std::vector<std::string> codes;
  std::error_code ignored;
  if (is_m2m) {
    const Json name = config.value("language_codes");
    codes = m2m_codes(name.is_null() ? "m2m100" : name.is_string() ? name.get<std::string>() : "");
    if (codes.empty())
      fail(config.name(), ": language_codes: wanted m2m100 or wmt21, got ", Object::shown(name));
  } else if (fs::is_regular_file(folder / kLibraryFile, ignored)) {
    files.push_back((folder / kLibraryFile).string());
    added = added_beside(folder / kLibraryFile);
  } else {
    codes = listed_codes(folder, config, files);
    codes.emplace_back(kMask);
  }
  for (std::size_t i = 0; i < codes.size(); ++i)
    added.emplace_back(codes[i], static_cast<std::int32_t>(known + i));
  if (!has_code(added))
    fail(config.name(), ": the codes of languages are in no file: add ", kLibraryFile, " or ", kSpecialFile);
  return added;
}

/// The language that src_lang names; English if it is not stated.
std::int32_t source_language(const Vocabulary& vocabulary, const std::vector<std::int32_t>& languages,
                             const TokenizerConfig& config) {
  if (const std::int32_t id = stated_language(config, "src_lang", vocabulary, languages);
      id != SpecialIds::kAbsent)
    return id;
  for (const char* english : {"eng_Latn", "en_XX", "en"})
    if (const std::int32_t id = find_language(vocabulary, languages, english); id != SpecialIds::kAbsent)
      return id;
  return languages.front();
}

/// That of NLLB-200 and mBART, which the model numbers, or of M2M-100, with the ids of vocab.json.
ForeignTokenizer from_translation_model(const fs::path& path, const TokenizerConfig& config,
                                        const std::string& tokenizer_class) {
  const fs::path folder = path.parent_path();
  const std::string name = escaped(path.string());
  std::string model = read_foreign_file(path.string());
  const std::shared_ptr processor = load_sentencepiece(model, name);
  std::vector<std::string> files;
  ForeignSentencePieceOptions options;
  options.is_list = tokenizer_class == kM2m100;
  if (!options.is_list) expect_first_pieces(*processor, name, tokenizer_class);
  constexpr std::size_t most_added = 10'000;
  if (options.is_list) files.push_back((folder / kListFile).string());
  PieceList pieces = options.is_list ? listed_pieces(files.back(), most_added)
                                     : with_fairseq_ids(*processor, name, most_added);
  std::vector<std::int32_t> languages;
  for (const auto& [piece, id] : further_pieces(folder, config, options.is_list, pieces.size(), files)) {
    pieces.add(id, piece);
    if (is_language_code(piece)) languages.push_back(id);
  }
  std::ranges::sort(languages);
  languages.erase(std::ranges::unique(languages).begin(), languages.end());

  SpecialIds special = kNoSpecialIds;
  special.cls = pieces.find("<s>");
  special.pad = pieces.find("<pad>");
  special.eos = pieces.find("</s>");
  special.unk = pieces.find("<unk>");
  if (!options.is_list) special.mask = pieces.find(kMask);
  if (special.eos == SpecialIds::kAbsent || special.unk == SpecialIds::kAbsent)
    fail(pieces.where(), ": has no ", special.eos == SpecialIds::kAbsent ? "</s>" : "<unk>");
  Vocabulary vocabulary = std::move(pieces).vocabulary(special);
  const bool is_language_last = tokenizer_class == kMbart || config.flag("legacy_behaviour", false);
  options.frame.after = {special.eos};
  auto& beside = is_language_last ? options.frame.after : options.frame.before;
  beside.push_back(source_language(vocabulary, languages, config));
  files.push_back(path.string());
  ForeignTokenizer tokenizer = sentencepiece_tokenizer(std::move(vocabulary), std::move(model),
                                                       std::move(options), config.files(files), processor);
  tokenizer.languages = std::move(languages);
  return tokenizer;
}

}  // namespace

bool prefers_tokenizer_json(const std::string& folder) {
  std::error_code ignored;
  if (!fs::is_regular_file(fs::path(folder) / kLibraryFile, ignored)) return false;
  const std::string kind = fairseq_class(TokenizerConfig(folder), folder);
  return kind.empty() || numbering_of(kind);
}

ForeignTokenizer read_fairseq_tokenizer(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  const TokenizerConfig config(folder);
  const std::string kind = fairseq_class(config, folder);
  if (kind.empty())
    fail(escaped(path), ": neither ", kTokenizerConfigFile, " nor ", kModelConfigFile,
         " says of which class it is, wanted ",
         joined({std::begin(kFairseqClasses), std::end(kFairseqClasses)}),
         ": they number its pieces differently");
  if (const FairseqNumbering* numbering = numbering_of(kind))
    return from_masked_words_model(path, config, *numbering);
  return from_translation_model(path, config, kind);
}

}  // namespace heed::text
