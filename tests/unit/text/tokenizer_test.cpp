#include "text/tokenizer.h"

#include <boost/test/unit_test.hpp>

#include "base/error.h"
#include "text/token_map.h"
#include "text/unicode.h"

using namespace heed;
using namespace heed::text;
using heed::Error;
using heed::TensorMap;
using Lines = std::vector<std::string>;
using Ids = std::vector<std::int32_t>;

namespace {

const Lines kCorpus = {
    "the cat sat on the mat .",        "the dog sat on the log .", "a cat and a dog saw the log on the mat .",
    "Der Hund läuft über die Straße.", "déjà vu, naïve café",      "cats dogs mats logs sat saw and on",
};

/// Text that has gone wrong somewhere before.
const Lines kOddities = {
    "",
    " ",
    "  two  spaces   three ",
    "no\u00a0break\u2003em",
    "\u05e9\u05dc\u05d5\u05dd 123 \u0645\u0631\u062d\u0628\u0627",
    "\U0001F469\u200D\U0001F469\u200D\U0001F467 \U0001F1EB\U0001F1F7 emoji",
    "\u2581 the symbol\u2581for\u2581\u2581spaces",
    "\U000F2581_ \U000F2581\U000F2581 \U000F2581\u2581",
    "<pad> <unk> <s> </s> \\<pad> \\\\</s> <0x41>",
    "a@@ b @@ c@@\\ @@@@ \\",
    "tab\there",
    "decomposed e\u0301 a\u0308",
    "\ufffd \ufeff",
};

Tokenizer train(const std::string& type, bool pretokenized = false, std::int64_t size = 330,
                const std::string& special = {}) {
  Lines lines = kCorpus;
  lines.insert(lines.end(), kCorpus.begin(), kCorpus.end());
  if (type == "char" || pretokenized) lines.insert(lines.end(), kOddities.begin(), kOddities.end());
  std::size_t at = 0;
  TrainOptions options;
  options.type = type;
  options.pretokenized = pretokenized;
  options.vocab_size = size;
  options.special = special;
  auto next = [&](std::string& line) { return at < lines.size() && (line = lines[at++], true); };
  return Tokenizer::train(next, options);
}

std::string single_spaced(const std::string& text) {
  std::string out;
  for (std::string_view word : split_any(text, " ")) out += (out.empty() ? "" : " ") + std::string(word);
  return out;
}

bool has_special(const Tokenizer& tokenizer, const Ids& ids) {
  return std::ranges::any_of(ids, [&](std::int32_t id) { return tokenizer.special().contains(id); });
}

/// Every type, with special pieces that must be asked for.
std::vector<Tokenizer> with_special() {
  std::vector<Tokenizer> all;
  for (auto [type, pretokenized] :
       {std::pair("word", false), {"char", false}, {"bpe", false}, {"unigram", false}, {"bpe", true}})
    all.push_back(train(type, pretokenized, 340, "mask,cls,sep"));
  return all;
}

Ids joined(Ids first, std::int32_t id, const Ids& last) {
  first.push_back(id);
  first.insert(first.end(), last.begin(), last.end());
  return first;
}

}  // namespace

