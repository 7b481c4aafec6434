// SentencePiece tokenizers of Marian, T5, Llama, Gemma, NLLB, mBART, M2M-100, XLM-RoBERTa and CamemBERT against
// transformers and SentencePiece themselves (scripts/make-golden-sentencepiece).
#include "text/foreign_sentencepiece.h"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "support/error_of.h"
#include "support/temporary_folder.h"
#include "text/tokenizer.h"
#include "text/word_unigram.h"
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
    {"gemma", "gemma", "source"},
    {"direct", "direct/vocab.spm", "source"},
    {"xlm-roberta", "xlm-roberta", "source"},
    {"xlm-roberta", "xlm-roberta/sentencepiece.bpe.model", "source"},
    {"camembert", "camembert", "source"},
    {"nllb", "nllb", "source"},
    {"nllb", "nllb/sentencepiece.bpe.model", "target"},
    {"nllb", "nllb/tokenizer.json", "source"},
    {"mbart", "mbart", "source"},
    {"m2m", "m2m", "source"},
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
      const bool of_words =
          std::string(each.golden) == "xlm-roberta" || std::string(each.golden) == "camembert";
      BOOST_TEST(tokenizer.type() == (of_words ? kWordUnigramType : kSentencePieceType));
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
  BOOST_TEST(read(kFolder + "gemma").special().bos == 2);
  BOOST_TEST(read(kFolder + "gemma").special().eos == 1);
  const Tokenizer gemma = read(kFolder + "gemma");
  BOOST_TEST(gemma.piece(6) == "<newline><newline>");  // a piece has no end of line, but stands for two
  BOOST_TEST(gemma.decode(std::vector<std::int32_t>{6}) == "\n\n");
  BOOST_TEST(read(kFolder + "direct/vocab.spm").special().eos == 0);
}

/// The codes of languages have the ids that the files state, text has one of them and cannot spell it.
BOOST_AUTO_TEST_CASE(languages_have_codes) {
  const Tokenizer nllb = read(kFolder + "nllb");
  BOOST_TEST(nllb.languages() == (std::vector<std::int32_t>{302, 303, 304}),
             boost::test_tools::per_element());
  BOOST_TEST(nllb.piece(301) == "<mask>");
  BOOST_TEST(nllb.piece(302) == "eng_Latn");
  BOOST_TEST(nllb.source_language() == 302);
  const std::int32_t french = nllb.language("fra_Latn", "--language");
  const Tokenizer from_french = nllb.in_language(french);
  std::vector<std::int32_t> wanted = nllb.sentence("the old man");
  wanted.front() = french;
  BOOST_TEST(from_french.sentence("the old man") == wanted, boost::test_tools::per_element());
  BOOST_TEST(from_french.digest() == nllb.digest());
  BOOST_TEST(nllb.beginning_with(french).with_eos("the old man") == wanted, boost::test_tools::per_element());
  BOOST_TEST(nllb.decode(wanted) == "the old man");
  for (const std::int32_t id : nllb.encode("eng_Latn fra_Latn <mask> <s>")) BOOST_TEST(!nllb.is_mark(id));

  const Tokenizer mbart = read(kFolder + "mbart"), m2m = read(kFolder + "m2m");
  BOOST_TEST(mbart.languages().size() == 25);
  BOOST_TEST(mbart.piece(mbart.sentence("a").back()) == "ro_RO");
  BOOST_TEST(mbart.piece(mbart.in_language(mbart.language("fr_XX", "")).sentence("a").back()) == "fr_XX");
  BOOST_TEST(m2m.languages().size() == 100);
  BOOST_TEST(m2m.language("fr", "") == m2m.language("__fr__", ""));
  BOOST_TEST(m2m.piece(m2m.language("zu", "")) == "__zu__");
  for (const std::int32_t id : m2m.encode(">>fra<< __en__")) BOOST_TEST(!m2m.is_mark(id));

  const auto message = [&](const Tokenizer& tokenizer, const std::string& name) {
    return error_of([&] { tokenizer.language(name, "--language"); });
  };
  BOOST_TEST(message(nllb, "fra_Lat") ==
             "--language: \"fra_Lat\" is none of the 3 languages, such as fra_Latn, eng_Latn, zho_Hans");
  BOOST_TEST(message(m2m, "xx").find("none of the 100 languages, such as") != std::string::npos);
  BOOST_TEST(message(read(kFolder + "marian"), "fra").find("has no codes of languages") != std::string::npos);
}

