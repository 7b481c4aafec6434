#include "stages/nbest_lists.h"

#include <charconv>
#include <string_view>

#include "base/error.h"
#include "base/log.h"

namespace heed {

namespace {

constexpr std::string_view kBar = " ||| ";

}  // namespace

std::size_t end_of_number(const std::string& line, std::int64_t& number) {
  const std::size_t bar = line.find(kBar);
  if (bar == std::string::npos) return bar;
  const char* const stop = line.data() + bar;
  const auto [end, error] = std::from_chars(line.data(), stop, number);
  return error == std::errc() && end == stop ? bar + kBar.size() : std::string::npos;
}

bool NBestLists::advance() {
  std::string line;
  is_read_ = lines_.next(line);
  if (!is_read_) return false;
  const std::size_t start = end_of_number(line, number_);
  if (start == std::string::npos)
    fail(lines_.name(), ":", lines_.line_number(), ": ", escaped(line),
         " is not a line of an n-best list, wanted \"0 ||| translation\"");
  if (number_ < sentence_)
    fail(lines_.name(), ":", lines_.line_number(), ": is of sentence ", number_, " after one of sentence ",
         sentence_, ": the list must be in the order of the sentences, from 0");
  line.erase(0, start);
  translation_ = line.substr(0, line.find(kBar));
  return true;
}

std::vector<std::vector<Ids>> NBestLists::next(std::int64_t first, std::int64_t count) {
  sentence_ = first;
  std::vector<std::vector<Ids>> lists(static_cast<std::size_t>(count));
  for (auto& list : lists) {
    for (; (is_read_ || advance()) && number_ == sentence_; is_read_ = false) {
      if (std::cmp_equal(list.size(), kWidestBeam))
        fail(lines_.name(), ": has more than ", kWidestBeam, " translations of sentence ", sentence_);
      list.push_back(tokenizer_.with_eos(translation_));
      unknown_.add(translation_, list.back());
    }
    if (list.empty()) fail(lines_.name(), ": has no translation of sentence ", sentence_, ", counted from 0");
    ++sentence_;
  }
  return lists;
}

void NBestLists::expect_end() {
  if (is_read_ || advance())
    fail(lines_.name(), ": has a translation of sentence ", number_, ", but the input has ", sentence_,
         ", counted from 0");
  if (const std::string text = unknown_.complaint(); !text.empty())
    logging::note(concat(lines_.name(), ": ", text));
}

}  // namespace heed
