// What an error says, for tests of messages.
#pragma once

#include <string>

#include "base/error.h"

namespace heed::test {

/// The message of the Error that `action` throws; "no error" when it throws none.
template <class Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace heed::test
