// Tokenizers of other programs against what the library tokenizers makes of the same text
// (scripts/make-golden-tokenizers).
#include "text/foreign_tokenizer.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "support/error_of.h"
#include "support/temporary_folder.h"
#include "text/byte_bpe.h"
#include "text/tokenizer.h"
#include "text/word_unigram.h"

namespace heed::text {
namespace {

using heed::test::bytes_of;
using heed::test::error_of;
using heed::test::TemporaryFolder;
using Json = nlohmann::json;

const std::string kFolder = std::string(HEED_TESTDATA) + "/tokenizers/";
constexpr const char* kCases[] = {"gpt2",           "roberta",
                                  "llama3",         "qwen2",
                                  "qwen2-tools",    "neox",
                                  "modernbert",     "opt",
                                  "bert",           "bert-cased",
                                  "bert-accents",   "t5",
                                  "xlm-roberta",    "xlm-roberta-spaces",
                                  "mpnet",          "camembert",
                                  "smollm",         "digits-runs",
                                  "digits-last",    "llama2",
                                  "llama5",         "gemma",
                                  "character-words"};

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
      const bool spells = tokenizer.type() != kWordUnigramType;
      const Tokenizer spelling = spells ? tokenizer.spelling_special_tokens() : tokenizer;
      int spelled = 0;
      const SentenceFrame frame = *read_foreign_tokenizer(kFolder + name + ".json").scheme->frame();
      std::ifstream golden(kFolder + name + ".golden.jsonl");
      int compared = 0;
      for (std::string line; std::getline(golden, line); ++compared) {
        const Json wanted = Json::parse(line);
        BOOST_TEST_CONTEXT(escaped(wanted["text"].get<std::string>())) {
          if (wanted.contains("spelled")) {
            BOOST_TEST(
                spelling.sentence(wanted["text"]) == wanted["spelled"].get<std::vector<std::int32_t>>(),
                boost::test_tools::per_element());
            ++spelled;
            continue;
          }
          if (wanted.contains("pair")) {
            const TypedIds pair = tokenizer.pair(wanted["text"], wanted["pair"]);
            BOOST_TEST(pair.ids == wanted["ids"].get<std::vector<std::int32_t>>(),
                       boost::test_tools::per_element());
            BOOST_TEST(pair.types == wanted["types"].get<std::vector<std::int32_t>>(),
                       boost::test_tools::per_element());
            continue;
          }
          const auto ids = tokenizer.sentence(wanted["text"]);
          BOOST_TEST(ids == wanted["ids"].get<std::vector<std::int32_t>>(), boost::test_tools::per_element());
          const auto own = std::span(ids).subspan(frame.before.size(),
                                                  ids.size() - frame.before.size() - frame.after.size());
          BOOST_TEST(tokenizer.decode(own) == wanted["decoded"].get<std::string>());
          BOOST_TEST(tokenizer.word_of(ids).size() == ids.size());
        }
      }
      BOOST_TEST(compared >= 90);
      BOOST_TEST(spelled >= (spells ? 27 : 0));
    }
  }
}

BOOST_AUTO_TEST_CASE(pairs_are_cut_where_they_are_longer) {
  const Tokenizer bert = read(kFolder + "bert.json");
  const std::size_t first = bert.encode("the old man").size(), second = bert.encode("a dog").size();
  const TypedIds cut = bert.pair("the old man", "a dog", 3 + 2 * second);
  BOOST_REQUIRE_GT(first, second);
  BOOST_TEST(cut.cut);
  BOOST_TEST(cut.ids.size() == 3 + 2 * second);
  BOOST_TEST(static_cast<std::size_t>(std::ranges::count(cut.types, 1)) == second + 1);
  BOOST_TEST(!bert.pair("the old man", "a dog", 3 + first + second).cut);
  BOOST_CHECK_THROW(read(kFolder + "gpt2.json").pair("a", "b"), Error);
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
      if (tokenizer.special().mask == SpecialIds::kAbsent) continue;
      const std::string masked = "a  " + tokenizer.piece(tokenizer.special().mask);
      BOOST_TEST(copy.sentence(masked) == tokenizer.sentence(masked), boost::test_tools::per_element());
      BOOST_TEST(copy.pair("a", "b").types == tokenizer.pair("a", "b").types,
                 boost::test_tools::per_element());
    }
  }
  BOOST_TEST(read(kFolder + "roberta.json").special().mask == 4);
  BOOST_TEST(read(kFolder + "gpt2.json").special().pad == SpecialIds::kAbsent);
  const Tokenizer gemma = read(kFolder + "gemma.json");
  BOOST_TEST(gemma.special().eos == 1);
  BOOST_TEST(gemma.special().bos == 2);
  BOOST_TEST(gemma.special().mask == SpecialIds::kAbsent);  // text does not spell it
  const Tokenizer mpnet = read(kFolder + "mpnet.json");
  BOOST_TEST(mpnet.piece(mpnet.special().unk) == "[UNK]");
  BOOST_TEST(mpnet.piece(mpnet.special().mask) == "<mask>");
}

