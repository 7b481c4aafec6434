// The model file of a command that does not train.
#pragma once

#include <filesystem>
#include <string>

#include "base/error.h"
#include "base/paths.h"

namespace heed {

/// Throws UsageError unless -o names a file, for `what`, that is not there yet or may be replaced.
inline void expect_new_file(const std::string& output, bool overwrite, const char* what) {
  if (output.empty() || output == "-") fail<UsageError>("-o: wanted a file for ", what);
  if (!overwrite && std::filesystem::exists(output))
    fail<UsageError>("-o ", escaped(output), ": already exists; --overwrite replaces it");
}

}  // namespace heed
