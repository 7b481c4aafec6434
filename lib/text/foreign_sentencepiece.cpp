#include "text/foreign_sentencepiece.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.h"
#include "text/fairseq_sentencepiece.h"
#include "text/foreign_json.h"
#include "text/line_reader.h"
#include "text/sentencepiece_model.h"
#include "text/tokenizer_config.h"
#include "text/unicode.h"
#include "text/yaml_vocabulary.h"

namespace heed::text {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr char kSourceModel[] = "source.spm", kTargetModel[] = "target.spm";
constexpr char kT5Model[] = "spiece.model", kLlamaModel[] = "tokenizer.model";
constexpr char kVocabulary[] = "vocab.json", kTargetVocabulary[] = "target_vocab.json";
constexpr char kModelName[] = "SentencePiece model";

class ForeignSentencePieceScheme final : public Scheme {
 public:
  /// `loaded`: the model; null: it is not loaded yet.
  ForeignSentencePieceScheme(Vocabulary vocabulary, std::string model, ForeignSentencePieceOptions options,
                             std::shared_ptr<const sentencepiece::SentencePieceProcessor> loaded = nullptr)
      : Scheme(std::move(vocabulary)),
        options_(std::move(options)),
        model_(std::move(model)),
        processor_(loaded ? std::move(loaded) : load_sentencepiece(model_, kModelName)) {
    if (this->vocabulary().special().unk == SpecialIds::kAbsent)
      fail("vocabulary: it has no piece for unknown text");
    for (int id = 0; id < processor_->GetPieceSize(); ++id) {
      const std::string &piece = processor_->IdToPiece(id), name = without_line_ends(piece);
      ids_.push_back(id_of(name));
      if (name != piece && this->vocabulary().contains(name))
        with_line_ends_.emplace(this->vocabulary().id(name), piece);
    }
  }

  std::vector<std::int32_t> encode(const std::string& line) const override {
    std::vector<std::int32_t> ids;
    std::string_view text = line;
    if (const std::size_t end = line.find("<<");
        names_language() && line.starts_with(">>") && end != line.npos) {
      const std::string language = line.substr(0, end + 2);
      ids.push_back(id_of(language));
      text.remove_prefix(language.size());
    }
    // Text without a piece in the model may be a piece of the list.
    std::vector<std::string> pieces;
    const auto status = processor_->Encode({text.data(), text.size()}, &pieces);
    if (!status.ok()) fail("SentencePiece: ", escaped(status.ToString(), 200));
    for (const std::string& piece : pieces) {
      const int id = processor_->PieceToId(piece);
      const bool is_known = id != processor_->unk_id();
      ids.push_back(is_known           ? ids_.at(static_cast<std::size_t>(id))
                    : options_.is_list ? id_of(piece)
                                       : vocabulary().special().unk);
    }
    return ids;
  }

  std::string decode(std::span<const std::int32_t> ids) const override {
    std::vector<std::string> pieces;
    for (const std::int32_t id : ids) {
      const auto own = with_line_ends_.find(id);
      const std::string& piece = own == with_line_ends_.end() ? vocabulary().piece(id) : own->second;
      // The library writes its own sign for an unknown piece: "<unk>" is text when it comes in two parts.
      const std::size_t parts = id == vocabulary().special().unk ? piece.size() - 1 : piece.size();
      pieces.push_back(piece.substr(0, parts));
      if (parts < piece.size()) pieces.push_back(piece.substr(parts));
    }
    std::string text;
    const auto status = processor_->Decode(pieces, &text);
    if (!status.ok()) fail("SentencePiece: ", escaped(status.ToString(), 200));
    // Of pieces that it does not have it leaves the sign for a space.
    return replace_invalid_utf8(replace_all(text, kSpaceSymbol, " "));
  }

  bool begins_word(const std::string& before, const std::string& piece) const override {
    return piece.starts_with(kSpaceSymbol) || (names_language() && before.ends_with("<<"));
  }