BOOST_AUTO_TEST_CASE(exported_files_say_the_same) {
  for (const std::string name : kCases) {
    BOOST_TEST_CONTEXT(name) {
      TemporaryFolder folder;
      put(folder / "tokenizer.json", tokenizer_json(read(kFolder + name + ".json")));
      BOOST_TEST(read(folder.path()).digest() == read(kFolder + name + ".json").digest());
    }
  }
}

BOOST_AUTO_TEST_CASE(exported_files_cut_at_digits_where_the_pattern_did) {
  TemporaryFolder folder;
  Json json = Json::parse(bytes_of(kFolder + "digits-last.json"));
  json["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = expression_of(SplitPattern::gpt2);
  put(folder / "digits.json", json.dump());
  const Tokenizer tokenizer = read(folder / "digits.json");
  put(folder / "tokenizer.json", tokenizer_json(tokenizer));
  BOOST_TEST(read(folder / "tokenizer.json").digest() == tokenizer.digest());
  // Spaces before a digit are cut by the pattern, which sees it.
  const Tokenizer digits_first = read(kFolder + "smollm.json");
  const auto number = [](const Tokenizer& of) { return of.encode("x  1  2").size(); };
  BOOST_TEST(number(tokenizer) == 7);
  BOOST_TEST(number(digits_first) < 7);
}

BOOST_AUTO_TEST_CASE(exported_files_have_tokens_behind_the_models) {
  TemporaryFolder folder;
  Json json = Json::parse(bytes_of(kFolder + "t5.json"));
  json["added_tokens"].push_back(
      {{"id", json["model"]["vocab"].size()}, {"content", "<behind>"}, {"special", true}});
  put(folder / "t5.json", json.dump());
  const Tokenizer tokenizer = read(folder / "t5.json");
  BOOST_TEST(std::cmp_greater(tokenizer.size(), json["model"]["vocab"].size()));
  put(folder / "tokenizer.json", tokenizer_json(tokenizer));
  BOOST_TEST(read(folder.path()).digest() == tokenizer.digest());
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

  TemporaryFolder opt;
  const Json opt_json = Json::parse(bytes_of(kFolder + "opt.json"));
  put(opt / "vocab.json", opt_json["model"]["vocab"].dump());
  merges.clear();
  for (const Json& merge : opt_json["model"]["merges"])
    merges += concat(merge[0].get<std::string>(), " ", merge[1].get<std::string>(), "\n");
  put(opt / "merges.txt", merges);
  BOOST_TEST(error_of([&] { read(opt.path()); }).find("does not say") != std::string::npos);
  put(opt / "tokenizer_config.json",
      R"({"tokenizer_class": "GPT2Tokenizer", "add_bos_token": true, "bos_token": {"content": "</s>"}})");
  BOOST_TEST(read(opt.path()).digest() == read(kFolder + "opt.json").digest());
  put(opt / "tokenizer_config.json",
      R"({"tokenizer_class": "GPT2Tokenizer", "add_bos_token": true, "bos_token": "<bos>"})");
  BOOST_TEST(error_of([&] { read(opt.path()); }).find("bos_token") != std::string::npos);

  for (const std::string name : {"bert", "mpnet"}) {
    TemporaryFolder list;
    const std::string file = kFolder + name + ".json";
    const Json pieces = Json::parse(bytes_of(file))["model"]["vocab"];
    std::vector<std::string> lines(pieces.size());
    for (const auto& [piece, id] : pieces.items()) lines[id.get<std::size_t>()] = piece;
    put(list / "vocab.txt", joined(lines, "\n") + "\n");
    BOOST_CHECK_THROW(read(list.path()), Error);  // does case count?
    put(list / "tokenizer_config.json", R"({"do_lower_case": true})");
    BOOST_TEST(is_foreign_tokenizer(list / "vocab.txt"));
    BOOST_TEST(read(list.path()).digest() == read(file).digest());
    BOOST_TEST(read(list / "vocab.txt").digest() == read(file).digest());
  }
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
      {"gpt2", "/model/type", R"("WordLevel")", "WordLevel"},
      {"gpt2", "/model/dropout", "0.1", "dropout: 0.1"},
      {"gpt2", "/model/byte_fallback", "true", "byte_fallback: true"},
      {"gpt2", "/model/end_of_word_suffix", R"("</w>")", "end_of_word_suffix"},
      {"gpt2", "/model/new_field", "1", "new_field"},
      {"gpt2", "/new_part", "{}", "new_part"},
      {"gpt2", "/model/merges/0", R"("a b c")", "a b c"},
      {"gpt2", "/model/merges/0", R"(["\u0120", "zz"])", "zz"},
      {"gpt2", "/model/merges/0", "7", "is not a merge"},
      {"gpt2", "/model/vocab/x", "-1", "wanted an id"},
      {"gpt2", "/model/vocab/x", "5", "both have the id 5"},
      {"gpt2", "/model/vocab/newpiece", "421", "no piece has the id"},
      {"gpt2", "/normalizer", R"({"type": "Lowercase"})", "Lowercase"},
      {"gpt2", "/normalizer", R"({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Strip"}]})",
       "Strip"},
      {"gpt2", "/pre_tokenizer", "null", "ByteLevel is missing"},
      {"gpt2", "/pre_tokenizer", R"({"type": "Digits", "individual_digits": true})", "ByteLevel is missing"},
      {"smollm", "/pre_tokenizer/pretokenizers/0", R"({"type": "Digits"})", "individual_digits is missing"},
      {"smollm", "/pre_tokenizer/pretokenizers/0/individual_digits", "1", "wanted true or false"},
      {"smollm", "/pre_tokenizer/pretokenizers/1/add_prefix_space", "true", "add_prefix_space beside Digits"},
      {"smollm", "/pre_tokenizer/pretokenizers/2", R"({"type": "Digits", "individual_digits": true})",
       "Digits is not supported, wanted ByteLevel"},
      {"digits-last", "/pre_tokenizer/pretokenizers/2/use_regex", "true", "two patterns"},
      {"gpt2", "/pre_tokenizer/odd", "1", "odd"},
      {"llama3", "/pre_tokenizer/pretokenizers/0/pattern/Regex", R"("\\w+")", "unknown pattern \\w+"},
      {"llama3", "/pre_tokenizer/pretokenizers/0/behavior", R"("Removed")", "Removed"},
      {"llama3", "/pre_tokenizer/pretokenizers/0/invert", "true", "invert"},
      {"llama3", "/post_processor/processors/1/special_tokens", "{}", "not among special_tokens"},
      {"gpt2", "/post_processor", R"({"type": "Other"})", "Other"},
      {"gpt2", "/decoder", R"({"type": "Metaspace"})", "Metaspace"},
      {"bert", "/added_tokens/4/special", "false", "is not special"},
      {"qwen2-tools", "/model/ignore_merges", "true", "single_word beside ignore_merges"},
      {"gpt2", "/added_tokens/0/id", "1", "both have the id 1"},
      {"bert", "/model/unk_token", R"("unknown")", "unknown"},
      {"bert", "/normalizer/type", R"("NFC")", "BertNormalizer"},
      {"bert", "/normalizer/odd", "1", "odd"},
      {"bert", "/pre_tokenizer/type", R"("Whitespace")", "Whitespace"},
      {"bert", "/decoder/prefix", R"("@@")", "@@"},
      {"bert", "/model/max_input_chars_per_word", "1001", "wanted at most 1000, got 1001"},
      {"bert", "/model/vocab/the", "9999999", "has the id 9999999, wanted one below"},
      {"gpt2", "/added_tokens/0/id", "9999999", "has the id 9999999, wanted one below"},
      {"bert", "/post_processor/sep/1", "250", "id 250 around sentences, wanted one below 250"},
      {"llama3", "/post_processor/processors/1/special_tokens/<|begin_of_text|>/ids/0", "4294967297",
       "wanted an id"},
      {"roberta", "/post_processor/sep/1", "420", "id 420 around sentences"},
      {"gpt2", "/model", "1", "wanted an object"},
      {"xlm-roberta", "/normalizer/type", R"("Lowercase")", "Lowercase"},
      {"xlm-roberta", "/pre_tokenizer", R"({"type": "WhitespaceSplit"})", "WhitespaceSplit"},
      {"xlm-roberta", "/pre_tokenizer/pretokenizers/0", R"({"type": "Punctuation"})",
       "wanted Metaspace, alone or after WhitespaceSplit"},
      {"xlm-roberta", "/pre_tokenizer/pretokenizers/1/prepend_scheme", R"("first")",
       "prepend_scheme: \"first\""},
      {"xlm-roberta", "/added_tokens/4/rstrip", "true", "rstrip of <mask>"},
      {"xlm-roberta", "/model/unk_id", "2", "unk_id: 2, wanted"},
      {"xlm-roberta-spaces", "/normalizer/normalizers/1/strip_left", "true", "strip_left: true"},
      {"xlm-roberta-spaces", "/normalizer/normalizers/2/pattern/Regex", R"("\\s+")", "Regex"},
      {"xlm-roberta-spaces", "/normalizer/normalizers/2/content", R"("_")", "content"},
      {"xlm-roberta-spaces", "/normalizer/normalizers/2/type", R"("Strip")",
       "Precompiled, then Strip, then Replace"},
      {"llama2", "/model/byte_fallback", "7", "byte_fallback: wanted true or false"},
      {"llama2", "/model/ignore_merges", "true", "ignore_merges: true"},
      {"llama2", "/model/dropout", "0.1", "dropout: 0.1"},
      {"llama2", "/model/continuing_subword_prefix", R"("##")", "continuing_subword_prefix"},
      {"llama2", "/model/unk_token", R"("unknown")", "unk_token: \"unknown\""},
      {"llama2", "/model/new_field", "1", "new_field"},
      {"llama2", "/model/vocab", "[]", "wanted an object"},
      {"llama2", "/model/vocab/<0x0A>", "-1", "wanted an id"},
      {"llama2", "/model/vocab/<0x0A>", "9999999", "wanted one below"},
      {"llama2", "/model/vocab/<0x0A>", "5", "both have the id 5"},
      {"llama2", "/model/merges/0", R"(["a b", "c"])", "a piece with a space"},
      {"llama2", "/model/merges/0", R"(["", "c"])", "an empty one"},
      {"llama2", "/model/merges/0", R"(["e", "zz"])", "\"ezz\" is not among its pieces"},
      {"llama2", "/normalizer/normalizers/0/prepend", R"("_")", "prepend: \"_\""},
      {"llama2", "/normalizer/normalizers/1/pattern", R"({"Regex": " "})", "String"},
      {"llama2", "/normalizer/normalizers/1/content", R"("_")", "content: \"_\""},
      {"llama2", "/normalizer/normalizers/1", R"({"type": "NFKC"})", "NFKC"},
      {"llama2", "/normalizer/normalizers/2", R"({"type": "Prepend"})", "Prepend is not supported"},
      {"llama2", "/pre_tokenizer", R"({"type": "Whitespace"})", "wanted Metaspace or Split"},
      {"llama2", "/pre_tokenizer",
       R"({"type": "Sequence", "pretokenizers": [{"type": "Split"}, {"type": "Digits"}]})", "2 steps"},
      {"llama2", "/decoder", "null", "step 1 is missing"},
      {"llama2", "/decoder/decoders/1/type", R"("Fuse")", "step 2 is Fuse"},
      {"llama2", "/decoder/decoders/3/start", "2", "start: 2"},
      {"llama2", "/decoder/decoders/4", R"({"type": "Strip"})", "step 5 is Strip"},
      {"llama2", "/post_processor/special_tokens/<s>/ids/0", "9999", "id 9999 around sentences"},
      {"llama2", "/added_tokens/4/content", R"("\u2581")", "both have the id 4"},
      {"llama5", "/pre_tokenizer/prepend_scheme", R"("last")", "prepend_scheme: \"last\""},
      {"llama5", "/pre_tokenizer/replacement", R"("_")", "replacement"},
      {"llama5", "/pre_tokenizer/add_prefix_space", "false", "add_prefix_space: false"},
      {"llama5", "/model/vocab", R"({"<unk>": 0, "<s>": 1, "</s>": 2})", "wanted one below"},
      {"gemma", "/normalizer", "null", "Split without a normalizer"},
      {"gemma", "/pre_tokenizer/behavior", R"("Isolated")", "Isolated"},
      {"gemma", "/model/vocab/<newline>\n", "486", "<newline> beside an end of line"},
      {"character-words", "/decoder/prepend_scheme", R"("last")", "prepend_scheme"},
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
  Json unsaid = Json::parse(bytes_of(kFolder + "llama5.json"));
  unsaid["added_tokens"][0]["special"] = nullptr;  // as if it were not there
  put(folder / "tokenizer.json", unsaid.dump());
  BOOST_TEST(error_of([&] { read(folder.path()); }) == "no error");
  put(folder / "tokenizer.json", "{");
  BOOST_CHECK_THROW(read(folder.path()), Error);
  std::filesystem::remove(folder / "tokenizer.json");
  BOOST_CHECK_THROW(read(folder.path()), Error);
}

