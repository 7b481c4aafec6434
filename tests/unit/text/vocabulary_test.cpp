#include "text/vocabulary.h"

#include <boost/test/unit_test.hpp>

#include "base/error.h"
#include "support/error_of.h"

using namespace heed;
using namespace heed::text;
using heed::Error;
using heed::test::error_of;
using Lines = std::vector<std::string>;

BOOST_AUTO_TEST_CASE(special_pieces_come_first) {
  Vocabulary vocabulary;
  vocabulary.add("cat");
  BOOST_TEST(vocabulary.size() == 5);
  const SpecialIds& special = vocabulary.special();
  BOOST_TEST(vocabulary.piece(special.pad) == "<pad>");
  BOOST_TEST(vocabulary.piece(special.unk) == "<unk>");
  BOOST_TEST(vocabulary.piece(special.bos) == "<s>");
  BOOST_TEST(vocabulary.piece(special.eos) == "</s>");
  BOOST_TEST(vocabulary.id("cat") == 4);
  BOOST_TEST(vocabulary.id("dog") == special.unk);
}

BOOST_AUTO_TEST_CASE(without_a_piece_for_unknown_text_there_is_none) {
  const auto error = [](Lines pieces) {
    return error_of([&] { return Vocabulary(pieces, kNoSpecialIds).id("the"); });
  };
  BOOST_TEST(error({"cat", "dog"}) ==
             "\"the\" is not in the vocabulary, which has no piece for unknown text");
  BOOST_TEST(error({"0", "1"})
                 .ends_with(": its pieces are the ids in digits, because the model has no tokenizer beside "
                            "its weights, or reads images"));
}

BOOST_AUTO_TEST_CASE(only_ids_in_range_have_a_piece) {
  BOOST_CHECK_THROW(Vocabulary().piece(4), Error);
  BOOST_CHECK_THROW(Vocabulary().piece(-1), Error);
}

BOOST_AUTO_TEST_CASE(bad_pieces_are_refused) {
  auto make = [](Lines pieces) { return error_of([&] { Vocabulary v(pieces, kDefaultSpecialIds, "v"); }); };
  BOOST_TEST(make({"<pad>", "<unk>", "<s>", "</s>", "a"}) == "no error");
  BOOST_TEST(make({"<pad>", "<unk>", "<s>"}) == "v: piece 3 must be </s>, got nothing");
  BOOST_TEST(make({"<pad>", "<s>", "<unk>", "</s>"}) == "v: piece 1 must be <unk>, got <s>");
  BOOST_TEST(make({"<pad>", "<unk>", "<s>", "</s>", "a", "b", "a"}) == "v: pieces 4 and 6 are both \"a\"");
  BOOST_TEST(make({"<pad>", "<unk>", "<s>", "</s>", "a", ""}) == "v: piece 5 is empty");
}

BOOST_AUTO_TEST_CASE(word_lists) {
  auto list = parse_word_list({"<pad> 0", "cat 7", "dog\t3", "</s>", "bird"}, "words");
  BOOST_REQUIRE(list.size() == 3u);
  BOOST_TEST(list[0].piece == "cat");
  BOOST_TEST(list[1].count == 3);
  BOOST_TEST(list[2].piece == "bird");
  BOOST_TEST(list[2].count == 0);
}

BOOST_AUTO_TEST_CASE(bad_word_lists_are_refused_by_line) {
  auto parse = [](Lines lines) { return error_of([&] { parse_word_list(lines, "words"); }); };
  BOOST_TEST(parse({"cat", "dog", "cat 3"}) == "words: lines 1 and 3 are both \"cat\"");
  BOOST_TEST(parse({"cat", ""}) == "words:2: empty piece");
  BOOST_TEST(parse({"ice cream 3"}).starts_with("words:1: \"ice cream 3\""));
  BOOST_TEST(parse({"cat many"}).starts_with("words:1: \"cat many\""));
}

BOOST_AUTO_TEST_CASE(a_piece_that_no_file_can_hold_is_refused) {
  for (const std::string& piece : {std::string("cat\ndog"), std::string("cat\0dog", 7)}) {
    const std::string message = error_of([&] {
      return Vocabulary({"<pad>", "<unk>", "<s>", "</s>", piece}, kDefaultSpecialIds, "v.h5");
    });
    BOOST_TEST(message ==
               "v.h5: piece 4 is \"" + escaped(piece) + "\": a piece must not contain an end of line or NUL");
  }
}
