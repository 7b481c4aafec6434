// SentencePiece tokenizers of Marian, T5 and Llama against transformers and SentencePiece themselves
// (scripts/make-golden-sentencepiece).
#include "text/foreign_sentencepiece.h"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "support/error_of.h"
#include "support/temporary_folder.h"
#include "text/tokenizer.h"
#include "text/yaml_vocabulary.h"

namespace heed::text {
namespace {

using heed::test::bytes_of;
using heed::test::error_of;
using heed::test::TemporaryFolder;
using Json = nlohmann::json;
namespace fs = std::filesystem;

const std::string kFolder = std::string(HEED_TESTDATA) + "/sentencepiece/";

struct Case {
  const char *golden, *path, *side;
};
constexpr std::int32_t kNone = SpecialIds::kAbsent;
const Case kCases[] = {
    {"marian.source", "marian", "source"},
    {"marian.target", "marian", "target"},
    {"marian-separate.source", "marian-separate", "source"},
    {"marian-separate.target", "marian-separate", "target"},
    {"t5", "t5", "source"},
    {"t5", "t5/spiece.model", "source"},
    {"llama", "llama", "source"},
    {"direct", "direct/vocab.spm", "source"},
};

Tokenizer read(const std::string& path, const std::string& side = "source") {
  return Tokenizer::from_foreign(read_foreign_tokenizer(path, side));
}

void put(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

BOOST_AUTO_TEST_CASE(ids_and_text_are_the_sources) {
  for (const Case& each : kCases) {
    BOOST_TEST_CONTEXT(each.golden) {
      const Tokenizer read_here = read(kFolder + each.path, each.side);
      const Tokenizer tokenizer = Tokenizer::from_map(read_here.to_map());
      BOOST_TEST(tokenizer.digest() == read_here.digest());
      BOOST_TEST(tokenizer.type() == kSentencePieceType);
      std::ifstream golden(kFolder + each.golden + ".golden.jsonl");
      int compared = 0, decoded = 0;
      for (std::string line; std::getline(golden, line); ++compared) {
        const Json wanted = Json::parse(line);
        BOOST_TEST_CONTEXT(escaped(wanted["text"].get<std::string>())) {
          const auto ids = tokenizer.sentence(wanted["text"]);
          BOOST_TEST(ids == wanted["ids"].get<std::vector<std::int32_t>>(), boost::test_tools::per_element());
          BOOST_TEST(tokenizer.word_of(ids).size() == ids.size());
          if (wanted["decoded"].is_null()) continue;
          BOOST_TEST(tokenizer.decode(ids) == wanted["decoded"].get<std::string>());
          ++decoded;
        }
      }
      BOOST_TEST(compared >= 230);
      BOOST_TEST(decoded >= 40);
    }
  }
}

BOOST_AUTO_TEST_CASE(special_pieces_are_found) {
  for (const char* name : {"marian", "t5", "llama", "direct/vocab.spm"})
    BOOST_TEST(is_foreign_tokenizer(kFolder + name));
  const Tokenizer marian = read(kFolder + "marian");
  BOOST_TEST(marian.special().eos == 0);
  BOOST_TEST(marian.special().unk == 1);
  BOOST_TEST(marian.special().pad == marian.size() - 1);
  BOOST_TEST(marian.special().bos == kNone);
  const Tokenizer t5 = read(kFolder + "t5");
  BOOST_TEST(t5.piece(static_cast<std::int32_t>(t5.size()) - 1) == "<extra_id_0>");
  BOOST_TEST(t5.piece(static_cast<std::int32_t>(t5.size()) - 100) == "<extra_id_99>");
  BOOST_TEST(t5.special().pad == 0);
  BOOST_TEST(read(kFolder + "llama").special().bos == 1);
  BOOST_TEST(read(kFolder + "direct/vocab.spm").special().eos == 0);
}

/// Unknown pieces have a name, special ones stand for no text, and a language is a word of its own.
BOOST_AUTO_TEST_CASE(decoding_names_what_is_unknown) {
  const Tokenizer marian = read(kFolder + "marian");
  const std::vector<std::int32_t> ids = marian.sentence(">>fra<< \U0001F642 the");
  BOOST_TEST(ids.front() == marian.vocabulary().id(">>fra<<"));
  BOOST_TEST(marian.decode(ids) == ">>fra<< <unk> the");
  const std::vector<std::int32_t> words = marian.word_of(ids);
  BOOST_TEST(words[0] == 0);
  BOOST_TEST(words[1] == 1);
}

BOOST_AUTO_TEST_CASE(yaml_numbers_pieces_as_json_does) {
  const Json json = Json::parse(bytes_of(kFolder + "marian/vocab.json"));
  std::string yaml;
  std::size_t i = 0;
  for (const auto& [piece, id] : json.items()) {
    const std::string value = std::to_string(id.get<int>());
    const bool plain = piece.find_first_of(" :\"'\\#?-<>{}[],&*!|%@`") == std::string::npos;
    std::string quoted;
    for (const char c : piece) quoted += c == '\'' ? "''" : std::string(1, c);
    const std::string text = plain && i % 3 == 0 ? piece
                             : i % 3 == 1        ? "'" + quoted + "'"
                                                 : Json(piece).dump(-1, ' ', i % 2 == 0);
    yaml += ++i % 50 == 0 ? "? " + text + "\n: " + value + "\n" : text + ": " + value + "\r\n";
  }
  TemporaryFolder folder;
  put(folder / "vocab.yml", yaml);
  const std::string model = kFolder + "marian/source.spm";
  BOOST_TEST(Tokenizer::from_foreign(read_marian_tokenizer(folder / "vocab.yml", model)).digest() ==
             read(kFolder + "marian").digest());
  const std::string direct = kFolder + "direct/vocab.spm";
  BOOST_TEST(Tokenizer::from_foreign(read_marian_tokenizer(direct, direct)).digest() ==
             read(direct).digest());
  const Tokenizer words = Tokenizer::from_foreign(read_marian_tokenizer(folder / "vocab.yml", ""));
  const std::vector<std::int32_t> wanted{words.vocabulary().id("only"), 1, 1, 0};
  BOOST_TEST(words.sentence("only nothing </s>") == wanted, boost::test_tools::per_element());

  const auto piece = [](const std::string& line) { return parse_yaml_vocabulary({line}, "v").at(0).first; };
  BOOST_TEST(piece(R"("\x41\u00e9\U0001F642\"\\\t": 3)") == "A\u00e9\U0001F642\"\\\t");
  BOOST_TEST(piece("'it''s': 1") == "it's");
  BOOST_TEST(piece("\": \": 1") == ": ");
  BOOST_TEST(piece("a:b: 1") == "a:b");
  for (const char* bad : {"\"a: 1", "a", "a: x", "a: -1", "a: 99999999999", R"("\q": 1)", R"("\ud800": 1)",
                          "\"a\" b: 1", ": :"})
    BOOST_CHECK_THROW(parse_yaml_vocabulary({bad}, "v"), Error);
  BOOST_CHECK_THROW(parse_yaml_vocabulary({"? a"}, "v"), Error);
}

/// A copy of a folder, with one file changed.
std::string error_of_changed(const std::string& from, const std::string& file, const std::string& content) {
  TemporaryFolder folder;
  fs::copy(kFolder + from, folder.path(), fs::copy_options::overwrite_existing | fs::copy_options::recursive);
  put(folder / file, content);
  return error_of([&] { read(folder.path()); });
}

BOOST_AUTO_TEST_CASE(what_is_not_understood_is_named) {
  struct Change {
    const char *from, *file, *content, *words;
  };
  const Change changes[] = {
      {"marian", "vocab.json", "{", "vocab.json"},
      {"marian", "vocab.json", R"({"</s>": 0})", "has no <unk>"},
      {"marian", "vocab.json", R"({"</s>": 0, "<unk>": 2})", "has the id 2, wanted one below 2"},
      {"marian", "vocab.json", R"({"</s>": 0, "<unk>": 0})", "both have the id 0"},
      {"marian", "vocab.json", R"({"</s>": 0, "<unk>": 1, "a": 3, "b": 3})", "both have the id 3"},
      {"marian", "vocab.json", R"({"</s>": 0, "<unk>": 1.5})", "wanted an id"},
      {"marian", "source.spm", "no model", "SentencePiece model"},
      {"marian", "added_tokens.json", R"({"new": -1})", "wanted an id"},
      {"marian", "added_tokens.json", R"({"new": 9999999})", "has the id 9999999"},
      {"marian", "tokenizer_config.json", R"({"added_tokens_decoder": {"x": {"content": "a"}}})",
       "wanted ids"},
      {"marian", "tokenizer_config.json", R"({"added_tokens_decoder": {"0": {"content": "other"}}})",
       "both have the id 0"},
      {"t5", "tokenizer_config.json", R"({"tokenizer_class": "AlbertTokenizer"})", "AlbertTokenizer"},
      {"t5", "tokenizer_config.json", R"({"tokenizer_class": "LlamaTokenizerFast"})", "LlamaTokenizer"},
      {"t5", "tokenizer_config.json", R"({"extra_ids": 10001})", "extra_ids"},
      {"t5", "spiece.model", "", "spiece.model"},
      {"llama", "tokenizer_config.json", R"({"add_bos_token": 3})", "add_bos_token"},
  };
  for (const Change& change : changes) {
    BOOST_TEST_CONTEXT(change.from << '/' << change.file << ": " << change.content) {
      const std::string message = error_of_changed(change.from, change.file, change.content);
      BOOST_TEST(message.find(change.words) != std::string::npos, message);
    }
  }
  BOOST_TEST(error_of_changed("t5", "tokenizer_config.json", R"({"extra_ids": 3})") == "no error");
}

/// Changed bytes end in an error or in another tokenizer, never beyond the model: its trie of normalisations
/// and its scores are checked. Run under sanitizers, this finds reads out of bounds.
BOOST_AUTO_TEST_CASE(damaged_models_are_refused) {
  const std::string whole = bytes_of(kFolder + "t5/spiece.model");
  const std::size_t charsmap = whole.rfind("nmt_nfkc") + 20;  // the trie begins nearby
  std::uint64_t random = 1;
  int refused = 0;
  TemporaryFolder folder;
  for (int i = 0; i < 60; ++i) {
    std::string bytes = whole;
    for (int change = 0; change < 1 + i % 3; ++change) {
      random = random * 6364136223846793005U + 1442695040888963407U;
      const std::size_t at = i % 2 ? charsmap + (random >> 33) % 4000 : (random >> 33) % bytes.size();
      bytes[at] = static_cast<char>(bytes[at] ^ 1 << (random >> 20 & 7));
    }
    if (i % 10 == 9) bytes.resize((random >> 33) % bytes.size());
    put(folder / "spiece.model", bytes);
    try {
      const Tokenizer tokenizer = read(folder.path());
      tokenizer.decode(tokenizer.encode("The été ½ ﬁ \u3000 ｆｕｌｌ ﾊﾟ e\u0301…"));
    } catch (const Error&) {
      ++refused;
    }
  }
  BOOST_TEST(refused > 10);
  // A damaged trie is found wherever the library finds it: after a group, which it skips, and under a tag of
  // more bits than it takes.
  const std::size_t spec = whole.rfind("nmt_nfkc") - 2, tag = spec - 4;  // the size has three bytes
  BOOST_REQUIRE_EQUAL(whole[tag], '\x1A');
  std::string bad_trie = whole;
  bad_trie.replace(spec + 18, 4, std::string("\x00\xFE\xFF\x7F", 4));  // its first unit leads out of it
  const std::string group = "\xE3\x12\xE4\x12";
  const std::string in_spec =
      std::string(bad_trie).insert(spec, group).replace(tag + 1, 1, 1, static_cast<char>(whole[tag + 1] + 4));
  for (const std::string& bytes : {bad_trie, std::string(bad_trie).insert(tag, group), in_spec,
                                   std::string(bad_trie).replace(tag, 1, "\x9A\x80\x80\x80\x10")}) {
    put(folder / "spiece.model", bytes);
    const std::string message = error_of([&] { read(folder.path()); });
    BOOST_TEST(message.find("damaged") != std::string::npos, message);
  }
  std::string unnamed = whole;  // the library's trie throws
  const std::size_t piece = whole.find("\xE2\x96\x81the");
  BOOST_REQUIRE(piece != whole.npos);
  unnamed[piece] = '\0';
  put(folder / "spiece.model", unnamed);
  BOOST_TEST(error_of([&] { read(folder.path()); }).find("no SentencePiece model") != std::string::npos);
  std::string endless = whole;
  endless.replace(5 + static_cast<std::size_t>(whole[3]), 4,
                  std::string("\x00\x00\xC0\x7F", 4));  // the first score: NaN
  put(folder / "spiece.model", endless);
  BOOST_TEST(error_of([&] { read(folder.path()); }).find("score nan") != std::string::npos);
}

}  // namespace
}  // namespace heed::text
