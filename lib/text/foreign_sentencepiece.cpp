#include "text/foreign_sentencepiece.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "text/foreign_json.h"
#include "text/line_reader.h"
#include "text/sentencepiece_model.h"
#include "text/unicode.h"
#include "text/yaml_vocabulary.h"

namespace heed::text {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr char kSourceModel[] = "source.spm", kTargetModel[] = "target.spm";
constexpr char kT5Model[] = "spiece.model", kLlamaModel[] = "tokenizer.model";
constexpr char kVocabulary[] = "vocab.json", kTargetVocabulary[] = "target_vocab.json";
constexpr char kTokenizerConfigFile[] = "tokenizer_config.json", kAddedFile[] = "added_tokens.json";
constexpr char kModelName[] = "SentencePiece model";

class ForeignSentencePieceScheme final : public Scheme {
 public:
  ForeignSentencePieceScheme(Vocabulary vocabulary, std::string model, ForeignSentencePieceOptions options)
      : Scheme(std::move(vocabulary)),
        options_(std::move(options)),
        model_(std::move(model)),
        processor_(load_sentencepiece(model_, kModelName)) {
    if (this->vocabulary().special().unk == SpecialIds::kAbsent)
      fail("vocabulary: it has no piece for unknown text");
    for (int id = 0; id < processor_->GetPieceSize(); ++id) ids_.push_back(id_of(processor_->IdToPiece(id)));
  }

  std::vector<std::int32_t> encode(const std::string& line) const override {
    std::vector<std::int32_t> ids;
    std::string_view text = line;
    if (const std::size_t end = line.find("<<");
        options_.is_list && line.starts_with(">>") && end != line.npos) {
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
      const std::string& piece = vocabulary().piece(id);
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
    return piece.starts_with(kSpaceSymbol) || (options_.is_list && before.ends_with("<<"));
  }

  const SentenceFrame* frame() const override { return &options_.frame; }
  std::string_view sentencepiece() const override { return model_; }
  Json settings() const override {
    Json settings{{"is_list", options_.is_list}};
    add_frame(settings, options_.frame);
    return settings;
  }

 private:
  /// Text cannot spell a special piece.
  std::int32_t id_of(const std::string& piece) const {
    const SpecialIds& special = vocabulary().special();
    const std::int32_t id = vocabulary().id(piece);
    return special.contains(id) && id != special.mask ? special.unk : id;
  }

  ForeignSentencePieceOptions options_;
  std::string model_;
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
  std::vector<std::int32_t> ids_;  ///< by those of the model
};

/// The content of tokenizer_config.json and added_tokens.json beside the model, if they exist.
class TokenizerConfig {
 public:
  explicit TokenizerConfig(const fs::path& folder)
      : name_(escaped((folder / kTokenizerConfigFile).string())) {
    std::error_code ignored;
    if (fs::is_regular_file(folder / kTokenizerConfigFile, ignored)) {
      json_ = read_foreign_json((folder / kTokenizerConfigFile).string());
      files_.push_back((folder / kTokenizerConfigFile).string());
    }
    const fs::path added = folder / kAddedFile;
    if (fs::is_regular_file(added, ignored)) {
      const Json tokens = read_foreign_json(added.string());
      files_.push_back(added.string());
      for (const auto& [piece, id] : tokens.items()) {
        if (!is_id(id))
          fail(escaped(added.string()), ": \"", escaped(piece), "\": wanted an id, got ", Object::shown(id));
        added_.emplace_back(piece, id.get<std::int32_t>());
      }
    }
    if (const Json& list = value("added_tokens_decoder"); list.is_object()) {
      for (const auto& [id, token] : list.items()) {
        const Json number = Json::parse(id, nullptr, false);
        if (!is_id(number)) fail(name_, ": added_tokens_decoder: wanted ids, got \"", escaped(id), '"');
        Object fields(token, name_ + "/added_tokens_decoder");
        added_.emplace_back(fields.text("content"), number.get<std::int32_t>());
      }
    }
  }