/// Of a tokenizer.json beside the model only the list of its tokens is read, wherever it stands.
BOOST_AUTO_TEST_CASE(ids_of_languages_are_found_in_a_large_file) {
  const TemporaryFolder folder;
  fs::copy_file(kFolder + "nllb/sentencepiece.bpe.model", folder / "sentencepiece.bpe.model");
  put(folder / "tokenizer_config.json", R"({"tokenizer_class": "NllbTokenizer"})");
  const auto outcome = [&](const std::string& json) {
    put(folder / "tokenizer.json", json);
    return error_of([&] { BOOST_TEST(read(folder.path()).piece(302) == "fra_Latn"); });
  };
  const std::string list =
      R"([{"id": 301, "content": "<mask>", "special": true}, {"id": 302, "content": "fra_Latn", "special": true}])";
  BOOST_TEST(
      outcome(R"({"model": {"vocab": {"\"added_tokens\": [": 1, "added_tokens": 2}}, "added_tokens" : )" +
              list + "}") == "no error");
  BOOST_TEST(outcome(R"({"added_tokens":)" + list + R"(, "model": {)") == "no error");
  for (const char* damaged :
       {"", "{", "]]]", R"({"added_tokens)", R"({"added_tokens")", R"({"added_tokens":)",
        R"({"added_tokens": null, "x": [1]})", R"({"added_tokens": [1})", R"({"added_tokens": [{"id": 1]})",
        R"({"added_tokens": {}})", R"("added_tokens": [])"})
    BOOST_TEST(outcome(damaged).find("no list of tokens") != std::string::npos, damaged);
  BOOST_TEST(outcome(R"({"added_tokens": [{"id": "x"}]})").find("wanted an id") != std::string::npos);
}

/// A list of merges that SentencePiece cannot have made is not read as if it had.
BOOST_AUTO_TEST_CASE(merges_are_those_of_sentencepiece) {
  const TemporaryFolder folder;
  const Json sound = Json::parse(bytes_of(kFolder + "nllb/tokenizer.json"));
  const auto message = [&](const auto& change) {
    Json json = sound;
    change(json);
    put(folder / "tokenizer.json", json.dump());
    return error_of([&] { read(folder / "tokenizer.json"); });
  };
  const auto refused = [&](const auto& change, const std::string& why) {
    const std::string said = message(change);
    BOOST_TEST(said.find(why) != std::string::npos, said);
  };
  Json& (*merges)(Json&) = [](Json& json) -> Json& { return json["model"]["merges"]; };
  BOOST_TEST(message([](Json&) {}) == "no error");
  refused([&](Json& json) { merges(json).erase(merges(json).size() - 1); }, "merges of");
  refused([&](Json& json) { merges(json).push_back(merges(json)[0]); }, "stand apart");
  refused(
      [&](Json& json) {
        merges(json).push_back({"e", "zzz"});
      },
      "both and what they make must be pieces");
  refused([](Json& json) { json["model"]["byte_fallback"] = true; }, "byte_fallback");
  refused([](Json& json) { json["normalizer"] = json["normalizer"]["normalizers"][0]; },
          "wanted Precompiled, then Replace");
  refused([](Json& json) { json["model"]["vocab"].erase("<pad>"), json["model"]["vocab"]["<fill>"] = 1; },
          "piece 1 is <fill>, wanted <pad>");
}

/// Where no file has ids, codes follow the pieces in the order of a list, and <mask> is last.
BOOST_AUTO_TEST_CASE(listed_languages_follow_the_pieces) {
  const TemporaryFolder folder;
  fs::copy_file(kFolder + "nllb/sentencepiece.bpe.model", folder / "sentencepiece.bpe.model");
  put(folder / "special_tokens_map.json",
      R"({"additional_special_tokens": ["fra_Latn", {"content": "eng_Latn"}]})");
  put(folder / "tokenizer_config.json", R"({"tokenizer_class": "NllbTokenizer"})");
  const Tokenizer listed = read(folder.path());
  BOOST_TEST(listed.size() == 304);
  BOOST_TEST(listed.piece(301) == "fra_Latn");
  BOOST_TEST(listed.piece(303) == "<mask>");
  BOOST_TEST(listed.source_language() == 302);
  put(folder / "tokenizer_config.json",
      R"({"tokenizer_class": "NllbTokenizer", "src_lang": "fra_Latn", "legacy_behaviour": true})");
  BOOST_TEST(read(folder.path()).sentence("") == (std::vector<std::int32_t>{2, 301}),
             boost::test_tools::per_element());
  put(folder / "special_tokens_map.json", "{}");
  put(folder / "tokenizer_config.json", R"({"tokenizer_class": "MBart50TokenizerFast"})");
  BOOST_TEST(error_of([&] { read(folder.path()); }).find("are in no file: add tokenizer.json") !=
             std::string::npos);
  put(folder / "special_tokens_map.json", R"({"additional_special_tokens": ["fra_Latn", "eng_Latn"]})");
  put(folder / "tokenizer_config.json", R"({"tokenizer_class": "NllbTokenizer", "src_lang": "French"})");
  BOOST_TEST(error_of([&] {
               read(folder.path());
             }).find("src_lang is French, which is none of the 2 languages") != std::string::npos);
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
      {"xlm-roberta", "tokenizer_config.json", "{}", "says of which class"},
      {"camembert", "config.json", R"({"model_type": 3})", "says of which class"},
      {"nllb", "tokenizer_config.json", R"({"tokenizer_class": ["a"]})", "wanted a name"},
      {"nllb", "tokenizer_config.json", R"({"added_tokens_decoder": 5})", "wanted tokens by their ids"},
      {"nllb", "tokenizer_config.json", R"({"tokenizer_class": "NllbTokenizer", "src_lang": "xx"})",
       "src_lang"},
      {"nllb", "tokenizer.json", R"({"added_tokens": []})", "are in no file"},
      {"nllb", "tokenizer.json", R"({"added_tokens": [{"id": 304, "content": "eng_Latn"}]})",
       "is not special"},
      {"camembert", "sentencepiece.bpe.model", "", "sentencepiece.bpe.model"},
      {"llama", "tokenizer_config.json", R"({"tokenizer_class": "GemmaTokenizer"})", "GemmaTokenizer"},
  };
  for (const Change& change : changes) {
    BOOST_TEST_CONTEXT(change.from << '/' << change.file << ": " << change.content) {
      const std::string message = error_of_changed(change.from, change.file, change.content);
      BOOST_TEST(message.find(change.words) != std::string::npos, message);
    }
  }
  BOOST_TEST(error_of_changed("t5", "tokenizer_config.json", R"({"extra_ids": 3})") == "no error");
}