/// Text spells no special token, whatever the merges make.
BOOST_AUTO_TEST_CASE(merges_make_no_special_token) {
  TemporaryFolder folder;
  const auto message = [&](const std::string& content, const std::string& name = "llama2") {
    Json json = Json::parse(bytes_of(kFolder + name + ".json"));
    const Json id = json["model"]["vocab"][content];
    json["added_tokens"].push_back({{"id", id}, {"content", content}, {"special", true}});
    put(folder / "tokenizer.json", json.dump());
    return error_of([&] { read(folder.path()); });
  };
  const Json merge = Json::parse(bytes_of(kFolder + "llama2.json"))["model"]["merges"][0];
  BOOST_TEST(
      message(merge[0].get<std::string>() + merge[1].get<std::string>()).find("make the special token") !=
      std::string::npos);
  for (const auto& [content, name] : {std::pair("a", "llama2"), {"<0x41>", "llama2"}, {"\n", "gemma"}})
    BOOST_TEST(message(content, name).find("is a character or byte, which text would spell") !=
               std::string::npos);
}

BOOST_AUTO_TEST_CASE(added_tokens_give_the_model_no_symbols) {
  TemporaryFolder folder;
  const auto message = [&](const Json& tokens) {
    Json json = Json::parse(bytes_of(kFolder + "llama2.json"));
    for (const Json& token : tokens) json["added_tokens"].push_back(token);
    put(folder / "tokenizer.json", json.dump());
    return error_of([&] { read(folder.path()); });
  };
  const Json omega{{"id", 480}, {"content", "\u03a9"}, {"single_word", true}};
  BOOST_TEST(message(Json::array({omega}))
                 .find("tokenizer.json/added_tokens: \u03a9: a character or byte that the model "
                       "does not have is not supported") != std::string::npos);
  const Json word{{"id", 480}, {"content", "\u03a9\u03a9"}};
  BOOST_TEST(message(Json::array({word})) == "no error");
  BOOST_TEST(message(Json::array({word, word})).find("token 480 is listed twice") != std::string::npos);
}

