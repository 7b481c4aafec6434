#include "stages/nbest_lists.h"

#include <string_view>

#include "base/error.h"
#include "base/log.h"
#include "base/number.h"

namespace heed {

namespace {

constexpr std::string_view kBar = " ||| ";

}  // namespace

std::size_t end_of_number(const std::string& line, std::int64_t& number) {
  const std::size_t bar = line.find(kBar);
  if (bar == std::string::npos) return bar;
  return parse(std::string_view(line).substr(0, bar), number) ? bar + kBar.size() : std::string::npos;
}

bool NBestReader::advance() {
  if (is_read_) return true;
  std::string line;
  if (!lines_.next(line)) return false;
  is_read_ = true;
  const std::size_t start = end_of_number(line, number_);
  if (start == std::string::npos)
    fail(lines_.name(), ":", lines_.line_number(), ": ", escaped(line),
         " is not a line of an n-best list, wanted \"0 ||| translation\"");
  if (number_ < last_)
    fail(lines_.name(), ":", lines_.line_number(), ": is of sentence ", number_, " after one of sentence ",
         last_, ": the list must be in the order of the sentences, from 0");
  line.erase(0, start);
  const std::size_t end = line.find(kBar), score = line.rfind(kBar);
  line_ = {line.substr(0, end), score == std::string::npos ? "" : line.substr(score + kBar.size()),
           concat(lines_.name(), ":", lines_.line_number())};
  return true;
}

std::vector<NBestLine> NBestReader::next(std::int64_t sentence) {
  last_ = sentence;
  std::vector<NBestLine> list;
  for (; advance() && number_ == sentence; is_read_ = false) {
    if (std::cmp_equal(list.size(), kWidestBeam))
      fail(lines_.name(), ": has more than ", kWidestBeam, " translations of sentence ", sentence);
    list.push_back(std::move(line_));
  }
  if (list.empty()) fail(lines_.name(), ": has no translation of sentence ", sentence, ", counted from 0");
  return list;
}

bool NBestReader::at_end() {
  return !advance();
}

std::vector<std::vector<Ids>> NBestLists::next(std::int64_t first, std::int64_t count) {
  sentence_ = first;
  std::vector<std::vector<Ids>> lists(static_cast<std::size_t>(count));
  for (auto& list : lists) {
    for (const NBestLine& line : reader_.next(sentence_)) {
      list.push_back(tokenizer_.with_eos(line.translation));
      unknown_.add(line.translation, list.back());
    }
    ++sentence_;
  }
  return lists;
}

void NBestLists::expect_end() {
  if (!reader_.at_end())
    fail(reader_.name(), ": has a translation of sentence ", reader_.sentence_ahead(), ", but the input has ",
         sentence_, ", counted from 0");
  if (const std::string text = unknown_.complaint(); !text.empty())
    logging::note(concat(reader_.name(), ": ", text));
}

}  // namespace heed