/// A copy of a folder with these files.
Tokenizer read_changed(const std::string& from, const std::map<std::string, std::string>& files) {
  TemporaryFolder folder;
  fs::copy(kFolder + from, folder.path(), fs::copy_options::overwrite_existing | fs::copy_options::recursive);
  for (const auto& [file, content] : files) put(folder / file, content);
  return read(folder.path());
}

// transformers writes one class for all tokenizers that it does not write code for.
BOOST_AUTO_TEST_CASE(models_of_fairseq_without_a_class_of_their_own_have_that_of_their_type) {
  const Tokenizer mbart = read(kFolder + "mbart"), camembert = read(kFolder + "camembert");
  BOOST_TEST(read_changed("mbart", {{"tokenizer_config.json", R"({"src_lang": "ro_RO"})"},
                                    {"config.json", R"({"model_type": "mbart"})"}})
                 .digest() == mbart.digest());
  BOOST_TEST(read_changed("mbart", {{"tokenizer_config.json", R"({"src_lang": "ro_RO"})"},
                                    {"config.json", R"({"tokenizer_class": "MBartTokenizer"})"}})
                 .digest() == mbart.digest());
  BOOST_TEST(read_changed("camembert",
                          {{"tokenizer_config.json", R"({"tokenizer_class": "PreTrainedTokenizerFast"})"}})
                 .digest() == camembert.digest());
}

BOOST_AUTO_TEST_CASE(models_of_fairseq_are_numbered_by_their_kind) {
  const Tokenizer xlm = read(kFolder + "xlm-roberta"), camembert = read(kFolder + "camembert");
  BOOST_TEST(camembert.size() == xlm.size() + 3);
  BOOST_TEST(xlm.special().bos == 0);
  BOOST_TEST(camembert.special().bos == 5);
  BOOST_TEST(camembert.special().eos == 6);
  for (const Tokenizer* each : {&xlm, &camembert}) {
    BOOST_TEST(each->special().pad == 1);
    BOOST_TEST(each->special().unk == 3);
    BOOST_TEST(each->special().mask == each->size() - 1);
    BOOST_TEST(each->decode(each->sentence("the <mask> house")) == "the<mask> house");
  }
  BOOST_TEST(error_of_changed("direct", "sentencepiece.bpe.model", bytes_of(kFolder + "direct/vocab.spm"))
                 .find("says of which class it is") != std::string::npos);
  BOOST_TEST(
      error_of_changed("xlm-roberta", "sentencepiece.bpe.model", bytes_of(kFolder + "direct/vocab.spm"))
          .find("its first pieces are not <unk>, <s> and </s>") != std::string::npos);
  // tokenizer.json states more than the model, and transformers takes it.
  TemporaryFolder folder;
  const std::string json = std::string(HEED_TESTDATA) + "/tokenizers/xlm-roberta.json";
  fs::copy(kFolder + "xlm-roberta", folder.path(),
           fs::copy_options::overwrite_existing | fs::copy_options::recursive);
  BOOST_TEST(read(folder.path()).digest() == xlm.digest());
  fs::copy(json, folder / "tokenizer.json");
  BOOST_TEST(read(folder.path()).digest() == read(json).digest());
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