/// Without a piece for unknown text, each byte must have one, or be a character with a piece.
BOOST_AUTO_TEST_CASE(no_character_is_lost) {
  TemporaryFolder folder;
  const auto message = [&](const std::string& name, const std::string& byte) {
    Json json = Json::parse(bytes_of(kFolder + name + ".json"));
    json["model"]["unk_token"] = nullptr;
    Json& pieces = json["model"]["vocab"];
    pieces["other"] = pieces.at(byte);
    pieces.erase(byte);
    put(folder / "tokenizer.json", json.dump());
    return error_of([&] { read(folder.path()); });
  };
  BOOST_TEST(message("llama2", "<0xE2>").find("neither <0xE2> nor a piece for unknown text") !=
             std::string::npos);
  BOOST_TEST(message("llama2", "<0xC0>") == "no error");  // in no UTF-8
  BOOST_TEST(message("gemma", "<0xE2>").find("neither <0xE2>") != std::string::npos);
  BOOST_TEST(message("gemma", "<0xFF>") == "no error");  // and its tab has a piece, but no byte
}

/// As in the library: bytes come before what is unknown beside them, and bytes that are no UTF-8 together are
/// all replaced.
BOOST_AUTO_TEST_CASE(bytes_are_the_librarys) {
  TemporaryFolder folder;
  Json json = Json::parse(bytes_of(kFolder + "llama2.json"));
  Json& pieces = json["model"]["vocab"];
  pieces["other"] = pieces.at("<0xE6>");
  pieces.erase("<0xE6>");
  for (const bool fuses : {true, false}) {
    json["model"]["fuse_unk"] = fuses;
    put(folder / "tokenizer.json", json.dump());
    const Tokenizer tokenizer = read(folder.path());
    const auto shown = tokenizer.pieces(tokenizer.encode("日\u00D7月日a"));
    const std::vector<std::string> wanted =
        fuses ? std::vector<std::string>{"▁", "<0xC3>", "<0x97>", "<unk>", "a"}
              : std::vector<std::string>{"▁", "<0xC3>", "<0x97>", "<unk>", "<unk>", "<unk>", "a"};
    BOOST_TEST(shown == wanted, boost::test_tools::per_element());
  }
  const Tokenizer tokenizer = read(kFolder + "llama2.json");
  const auto decoded = [&](const std::vector<std::string>& list) {
    std::vector<std::int32_t> ids;
    for (const std::string& piece : list) ids.push_back(tokenizer.vocabulary().id(piece));
    return tokenizer.decode(ids);
  };
  BOOST_TEST(decoded({"▁", "<0xE2>", "<0x96>", "<0x81>", "a"}) == "▁a");
  BOOST_TEST(decoded({"a", "<0xE2>", "<0x41>", "a"}) == "a\uFFFD\uFFFDa");
  BOOST_TEST(decoded({"<0x20>", "<0x20>", "a"}) == " a");
}