  const SentenceFrame* frame() const override { return &options_.frame; }
  std::string_view sentencepiece() const override { return model_; }
  Json settings() const override {
    Json settings{{"is_list", options_.is_list}};
    add_frame(settings, options_.frame);
    return settings;
  }

 private:
  /// Whether text may begin with the name of a language, as Marian's.
  bool names_language() const { return options_.is_list && options_.frame.before.empty(); }
  /// Text cannot spell a special piece.
  std::int32_t id_of(const std::string& piece) const {
    const SpecialIds& special = vocabulary().special();
    const std::int32_t id = vocabulary().id(piece);
    return special.contains(id) && id != special.mask ? special.unk : id;
  }

  ForeignSentencePieceOptions options_;
  std::string model_;
  std::shared_ptr<const sentencepiece::SentencePieceProcessor> processor_;
  std::vector<std::int32_t> ids_;                       ///< by those of the model
  std::map<std::int32_t, std::string> with_line_ends_;  ///< what pieces are in the model, where that differs
};

PieceList pieces_of(const sentencepiece::SentencePieceProcessor& model, const std::string& name,
                    std::size_t more) {
  PieceList pieces(name, static_cast<std::size_t>(model.GetPieceSize()) + more);
  for (int id = 0; id < model.GetPieceSize(); ++id) pieces.add(id, without_line_ends(model.IdToPiece(id)));
  return pieces;
}

/// A model alone.
ForeignTokenizer from_model(const std::string& path) {
  std::string model = read_foreign_file(path);
  const std::shared_ptr processor = load_sentencepiece(model, escaped(path));
  SpecialIds special = kNoSpecialIds;
  special.unk = processor->unk_id();
  special.bos = processor->bos_id();
  special.eos = processor->eos_id();
  special.pad = processor->pad_id();
  ForeignSentencePieceOptions options;
  if (special.eos != SpecialIds::kAbsent) options.frame.after = {special.eos};
  return sentencepiece_tokenizer(pieces_of(*processor, escaped(path), 0).vocabulary(special),
                                 std::move(model), std::move(options), {path}, processor);
}

/// A class of tokenizers whose ids are those of the model, and the first pieces of its models.
struct NumberedClass {
  const char* name;
  std::array<const char*, 3> first;
  const char *bos, *eos;  ///< bos null: it has none
};
constexpr NumberedClass kNumberedClasses[] = {
    {"T5Tokenizer", {"<pad>", "</s>", "<unk>"}, nullptr, "</s>"},
    {"LlamaTokenizer", {"<unk>", "<s>", "</s>"}, "<s>", "</s>"},
    {"GemmaTokenizer", {"<pad>", "<eos>", "<bos>"}, "<bos>", "<eos>"},
};

/// T5's, Llama's or Gemma's, by its config or, without one, by its first pieces.
ForeignTokenizer from_numbered_model(const fs::path& path, std::int64_t rows) {
  const TokenizerConfig config(path.parent_path());
  const std::string name = escaped(path.string());
  std::string model = read_foreign_file(path.string());
  const std::shared_ptr processor = load_sentencepiece(model, name);
  const auto found = std::ranges::find_if(kNumberedClasses, [&](const NumberedClass& each) {
    bool equal = processor->GetPieceSize() >= 3;
    for (int id = 0; equal && id < 3; ++id)
      equal = processor->IdToPiece(id) == each.first[static_cast<std::size_t>(id)];
    return equal;
  });
  const std::string kind = config.tokenizer_class();
  const bool is_known = found != std::end(kNumberedClasses);
  if (!is_known || (!kind.empty() && kind != found->name))
    fail(name, ": a tokenizer of class ", kind.empty() ? "unknown" : escaped(kind),
         " whose first pieces are those of ", is_known ? found->name : "another",
         " is not supported, wanted T5Tokenizer (<pad>, </s>, <unk>), LlamaTokenizer (<unk>, <s>, </s>) or "
         "GemmaTokenizer (<pad>, <eos>, <bos>)");
  const NumberedClass& numbered = *found;
  const bool is_t5 = numbered.bos == nullptr;

  std::int64_t n_sentinels = 0;
  if (is_t5 &&
      std::ranges::none_of(config.added(), [](const auto& token) { return token.first == "<extra_id_0>"; })) {
    const Json stated = config.value("extra_ids");
    n_sentinels = stated.is_null() ? 100 : is_id(stated) ? stated.get<std::int64_t>() : -1;
    if (n_sentinels < 0 || n_sentinels > 10'000)
      fail(config.name(), ": extra_ids: wanted a number up to 10000, got ", Object::shown(stated));
  }
  PieceList pieces =
      pieces_of(*processor, name, static_cast<std::size_t>(n_sentinels) + config.added().size());
  const auto end = static_cast<std::int32_t>(processor->GetPieceSize() + n_sentinels);
  for (std::int32_t i = 0; i < n_sentinels; ++i) pieces.add(end - 1 - i, concat("<extra_id_", i, '>'));
  std::map<std::int32_t, std::string> beyond;  // two files may list the same
  for (const auto& [piece, id] : config.added()) {
    if (id < end || !is_beyond(id, rows, config.added().size()))
      pieces.add(id, without_line_ends(piece));
    else if (!beyond.emplace(id, piece).second && beyond[id] != piece)
      fail(config.name(), ": ", escaped(beyond[id]), " and ", escaped(piece), " both have the id ", id);
  }

  SpecialIds special = kNoSpecialIds;
  special.unk = processor->unk_id();
  special.eos = pieces.find(numbered.eos);
  if (numbered.bos) special.bos = pieces.find(numbered.bos);
  special.pad = pieces.find(config.token("pad_token", "<pad>"));
  if (special.pad == special.eos || special.pad == special.unk || special.pad == special.bos)
    special.pad = SpecialIds::kAbsent;
  ForeignSentencePieceOptions options;
  if (numbered.bos && config.flag("add_bos_token", true)) options.frame.before = {special.bos};
  if (is_t5 || config.flag("add_eos_token", false)) options.frame.after = {special.eos};
  ForeignTokenizer tokenizer =
      sentencepiece_tokenizer(std::move(pieces).vocabulary(special), std::move(model), std::move(options),
                              config.files({path.string()}), processor);
  for (const auto& [id, piece] : beyond) tokenizer.left_out.push_back(piece);
  return tokenizer;
}

PieceList read_vocabulary(const std::string& path, std::size_t more) {
  const std::string name = escaped(path);
  char first = 0;
  std::ifstream(path) >> first;
  if (first == '{') {
    const Json json = read_foreign_json(path);
    PieceList pieces(name, json.size() + more);
    pieces.add_all(json);
    return pieces;
  }
  const auto entries = parse_yaml_vocabulary(read_lines(path), name);
  PieceList pieces(name, entries.size() + more);
  for (const auto& [piece, id] : entries) pieces.add(id, piece);
  return pieces;
}

ForeignTokenizer marian(PieceList pieces, const std::string& list, const std::string& model,
                        const TokenizerConfig& config) {
  const auto find = [&](std::initializer_list<std::string> names) {
    for (const std::string& name : names)
      if (const std::int32_t id = pieces.find(name); id != SpecialIds::kAbsent) return id;
    return SpecialIds::kAbsent;
  };
  SpecialIds special = kNoSpecialIds;
  // Of vocabularies that Nematus made, too.
  special.eos = find({config.token("eos_token", "</s>"), "</s>", "eos"});
  special.unk = find({config.token("unk_token", "<unk>"), "<unk>", "UNK"});
  special.pad = find({config.token("pad_token", "<pad>")});
  if (special.eos == SpecialIds::kAbsent || special.unk == SpecialIds::kAbsent)
    fail(pieces.where(), ": has no ", special.eos == SpecialIds::kAbsent ? "</s>" : "<unk>",
         ": is it the vocabulary of a Marian model?");
  Vocabulary vocabulary = std::move(pieces).vocabulary(special);
  if (model.empty()) return {"word", false, make_word_scheme(std::move(vocabulary)), config.files({list})};
  return sentencepiece_tokenizer(std::move(vocabulary), read_foreign_file(model), {true, {{}, {special.eos}}},
                                 config.files({list, model}));
}

/// source.spm, target.spm, vocab.json.
ForeignTokenizer from_marian_folder(const fs::path& folder, const std::string& side) {
  const TokenizerConfig config(folder);
  const bool is_target = side == "target";
  std::error_code ignored;
  const bool apart = is_target && fs::is_regular_file(folder / kTargetVocabulary, ignored);
  const fs::path vocabulary = folder / (apart ? kTargetVocabulary : kVocabulary);
  PieceList pieces = read_vocabulary(vocabulary.string(), config.added().size());
  for (const auto& [piece, id] : config.added())
    if (!apart) pieces.add(id, piece);
  return marian(std::move(pieces), vocabulary.string(),
                (folder / (is_target ? kTargetModel : kSourceModel)).string(), config);
}

}  // namespace

SchemePtr make_foreign_sentencepiece_scheme(Vocabulary vocabulary, std::string model,
                                            ForeignSentencePieceOptions options) {
  return std::make_shared<ForeignSentencePieceScheme>(std::move(vocabulary), std::move(model),
                                                      std::move(options));
}

SchemePtr make_foreign_sentencepiece_scheme(Vocabulary vocabulary, std::string model, const Json& settings,
                                            const std::string& name) {
  SentenceFrame frame = frame_of_settings(settings, vocabulary, name + "/config");
  return make_foreign_sentencepiece_scheme(std::move(vocabulary), std::move(model),
                                           {settings.at("is_list").get<bool>(), std::move(frame)});
}

ForeignTokenizer sentencepiece_tokenizer(
    Vocabulary vocabulary, std::string model, ForeignSentencePieceOptions options,
    std::vector<std::string> files, std::shared_ptr<const sentencepiece::SentencePieceProcessor> loaded) {
  SchemePtr scheme = about_file(files.back(), [&] {
    return std::make_shared<ForeignSentencePieceScheme>(std::move(vocabulary), std::move(model),
                                                        std::move(options), std::move(loaded));
  });
  return {kSentencePieceType, false, std::move(scheme), std::move(files)};
}

bool is_sentencepiece_model(const std::string& path) {
  // Field 1, a message: its field 1, the text of a piece, and its field 2, four bytes of a score.
  std::array<char, 4> begin{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(begin.data(), begin.size()) || begin[0] != '\n' || begin[2] != '\n') return false;
  file.seekg(begin.size() + static_cast<unsigned char>(begin[3]));
  return file.get() == 0x15;
}

bool has_sentencepiece_model(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored))
    return fs::is_regular_file(path, ignored) && is_sentencepiece_model(path);
  const auto has = [&](const char* name) { return fs::is_regular_file(fs::path(path) / name, ignored); };
  return has(kSourceModel) || has(kT5Model) || has(kLlamaModel) ||
         (has(kFairseqModel) && !prefers_tokenizer_json(path));
}

ForeignTokenizer read_sentencepiece_tokenizer(const std::string& path, const std::string& side,
                                              std::int64_t rows) {
  std::error_code ignored;
  const fs::path at(path);
  if (fs::is_directory(at, ignored)) {
    for (const char* name : {kT5Model, kLlamaModel})
      if (fs::is_regular_file(at / name, ignored)) return from_numbered_model(at / name, rows);
    if (fs::is_regular_file(at / kFairseqModel, ignored))
      return read_fairseq_tokenizer((at / kFairseqModel).string());
    return from_marian_folder(at, side);
  }
  if (at.filename() == kT5Model || at.filename() == kLlamaModel) return from_numbered_model(at, rows);
  if (at.filename() == kFairseqModel) return read_fairseq_tokenizer(path);
  return from_model(path);
}

ForeignTokenizer read_marian_tokenizer(const std::string& vocabulary, const std::string& model) {
  if (is_sentencepiece_model(vocabulary)) return from_model(vocabulary);
  return marian(read_vocabulary(vocabulary, 0), vocabulary, model,
                TokenizerConfig(fs::path(vocabulary).parent_path()));
}

}  // namespace heed::text
