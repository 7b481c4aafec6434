// Exceptions and their messages. A message is one line: place, problem, expected and actual value, and the
// likely cause. `run_tool` (lib/cli) puts the tool's name in front and derives the exit status from the type.
#pragma once

#include <cstdint>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace heed {

/// Bad data, failed I/O or too little memory: exit status 1.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An invalid command line: exit status 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// Training produced NaN or infinity: exit status 3.
class DivergedError : public Error {
 public:
  using Error::Error;
};

/// Failed I/O on a file that the message names first.
class FileError : public Error {
 public:
  using Error::Error;
};

/// The arguments, formatted by operator<< and concatenated.
template <class... Args>
std::string concat(const Args&... args) {
  std::ostringstream text;
  (text << ... << args);
  return text.str();
}

template <class Exception = Error, class... Args>
[[noreturn]] void fail(const Args&... args) {
  throw Exception(concat(args...));
}

/// `bytes` made safe for a terminal: control characters and invalid bytes become \n or \x1b; cut
/// after `max` characters.
std::string escaped(std::string_view bytes, std::size_t max = 80);

/// `what` with the place in front, unless it begins with it: "in.h5: damaged", "in.h5:/tokens/ids: is
/// missing".
std::string placed(const std::string& place, std::string_view what);

/// The result of work(). An Error that is not a UsageError, which is of the command line, gets the place in
/// front: text, or a function that returns it.
template <class Place, class Work>
decltype(auto) at_place(const Place& place, const Work& work) {
  try {
    return work();
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    if constexpr (std::is_invocable_v<Place>)
      fail(placed(place(), error.what()));
    else
      fail(placed(place, error.what()));
  }
}

/// "1 line", "2 lines"
std::string count_of(std::int64_t number, std::string_view noun);
/// "a, b, c"
std::string joined(const std::vector<std::string>& parts, std::string_view separator = ", ");
/// "a, b, c", of more than 12 "a, b, ... and 3 more"
std::string listed(std::vector<std::string> parts);
/// "a, b or c"
std::string alternatives(const std::vector<std::string>& names);

}  // namespace heed