  const std::vector<std::pair<std::string, std::int32_t>>& added() const { return added_; }
  const std::string& name() const { return name_; }
  /// The existing files, and these.
  std::vector<std::string> files(const std::vector<std::string>& more) const {
    std::vector<std::string> all = files_;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  /// null if it is missing.
  Json value(const char* field) const { return json_.value(field, Json()); }
  bool flag(const char* field, bool otherwise) const { return Object(json_, name_).flag(field, otherwise); }
  /// The special token that is named eos_token, say.
  std::string token(const char* field, const char* otherwise) const {
    Json name = value(field);
    if (name.is_object()) name = name.value("content", Json());
    return name.is_string() ? name.get<std::string>() : otherwise;
  }
  /// Without "Fast".
  std::string tokenizer_class() const {
    const Json name = value("tokenizer_class");
    std::string text = name.is_string() ? name.get<std::string>() : "";
    if (text.ends_with("Fast")) text.resize(text.size() - 4);
    return text;
  }

 private:
  std::string name_;
  std::vector<std::string> files_;
  Json json_ = Json::object();
  std::vector<std::pair<std::string, std::int32_t>> added_;
};

PieceList pieces_of(const sentencepiece::SentencePieceProcessor& model, const std::string& name,
                    std::size_t more) {
  PieceList pieces(name, static_cast<std::size_t>(model.GetPieceSize()) + more);
  for (int id = 0; id < model.GetPieceSize(); ++id) pieces.add(id, model.IdToPiece(id));
  return pieces;
}

/// The tokenizer; the last of `files` is the model's file.
ForeignTokenizer made(Vocabulary vocabulary, std::string model, ForeignSentencePieceOptions options,
                      std::vector<std::string> files) {
  SchemePtr scheme = about_file(files.back(), [&] {
    return make_foreign_sentencepiece_scheme(std::move(vocabulary), std::move(model), std::move(options));
  });
  return {kSentencePieceType, false, std::move(scheme), std::move(files)};
}

/// A model alone.
ForeignTokenizer from_model(const std::string& path) {
  std::string model = read_foreign_file(path);
  const auto processor = load_sentencepiece(model, escaped(path));
  SpecialIds special = kNoSpecialIds;
  special.unk = processor->unk_id();
  special.bos = processor->bos_id();
  special.eos = processor->eos_id();
  special.pad = processor->pad_id();
  ForeignSentencePieceOptions options;
  if (special.eos != SpecialIds::kAbsent) options.frame.after = {special.eos};
  return made(pieces_of(*processor, escaped(path), 0).vocabulary(special), std::move(model),
              std::move(options), {path});
}

/// T5's or Llama's, by its config or, without one, by its first pieces.
ForeignTokenizer from_numbered_model(const fs::path& path) {
  const TokenizerConfig config(path.parent_path());
  const std::string name = escaped(path.string());
  std::string model = read_foreign_file(path.string());
  const auto processor = load_sentencepiece(model, name);
  const auto begins = [&](std::array<const char*, 3> wanted) {
    bool equal = processor->GetPieceSize() >= 3;
    for (int id = 0; equal && id < 3; ++id)
      equal = processor->IdToPiece(id) == wanted[static_cast<std::size_t>(id)];
    return equal;
  };
  const bool is_t5 = begins({"<pad>", "</s>", "<unk>"}), is_llama = begins({"<unk>", "<s>", "</s>"});
  const std::string kind = config.tokenizer_class();
  if ((!is_t5 && !is_llama) || (!kind.empty() && kind != (is_t5 ? "T5Tokenizer" : "LlamaTokenizer")))
    fail(name, ": a tokenizer of class ", kind.empty() ? "unknown" : escaped(kind),
         " whose first pieces are those of ",
         is_t5      ? "T5"
         : is_llama ? "Llama"
                    : "another",
         " is not supported, wanted T5Tokenizer (<pad>, </s>, <unk>) or LlamaTokenizer (<unk>, <s>, </s>)");

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
  for (const auto& [piece, id] : config.added()) pieces.add(id, piece);

  SpecialIds special = kNoSpecialIds;
  special.unk = processor->unk_id();
  special.eos = pieces.find("</s>");
  if (is_llama) special.bos = pieces.find("<s>");
  special.pad = pieces.find(config.token("pad_token", "<pad>"));
  if (special.pad == special.eos || special.pad == special.unk || special.pad == special.bos)
    special.pad = SpecialIds::kAbsent;
  ForeignSentencePieceOptions options;
  if (is_llama && config.flag("add_bos_token", true)) options.frame.before = {special.bos};
  if (is_t5 || config.flag("add_eos_token", false)) options.frame.after = {special.eos};
  return made(std::move(pieces).vocabulary(special), std::move(model), std::move(options),
              config.files({path.string()}));
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
  return made(std::move(vocabulary), read_foreign_file(model), {true, {{}, {special.eos}}},
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
  return std::ranges::any_of(std::array{kSourceModel, kT5Model, kLlamaModel}, [&](const char* name) {
    return fs::is_regular_file(fs::path(path) / name, ignored);
  });
}

ForeignTokenizer read_sentencepiece_tokenizer(const std::string& path, const std::string& side) {
  std::error_code ignored;
  const fs::path at(path);
  if (fs::is_directory(at, ignored)) {
    for (const char* name : {kT5Model, kLlamaModel})
      if (fs::is_regular_file(at / name, ignored)) return from_numbered_model(at / name);
    return from_marian_folder(at, side);
  }
  if (at.filename() == kT5Model || at.filename() == kLlamaModel) return from_numbered_model(at);
  return from_model(path);
}

ForeignTokenizer read_marian_tokenizer(const std::string& vocabulary, const std::string& model) {
  if (is_sentencepiece_model(vocabulary)) return from_model(vocabulary);
  return marian(read_vocabulary(vocabulary, 0), vocabulary, model,
                TokenizerConfig(fs::path(vocabulary).parent_path()));
}

}  // namespace heed::text
