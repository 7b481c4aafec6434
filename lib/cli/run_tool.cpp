#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <new>
#include <span>
#include <string_view>

#include "base/error.h"
#include "base/heap.h"
#include "base/simd_level.h"
#include "cli/parser.h"
#include "cli/signals.h"
#include "io/byte_stream.h"

namespace heed::cli {
namespace {

/// Flushes stdout and throws Error on failure: `tool > /dev/full` is an error.
void close_stdout() {
  errno = 0;
  std::cout.exceptions(std::ios::goodbit);
  bool flushed = std::cout.flush().good() && std::fflush(stdout) == 0;
  if (!flushed || close(STDOUT_FILENO) != 0)
    fail("<stdout>: cannot write: ", std::strerror(errno ? errno : EIO));
}

void configure_logging(const Tool::Parser& parser) {
  const Common& common = parser.common;
  logging::Level level = common.quiet     ? logging::Level::quiet
                         : common.verbose ? logging::Level::verbose
                                          : logging::Level::normal;
  logging::configure({parser.app.get_name(), level, common.progress});
}

void run(Tool::Parser& parser) {
  try {
    parser.parse();
    configure_logging(parser);
    if (const char* most = std::getenv("HEED_SIMD"); most && *most) limit_simd(most);
    if (parser.write) {
      parser.write->command = Tool(parser).result_command();
      parser.write->ahead = parser.common.threads > 1;
    }
    if (parser.work) parser.work();
  } catch (const CLI::CallForHelp&) {
    std::cout << parser.app.help();
  } catch (const CLI::CallForVersion& version) {
    std::cout << version.what() << '\n';
  } catch (const PrintCompletion&) {
    std::cout << bash_completion(parser);
  }
  close_stdout();
  reraise_pending_signal();
}

/// If a file name does not come from the command line, the message says where it comes from.
std::string origin_of(const std::string& message, std::span<char* const> typed) {
  const char* model = std::getenv("HEED_MODEL");
  if (!model || !*model || !message.starts_with(concat(escaped(model), ":"))) return "";
  if (std::ranges::any_of(typed, [&](std::string_view word) { return word.ends_with(model); })) return "";
  return *model == '/' ? " (from HEED_MODEL)" : " (from HEED_MODEL, relative to the current folder)";
}

/// Runs `work` and turns what it throws into a line on stderr and an exit status. `typed`: the command line.
template <class Work>
int status_of(std::span<char* const> typed, Work&& work) {
  const auto report = [&](const std::string& text, int status) {
    // Few allocations: memory may just have run out.
    std::fprintf(stderr, "%s: %s%s\n", logging::program().c_str(), escaped(text, std::string::npos).c_str(),
                 origin_of(text, typed).c_str());
    return status;
  };
  try {
    work();
    return 0;
  } catch (const UsageError& error) {
    return report(error.what(), 2);
  } catch (const DivergedError& error) {
    return report(error.what(), 3);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: %s\n", logging::program().c_str(), kOutOfMemory);
    return 1;
  } catch (const std::filesystem::filesystem_error& error) {
    return report(concat(escaped(error.path1().string()), ": ", error.code().message()), 1);
  } catch (const std::ios_base::failure&) {
    return report(concat("<stdout>: cannot write: ", std::strerror(errno ? errno : EIO)), 1);
  } catch (const std::exception& error) {
    return report(error.what(), 1);
  } catch (...) {
    return report("unknown failure", 1);
  }
}

}  // namespace

int run_tool(const char* name, const char* purpose, int argc, char** argv,
             const std::function<void(Tool&)>& setup) {
  keep_freed_memory();
  logging::configure({name});
  io::reserve_standard_streams();
  install_signal_handlers();
  install_last_resort();
  std::ios::sync_with_stdio(false);
  const int status = status_of({argv + (argc > 0), argv + argc}, [&] {
    std::cout.exceptions(std::ios::badbit);  // a full disk ends the work at once
    std::vector<std::string> words{name};
    words.insert(words.end(), argv + (argc > 0), argv + argc);
    Tool::Parser parser(name, purpose, std::move(words));
    Tool tool(parser);
    setup(tool);
    run(parser);
  });
  expect_exit();
  return status;
}

}  // namespace heed::cli