BOOST_AUTO_TEST_CASE(a_vocabulary_may_have_a_piece_named_model) {
  TemporaryFolder folder;
  Json pieces = Json::parse(bytes_of(kFolder + "gpt2.json"))["model"]["vocab"];
  const std::size_t id = pieces.size();
  pieces["model"] = id;
  put(folder / "vocab.json", pieces.dump());
  put(folder / "merges.txt", "#version: 0.2\n");
  for (const std::string& path : {folder.path().string(), folder / "vocab.json"})
    BOOST_TEST(read(path).piece(static_cast<std::int32_t>(id)) == "model");
  pieces["<s>"] = id + 1;
  pieces["</s>"] = id + 2;
  put(folder / "vocab.json", pieces.dump());
  BOOST_TEST(error_of([&] { read(folder.path()); }).find("import tokenizer.json") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(nesting_has_a_limit) {
  TemporaryFolder folder;
  const std::string deep = "{\"version\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  const std::string words = "nested deeper than 64 levels";
  put(folder / "tokenizer.json", deep);
  BOOST_TEST(error_of([&] { read(folder.path()); }).find(words) != std::string::npos);
  TensorMap map = read(kFolder + "gpt2.json").to_map();
  map.at("vocabulary/config").values<std::string>()[0] = deep;
  BOOST_TEST(error_of([&] { Tokenizer::from_map(map); }).find(words) != std::string::npos);
}

BOOST_AUTO_TEST_CASE(loaded_settings_are_within_bounds) {
  struct Case {
    const char *file, *place;
    Json value;
    const char* words;
  };
  const Case cases[] = {{"bert", "/settings/after/0", 250, "wanted one below 250"},
                        {"bert", "/settings/before/0", -1, "wanted ids, got -1"},
                        {"bert", "/settings/longest_word", 1001, "wanted 0 to 1000, got 1001"},
                        {"xlm-roberta-spaces", "/settings/run_of_spaces", "xx", "wanted a space"},
                        {"smollm", "/settings/digits", "some", "digits: got 'some'"},
                        {"llama2", "/settings/prefix", "some", "prefix: got 'some'"},
                        {"llama2", "/settings/join", "some", "join: got 'some'"},
                        {"llama2", "/settings/special/0/id", 480, "special token 480, wanted one below 480"},
                        {"llama2", "/settings/special/0/id", -1, "wanted ids, got -1"},
                        {"llama5", "/settings/added/0/id", 999, "added token 999, wanted one below"},
                        {"gemma", "/settings/line_ends/0", 999, "line_ends: id 999, wanted one below"},
                        {"gemma", "/settings/line_ends/0", 4294967297, "line_ends: id 4294967297, wanted"},
                        {"gpt2", "/settings/pattern", "some", "pattern: got 'some'"},
                        {"gemma", "/settings/line_ends/0", "x", "must be number"},
                        {"roberta", "/settings/after/0", 420, "wanted one below 420"},
                        {"roberta", "/settings/after/0", 4294967297, "wanted ids"},
                        {"roberta", "/special/mask", 420, "below 420"},
                        {"roberta", "/special/mask", 4294967297, "wanted ids by name"}};
  for (const Case& each : cases) {
    BOOST_TEST_CONTEXT(each.file << each.place << " = " << each.value) {
      TensorMap map = read(kFolder + each.file + ".json").to_map();
      std::string& config = map.at("vocabulary/config").values<std::string>()[0];
      Json json = Json::parse(config);
      json[Json::json_pointer(each.place)] = each.value;
      config = json.dump();
      BOOST_CHECK_EXCEPTION(Tokenizer::from_map(map), Error, [&](const Error& e) {
        const std::string message = e.what();
        BOOST_TEST(message.find(each.words) != std::string::npos, message);
        BOOST_TEST(message.starts_with("/vocabulary"), message);
        return !dynamic_cast<const UsageError*>(&e);  // the user did not choose them
      });
    }
  }
}

BOOST_AUTO_TEST_CASE(what_follows_a_sentence_outlives_truncation) {
  for (const std::string name : kCases) {
    BOOST_TEST_CONTEXT(name) {
      const Tokenizer tokenizer = read(kFolder + name + ".json");
      const auto whole = tokenizer.sentence("the old house of the king");
      const auto after = read_foreign_tokenizer(kFolder + name + ".json").scheme->frame()->after;
      for (std::size_t most = 1; most <= whole.size(); ++most) {
        auto ids = whole;
        tokenizer.truncate(ids, most);
        BOOST_TEST(ids.size() == most);
        const std::size_t end = std::min(after.size(), most);
        BOOST_TEST(std::equal(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(end), whole.begin()));
        BOOST_TEST(std::equal(ids.end() - static_cast<std::ptrdiff_t>(end), ids.end(),
                              after.end() - static_cast<std::ptrdiff_t>(end)));
      }
    }
  }
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

BOOST_AUTO_TEST_CASE(digits_are_the_characters_of_category_n) {
  const auto parts = [](std::string_view text, DigitSplit how) {
    std::string all;
    for (const std::string_view part : split_digits(text, how)) all += "[" + std::string(part) + "]";
    return all;
  };
  const std::string text = "a12 ²½x१二Ⅷ.";
  BOOST_TEST(parts(text, DigitSplit::none) == "[" + text + "]");
  BOOST_TEST(parts(text, DigitSplit::each) == "[a][1][2][ ][²][½][x][१][二][Ⅷ][.]");
  BOOST_TEST(parts(text, DigitSplit::runs) == "[a][12][ ][²½][x][१][二][Ⅷ][.]");
  BOOST_TEST(parts("12", DigitSplit::runs) == "[12]");
  BOOST_TEST(parts("", DigitSplit::each) == "");
}

BOOST_AUTO_TEST_CASE(a_long_word_takes_no_square_of_time) {
  std::string word;
  for (unsigned i = 0; i < 300'000; ++i) word += static_cast<char>('a' + i * i % 26);
  for (const char* name : {"gpt2", "llama2"}) {
    const Tokenizer tokenizer = read(kFolder + name + ".json");
    BOOST_TEST(tokenizer.decode(tokenizer.encode(word)) == word);
  }
}

}  // namespace
}  // namespace heed::text
