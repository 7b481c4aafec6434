// Tokenizers of other programs against what the library tokenizers makes of the same text
// (scripts/make-golden-tokenizers).
#include "text/foreign_tokenizer.h"

#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "support/temporary_folder.h"
#include "text/byte_bpe.h"
#include "text/tokenizer.h"

namespace heed::text {
namespace {

using heed::test::bytes_of;
using heed::test::TemporaryFolder;
using Json = nlohmann::json;

const std::string kFolder = std::string(HEED_TESTDATA) + "/tokenizers/";
constexpr const char* kCases[] = {"gpt2", "roberta", "llama3", "qwen2", "bert", "bert-cased", "bert-accents"};

Tokenizer read(const std::string& path) {
  return Tokenizer::from_foreign(read_foreign_tokenizer(path));
}

void put(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

BOOST_AUTO_TEST_CASE(ids_and_text_are_the_librarys) {
  for (const std::string name : kCases) {
    BOOST_TEST_CONTEXT(name) {
      const Tokenizer tokenizer = read(kFolder + name + ".json");
      const SentenceFrame frame = *read_foreign_tokenizer(kFolder + name + ".json").scheme->frame();
      std::ifstream golden(kFolder + name + ".golden.jsonl");
      int compared = 0;
      for (std::string line; std::getline(golden, line); ++compared) {
        const Json wanted = Json::parse(line);
        BOOST_TEST_CONTEXT(escaped(wanted["text"].get<std::string>())) {
          const auto ids = tokenizer.sentence(wanted["text"]);
          BOOST_TEST(ids == wanted["ids"].get<std::vector<std::int32_t>>(), boost::test_tools::per_element());
          const auto own = std::span(ids).subspan(frame.before.size(),
                                                  ids.size() - frame.before.size() - frame.after.size());
          BOOST_TEST(tokenizer.decode(own) == wanted["decoded"].get<std::string>());
          BOOST_TEST(tokenizer.word_of(ids).size() == ids.size());
        }
      }
      BOOST_TEST(compared >= 90);
    }
  }
}

BOOST_AUTO_TEST_CASE(vocabulary_files_keep_everything) {
  for (const std::string name : kCases) {
    BOOST_TEST_CONTEXT(name) {
      const Tokenizer tokenizer = read(kFolder + name + ".json");
      const Tokenizer copy = Tokenizer::from_map(tokenizer.to_map());
      const std::string text = "l'été's  ½ 1234 don't\u00a0stop 漢字 X";
      BOOST_TEST(copy.digest() == tokenizer.digest());
      BOOST_TEST(copy.type() == tokenizer.type());
      BOOST_TEST(copy.sentence(text) == tokenizer.sentence(text), boost::test_tools::per_element());
      BOOST_TEST((copy.special() == tokenizer.special()));
    }
  }
  BOOST_TEST(read(kFolder + "roberta.json").special().mask == 4);
  BOOST_TEST(read(kFolder + "gpt2.json").special().pad == SpecialIds::kAbsent);
}

BOOST_AUTO_TEST_CASE(older_files_say_the_same) {
  TemporaryFolder folder;
  const Json json = Json::parse(bytes_of(kFolder + "gpt2.json"));
  put(folder / "vocab.json", json["model"]["vocab"].dump());
  std::string merges = "#version: 0.2\n";
  for (const Json& merge : json["model"]["merges"]) merges += merge.get<std::string>() + "\n";
  put(folder / "merges.txt", merges);
  BOOST_TEST(read(folder.path()).digest() == read(kFolder + "gpt2.json").digest());
  BOOST_TEST(read(folder / "vocab.json").digest() == read(kFolder + "gpt2.json").digest());

  TemporaryFolder bert;
  const Json pieces = Json::parse(bytes_of(kFolder + "bert.json"))["model"]["vocab"];
  std::vector<std::string> lines(pieces.size());
  for (const auto& [piece, id] : pieces.items()) lines[id.get<std::size_t>()] = piece;
  put(bert / "vocab.txt", joined(lines, "\n") + "\n");
  BOOST_CHECK_THROW(read(bert.path()), Error);  // does case count?
  put(bert / "tokenizer_config.json", R"({"do_lower_case": true})");
  BOOST_TEST(is_foreign_tokenizer(bert / "vocab.txt"));
  BOOST_TEST(read(bert.path()).digest() == read(kFolder + "bert.json").digest());
  BOOST_TEST(read(bert / "vocab.txt").digest() == read(kFolder + "bert.json").digest());
}

/// What is not understood is named, never guessed.
BOOST_AUTO_TEST_CASE(unknown_parts_are_refused) {
  struct Case {
    const char* file;
    const char* place;
    const char* value;
    const char* words;
  };
  const Case cases[] = {
      {"gpt2", "/model/type", R"("Unigram")", "Unigram"},
      {"gpt2", "/model/dropout", "0.1", "dropout: 0.1"},
      {"gpt2", "/model/byte_fallback", "true", "byte_fallback: true"},
      {"gpt2", "/model/end_of_word_suffix", R"("</w>")", "end_of_word_suffix"},
      {"gpt2", "/model/new_field", "1", "new_field"},
      {"gpt2", "/new_part", "{}", "new_part"},
      {"gpt2", "/model/merges/0", R"("a b c")", "a b c"},
      {"gpt2", "/model/merges/0", R"(["\u0120", "zz"])", "zz"},
      {"gpt2", "/model/merges/0", "7", "is no merge"},
      {"gpt2", "/model/vocab/x", "-1", "wanted an id"},
      {"gpt2", "/model/vocab/x", "5", "both have the id 5"},
      {"gpt2", "/model/vocab/newpiece", "9999", "no piece has the id"},
      {"gpt2", "/normalizer", R"({"type": "Lowercase"})", "Lowercase"},
      {"gpt2", "/normalizer", R"({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Strip"}]})",
       "Strip"},
      {"gpt2", "/pre_tokenizer", "null", "ByteLevel is missing"},
      {"gpt2", "/pre_tokenizer", R"({"type": "Metaspace"})", "Metaspace"},
      {"gpt2", "/pre_tokenizer/odd", "1", "odd"},
      {"llama3", "/pre_tokenizer/pretokenizers/0/pattern/Regex", R"("\\w+")", "unknown pattern \\w+"},
      {"llama3", "/pre_tokenizer/pretokenizers/0/behavior", R"("Removed")", "Removed"},
      {"llama3", "/pre_tokenizer/pretokenizers/0/invert", "true", "invert"},
      {"llama3", "/post_processor/processors/1/special_tokens", "{}", "not among special_tokens"},
      {"gpt2", "/post_processor", R"({"type": "Other"})", "Other"},
      {"gpt2", "/decoder", R"({"type": "Metaspace"})", "Metaspace"},
      {"gpt2", "/added_tokens/0/special", "false", "is not special"},
      {"gpt2", "/added_tokens/0/id", "1", "both have the id 1"},
      {"bert", "/model/unk_token", R"("unknown")", "unknown"},
      {"bert", "/normalizer/type", R"("NFC")", "BertNormalizer"},
      {"bert", "/normalizer/odd", "1", "odd"},
      {"bert", "/pre_tokenizer/type", R"("Whitespace")", "Whitespace"},
      {"bert", "/decoder/prefix", R"("@@")", "@@"},
  };
  TemporaryFolder folder;
  for (const Case& each : cases) {
    BOOST_TEST_CONTEXT(each.place << " = " << each.value) {
      Json json = Json::parse(bytes_of(kFolder + each.file + ".json"));
      json[Json::json_pointer(each.place)] = Json::parse(each.value);
      put(folder / "tokenizer.json", json.dump());
      try {
        read(folder.path());
        BOOST_ERROR("no error");
      } catch (const Error& e) {
        const std::string message = e.what();
        BOOST_TEST(message.find(each.words) != std::string::npos, message);
        BOOST_TEST(message.find('\n') == std::string::npos);
      }
    }
  }
  put(folder / "tokenizer.json", "{");
  BOOST_CHECK_THROW(read(folder.path()), Error);
  std::filesystem::remove(folder / "tokenizer.json");
  BOOST_CHECK_THROW(read(folder.path()), Error);
}

BOOST_AUTO_TEST_CASE(words_are_the_text) {
  const std::string text = " l'été's \t\r 1234½  don'T\u00a0stop!!\r\r … 漢字e\u0301 ";
  for (SplitPattern pattern :
       {SplitPattern::none, SplitPattern::gpt2, SplitPattern::llama3, SplitPattern::qwen2}) {
    std::string all;
    for (std::string_view word : split_words(text, pattern)) {
      BOOST_TEST(!word.empty());
      all += word;
    }
    BOOST_TEST(all == text);
    BOOST_TEST(split_words("", pattern).empty());
  }
}

BOOST_AUTO_TEST_CASE(a_long_word_takes_no_square_of_time) {
  const Tokenizer tokenizer = read(kFolder + "gpt2.json");
  std::string word;
  for (unsigned i = 0; i < 300'000; ++i) word += static_cast<char>('a' + i * i % 26);
  BOOST_TEST(tokenizer.decode(tokenizer.encode(word)) == word);
}

}  // namespace
}  // namespace heed::text
