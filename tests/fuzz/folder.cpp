// Fuzzes the import of other programs' models: any text files beside sound weights are an Error or a model,
// never a crash. An input is the files of a folder, each as its name, a line feed and its content, with a
// byte between them that no text has. The file "weights" names the folder of testdata/import whose weights
// are there.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "models/foreign/import.h"

namespace fs = std::filesystem;

namespace {

constexpr char kBetween = '\xFF';

constexpr char kScratch[] = "/dev/shm/heed-fuzz-";

/// A fuzzer that crashed has left its folder behind.
void remove_left_behind() {
  std::error_code ignored;
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(fs::path(kScratch).parent_path(), ignored)) {
    const std::string path = entry.path().string();
    if (!path.starts_with(kScratch)) continue;
    const std::string digits = path.substr(std::strlen(kScratch));
    pid_t process = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), process);
    if (error == std::errc() && end == digits.data() + digits.size() && process > 0 &&
        kill(process, 0) != 0 && errno == ESRCH)
      left.push_back(path);
  }
  for (const fs::path& path : left) fs::remove_all(path, ignored);
}

struct Scratch {
  Scratch() : path(kScratch + std::to_string(getpid())) { remove_left_behind(); }
  ~Scratch() { fs::remove_all(path); }
  fs::path path;
};

bool is_name(std::string_view name) {
  return !name.empty() && name.size() < 100 && name != "." && name != ".." &&
         std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '.' || c == '_'; });
}

void link_weights(const fs::path& from, const fs::path& to) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(from, ignored)) {
    const fs::path name = entry.path().filename();
    if (name.extension() == ".npz" || name.extension() == ".bin" || name == "params.best" ||
        (name.extension() == ".safetensors" && !name.string().starts_with("expect")))
      fs::create_symlink(entry.path(), to / name, ignored);
  }
}

void write(const fs::path& folder, std::string_view file) {
  const std::size_t end = file.find('\n');
  if (end == file.npos) return;
  const std::string_view path = file.substr(0, end), content = file.substr(end + 1);
  const std::size_t slash = path.find('/');
  const std::string_view name = path.substr(slash + 1);  // all of it when there is none
  if (!is_name(name) || (slash != path.npos && !is_name(path.substr(0, slash)))) return;
  if (path == "weights") {
    if (is_name(content)) link_weights(fs::path(HEED_TESTDATA) / "import" / content, folder);
    return;
  }
  std::error_code ignored;
  fs::create_directories((folder / path).parent_path(), ignored);
  fs::remove(folder / path, ignored);  // a link to sound weights, which would be written through
  std::ofstream(folder / path, std::ios::binary) << content;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const Scratch scratch;
  fs::remove_all(scratch.path);
  fs::create_directory(scratch.path);
  std::string_view input(reinterpret_cast<const char*>(bytes), size);
  for (bool more = true; more;) {
    const std::size_t end = input.find(kBetween);
    write(scratch.path, input.substr(0, end));
    more = end != input.npos;
    if (more) input.remove_prefix(end + 1);
  }
  try {
    heed::foreign::load(scratch.path.string());
  } catch (const heed::Error&) {
  }
  return 0;
}