BOOST_AUTO_TEST_CASE(raw_text_comes_back_in_nfc) {
  for (const char* type : {"char", "bpe", "unigram"}) {
    Tokenizer tokenizer = train(type);
    for (const std::string& line : kOddities) {
      BOOST_TEST_CONTEXT(type << ": " << line) {
        Ids ids = tokenizer.encode(line);
        BOOST_TEST(!has_special(tokenizer, ids));
        BOOST_TEST(tokenizer.decode(ids) == nfc(line));
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(pretokenized_words_come_back_as_they_are) {
  Tokenizer tokenizer = train("bpe", true, 40);
  for (const std::string& line : kOddities) {
    Ids ids = tokenizer.encode(line);
    BOOST_TEST(!has_special(tokenizer, ids));
    BOOST_TEST(tokenizer.decode(ids) == single_spaced(line));
  }
}

BOOST_AUTO_TEST_CASE(words) {
  Tokenizer tokenizer = train("word", false, 9);
  BOOST_TEST(tokenizer.size() == 9);
  BOOST_TEST(tokenizer.piece(4) == "the");  // 10 times
  BOOST_TEST(tokenizer.encode("  the \t zebra on the ") ==
                 (Ids{4, kDefaultSpecialIds.unk, tokenizer.vocabulary().id("on"), 4}),
             boost::test_tools::per_element());
  BOOST_TEST(tokenizer.decode(tokenizer.encode("the zebra")) == "the <unk>");
  BOOST_TEST(tokenizer.encode("zebra </s> <pad>") ==
                 (Ids{kDefaultSpecialIds.unk, kDefaultSpecialIds.unk, kDefaultSpecialIds.unk}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(words_that_spell_special_pieces_are_escaped) {
  Tokenizer tokenizer = Tokenizer::from_words({{"\\</s>", 3}, {"cat", 2}, {"rare", 1}}, 2);
  BOOST_TEST(tokenizer.size() == 6);
  Ids ids = tokenizer.encode("</s> cat");
  BOOST_TEST(ids == (Ids{4, 5}), boost::test_tools::per_element());
  BOOST_TEST(tokenizer.decode(ids) == "</s> cat");
}

BOOST_AUTO_TEST_CASE(every_sentence_ends_with_eos) {
  Tokenizer tokenizer = train("word");
  BOOST_TEST(tokenizer.sentence("") == (Ids{kDefaultSpecialIds.eos}), boost::test_tools::per_element());
  Ids framed = {kDefaultSpecialIds.bos, 4, kDefaultSpecialIds.eos, kDefaultSpecialIds.pad,
                kDefaultSpecialIds.pad};
  BOOST_TEST(tokenizer.decode(framed) == "the");
}

BOOST_AUTO_TEST_CASE(ids_out_of_range_are_refused) {
  Tokenizer tokenizer = train("bpe");
  BOOST_CHECK_THROW(tokenizer.decode(Ids{static_cast<std::int32_t>(tokenizer.size())}), Error);
  BOOST_CHECK_THROW(tokenizer.decode(Ids{-1}), Error);
}

BOOST_AUTO_TEST_CASE(bytes_that_do_not_belong_together_still_decode_to_utf8) {
  Tokenizer tokenizer = train("bpe");
  std::int32_t byte = tokenizer.vocabulary().id("<0xC3>");
  BOOST_REQUIRE(byte != kDefaultSpecialIds.unk);
  BOOST_TEST(tokenizer.decode(Ids{byte}) == "\uFFFD");
}

BOOST_AUTO_TEST_CASE(travels_in_a_tensor_map) {
  for (auto [type, pretokenized] :
       {std::pair("word", false), {"char", false}, {"bpe", false}, {"unigram", false}, {"bpe", true}}) {
    Tokenizer original = train(type, pretokenized);
    Tokenizer copy = Tokenizer::from_map(original.to_map("model/vocabulary"), "model/vocabulary");
    BOOST_TEST(copy.digest() == original.digest());
    BOOST_TEST(copy.type() == type);
    BOOST_TEST(copy.pretokenized() == pretokenized);
    for (const std::string& line : kCorpus) {
      BOOST_TEST(copy.encode(line) == original.encode(line), boost::test_tools::per_element());
    }
  }
}

BOOST_AUTO_TEST_CASE(special_pieces_are_asked_for) {
  for (const Tokenizer& tokenizer : with_special()) {
    BOOST_TEST_CONTEXT(tokenizer.type() << (tokenizer.pretokenized() ? ", pre-tokenized" : "")) {
      BOOST_CHECK((tokenizer.special() == SpecialIds{.cls = 4, .sep = 5, .mask = 6}));
      BOOST_TEST(tokenizer.pieces(Ids{3, 4, 5, 6}) == (Lines{"</s>", "<cls>", "<sep>", "<mask>"}),
                 boost::test_tools::per_element());
      Tokenizer copy = Tokenizer::from_map(tokenizer.to_map());
      BOOST_CHECK(copy.special() == tokenizer.special());
      BOOST_TEST(copy.digest() == tokenizer.digest());
      BOOST_TEST(tokenizer.digest() != train(tokenizer.type(), tokenizer.pretokenized(), 340).digest());
      const Ids text = tokenizer.encode("the cat");
      BOOST_TEST(tokenizer.sentence("the cat") ==
                     joined({4}, text[0], joined({text.begin() + 1, text.end()}, 3, {})),
                 boost::test_tools::per_element());
      BOOST_TEST(tokenizer.decode(joined({4}, 5, joined(text, 3, {0, 0}))) == "the cat");
    }
  }
  BOOST_CHECK_THROW(train("word", false, 340, "mask,eos"), heed::UsageError);
  BOOST_CHECK_THROW(train("word", false, 7, "mask,cls,sep"), heed::UsageError);
}

BOOST_AUTO_TEST_CASE(text_names_the_mask_and_no_other_special_piece) {
  for (const Tokenizer& tokenizer : with_special()) {
    BOOST_TEST_CONTEXT(tokenizer.type() << (tokenizer.pretokenized() ? ", pre-tokenized" : "")) {
      const std::int32_t mask = tokenizer.special().mask;
      const bool spaces = tokenizer.type() == "char";  // are pieces
      const Ids ids = tokenizer.encode("the <mask> sat on <mask>");
      BOOST_TEST(ids == joined(joined(tokenizer.encode(spaces ? "the " : "the"), mask,
                                      tokenizer.encode(spaces ? " sat on " : "sat on")),
                               mask, {}),
                 boost::test_tools::per_element());
      BOOST_TEST(tokenizer.decode(ids) == "the <mask> sat on <mask>");
      BOOST_TEST(tokenizer.decode(tokenizer.encode("<mask> cat")) == "<mask> cat");
      const Ids others = tokenizer.encode("<cls> <sep> <pad> \\<mask>");
      if (tokenizer.type() == "word") {
        BOOST_TEST(others == (Ids{1, 1, 1, 1}), boost::test_tools::per_element());
      } else if (!tokenizer.pretokenized()) {  // whose letters may be unknown
        BOOST_TEST(tokenizer.decode(others) ==
                   (spaces ? "<cls> <sep> <pad> \\<mask>" : "<cls> <sep> <pad> \\ <mask>"));
      }
      for (const std::int32_t id : {0, 2, 3, 4, 5}) BOOST_TEST(std::ranges::count(others, id) == 0);
    }
  }
  const Tokenizer letters = train("char", false, 340, "mask"), words = train("word", false, 340, "mask");
  BOOST_TEST(letters.pieces(letters.encode("c<mask>t")) == (Lines{"c", "<mask>", "t"}),
             boost::test_tools::per_element());
  BOOST_TEST(words.encode("c<mask>t") == (Ids{1}), boost::test_tools::per_element());
  const Tokenizer none = train("char", true);  // learns the letters of the oddities
  BOOST_TEST(none.decode(none.encode("<mask>")) == "<mask>");
  BOOST_TEST(!has_special(none, none.encode("<ms>")));
}

BOOST_AUTO_TEST_CASE(a_mask_is_a_word) {
  for (const Tokenizer& tokenizer : with_special()) {
    if (tokenizer.type() == "char") continue;
    const Ids words = tokenizer.word_of(tokenizer.sentence("the <mask> sat"));
    BOOST_TEST(words.back() == 4);  // after <cls> and three words
  }
  const Tokenizer unigram = train("unigram", false, 340, "mask");
  BOOST_TEST(unigram.decode(unigram.encode("the <mask>.")) == "the <mask>.");
}

BOOST_AUTO_TEST_CASE(vocabularies_that_say_nothing_of_special_pieces_have_the_usual_ones) {
  const Tokenizer words = train("word", false, 9);
  const TensorMap map = words.to_map();
  BOOST_TEST(map.at("vocabulary/config").values<std::string>()[0] ==
             R"({"normalization":"nfc","pretokenized":false,"type":"word"})");
  BOOST_CHECK(Tokenizer::from_map(map).special() == kDefaultSpecialIds);
}

BOOST_AUTO_TEST_CASE(special_ids_come_from_the_file) {
  TensorMap map;
  map.add("vocabulary/piece",
          heed::Tensor::of<std::string>({"a", "[UNK]", "[MASK]", "b", "[END]"}, {5}, {"id"}));
  map.add("vocabulary/config", heed::Tensor::of<std::string>({""}, {1}));
  auto load = [&](const std::string& special) {
    map.at("vocabulary/config").values<std::string>()[0] =
        R"({"type": "word", "pretokenized": true, "special": )" + special + "}";
    return Tokenizer::from_map(map);
  };
  const Tokenizer tokenizer = load(R"({"unk": 1, "mask": 2, "eos": 4})");
  BOOST_TEST(tokenizer.sentence("a [MASK] [END] b") == (Ids{0, 2, 1, 3, 4}),
             boost::test_tools::per_element());
  BOOST_TEST(tokenizer.decode(Ids{0, 2, 3, 4}) == "a [MASK] b");
  BOOST_CHECK((tokenizer.special() == SpecialIds{.pad = -1, .unk = 1, .bos = -1, .eos = 4, .mask = 2}));
  BOOST_CHECK_THROW(load(R"({"eos": 4})").encode("c"), Error);  // nothing stands for the unknown
  BOOST_TEST(load(R"({"unk": 1})").sentence("a b") == (Ids{0, 3}), boost::test_tools::per_element());
  BOOST_CHECK_THROW(load(R"({"unk": 5})"), Error);
  BOOST_CHECK_THROW(load(R"({"unk": 1, "eos": 1})"), Error);
  BOOST_CHECK_THROW(load(R"({"unk": "1"})"), Error);
  BOOST_CHECK_THROW(load("3"), Error);
}

BOOST_AUTO_TEST_CASE(settings_may_be_as_many_as_those_of_any_tokenizer) {
  TensorMap map = train("word").to_map();
  std::string& config = map.at("vocabulary/config").values<std::string>()[0];
  config.pop_back();
  config += R"(,"added":[0)";
  for (int i = 0; i < 150'000; ++i) config += ",0";
  config += "]}";
  BOOST_TEST(Tokenizer::from_map(map).size() == train("word").size());
}

BOOST_AUTO_TEST_CASE(digests_tell_vocabularies_apart) {
  BOOST_TEST(train("word", false, 9).digest() != train("word", false, 10).digest());
  BOOST_TEST(train("word", false, 9).digest() != train("word", true, 9).digest());
}

BOOST_AUTO_TEST_CASE(sides_find_their_vocabulary) {
  Tokenizer source = train("word", false, 9), target = train("char");
  TensorMap model = source.to_map("model/source_vocabulary");
  model.merge(target.to_map("model/target_vocabulary"));
  BOOST_TEST(Tokenizer::of_side(model, "source").digest() == source.digest());
  BOOST_TEST(Tokenizer::of_side(model, "target").digest() == target.digest());
  BOOST_TEST(Tokenizer::of_side(target.to_map(), "source").digest() == target.digest());
  BOOST_CHECK_THROW(Tokenizer::of_side(TensorMap(), "source"), Error);
}

BOOST_AUTO_TEST_CASE(damaged_vocabularies_are_refused) {
  TensorMap map = train("bpe").to_map();
  auto bytes = map.at("vocabulary/sentencepiece").values<std::uint8_t>();
  std::fill(bytes.begin(), bytes.begin() + 40, std::uint8_t{0xff});
  BOOST_CHECK_THROW(Tokenizer::from_map(map), Error);
  TensorMap unknown = train("word").to_map();
  unknown.at("vocabulary/config").values<std::string>()[0] = R"({"type": "syllable", "pretokenized": false})";
  BOOST_CHECK_THROW(Tokenizer::from_map(unknown), Error);
  for (const char* settings : {"{}", "[]", "null", R"({"before": []})"}) {
    unknown.at("vocabulary/config").values<std::string>()[0] =
        concat(R"({"type": "word", "pretokenized": false, "settings": )", settings, "}");
    BOOST_CHECK_THROW(Tokenizer::from_map(unknown), Error);
  }
  unknown.at("vocabulary/config").values<std::string>()[0] = "{";
  BOOST_CHECK_THROW(Tokenizer::from_map(unknown), Error);
}

BOOST_AUTO_TEST_CASE(pieces_know_their_words) {
  Tokenizer codes = Tokenizer::from_codes(BpeCodes({{"a", "b"}, {"c", "d</w>"}}));
  Ids ids = codes.sentence("abcd ab cd");
  BOOST_TEST(codes.pieces(ids) == (Lines{"ab@@", "cd", "a@@", "<unk>", "cd", "</s>"}),
             boost::test_tools::per_element());
  BOOST_TEST(codes.word_of(ids) == (Ids{0, 0, 1, 1, 2, 3}), boost::test_tools::per_element());
  Tokenizer unigram = train("unigram");
  Ids two = unigram.sentence("saw cats");
  Ids words = unigram.word_of(two);
  BOOST_TEST(words.front() == 0);
  BOOST_TEST(words[words.size() - 2] == 1);
  BOOST_TEST(words.back() == 2);
}

BOOST_AUTO_TEST_CASE(impossible_options_are_refused) {
  BOOST_CHECK_THROW(train("word", false, 4), heed::UsageError);
  BOOST_CHECK_THROW(train("syllable"), heed::UsageError);
  BOOST_CHECK_THROW(train("unigram", true), heed::UsageError);
  BOOST_CHECK_THROW(train("bpe", false, 100), Error);  // not even the bytes fit
}

BOOST_AUTO_TEST_CASE(sentences_as_tensors) {
  Tokenizer tokenizer = train("word");
  Lines texts = {"the cat", "", "the dog sat ."};
  std::vector<Sentence> sentences;
  for (const std::string& text : texts) sentences.push_back({text, tokenizer.sentence(text)});
  TensorMap map = token_map(sentences, tokenizer, "target");
  BOOST_TEST(map.at("tokens/ids").shape() == (heed::Shape{3, 5}), boost::test_tools::per_element());
  auto length = map.at("tokens/length").values<std::int32_t>();
  BOOST_TEST(Ids(length.begin(), length.end()) == (Ids{3, 1, 5}), boost::test_tools::per_element());
  auto ids = map.at("tokens/ids").values<std::int32_t>();
  BOOST_TEST(Ids(ids.begin() + 5, ids.begin() + 10) == (Ids{kDefaultSpecialIds.eos, 0, 0, 0, 0}),
             boost::test_tools::per_element());
  BOOST_TEST(std::get<std::string>(map.groups["tokens"].attributes["side"]) == "target");
  BOOST_TEST(std::get<std::string>(map.attributes["vocabulary_digest"]) == tokenizer.digest());
  auto back = sentence_ids(map, tokenizer);
  for (std::size_t s = 0; s < texts.size(); ++s) BOOST_TEST(tokenizer.decode(back[s]) == texts[s]);
}

BOOST_AUTO_TEST_CASE(tensors_that_are_no_sentences_are_refused) {
  Tokenizer tokenizer = train("word", false, 9);
  auto map = [&](Ids ids, std::int32_t length) {
    TensorMap tokens;
    tokens.add("tokens/ids", heed::Tensor::of<std::int32_t>(ids, {1, static_cast<std::int64_t>(ids.size())}));
    tokens.add("tokens/length", heed::Tensor::of<std::int32_t>({length}, {1}));
    return tokens;
  };
  BOOST_TEST(sentence_ids(map({8, 3, 0}, 2), tokenizer)[0].size() == 2u);
  BOOST_CHECK_THROW(sentence_ids(map({9, 3}, 2), tokenizer), Error);
  BOOST_CHECK_THROW(sentence_ids(map({-1, 3}, 2), tokenizer), Error);
  BOOST_CHECK_THROW(sentence_ids(map({4, 3}, 3), tokenizer), Error);
  BOOST_CHECK_THROW(sentence_ids(map({4, 3}, -1), tokenizer), Error);
}

BOOST_AUTO_TEST_CASE(the_first_rank_of_hypotheses_is_read) {
  Tokenizer tokenizer = train("word");
  TensorMap map;
  map.add("hypotheses/ids", heed::Tensor::of<std::int32_t>({4, 5, 3, 6, 3, 0, 7, 3, 0, 8, 3, 0}, {2, 2, 3}));
  map.add("hypotheses/length", heed::Tensor::of<std::int32_t>({3, 2, 2, 2}, {2, 2}));
  auto ids = sentence_ids(map, tokenizer);
  BOOST_TEST(ids[0] == (Ids{4, 5, 3}), boost::test_tools::per_element());
  BOOST_TEST(ids[1] == (Ids{7, 3}), boost::test_tools::per_element());
}
