// A tool that does what its options say, so that tests can observe run_tool from outside without a model:
// how each kind of failure ends, what a signal leaves behind, what reaches stdout.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <new>
#include <thread>

#include "base/cleanup.h"
#include "base/error.h"
#include "cli/tool.h"

using namespace heed;

namespace {

struct SizeConfig {
  std::int64_t d_model = 512;
  double dropout = 0.1;
  std::string norm = "post";
  bool tied = true;
  template <class Self, class Visit>
  static void fields(Self& self, Visit&& field) {
    field("d_model", self.d_model, "width of the model");
    field("dropout", self.dropout, "share of values dropped");
    field("norm", self.norm, "layer normalisation after or before each sublayer", {"post", "pre"});
    field("tied", self.tied, "share the embeddings");
  }
};

/// As a library of C does that would go on without.
void fail_to_allocate() {
#if defined(__SANITIZE_ADDRESS__)  // whose allocator ends the process in words of its own
  throw std::bad_alloc();
#else
  void* volatile made = std::malloc(PTRDIFF_MAX);  // volatile: else the compiler leaves it out
  std::free(made);
#endif
}

[[noreturn]] void fail_like(const std::string& kind) {
  if (kind == "usage") fail<UsageError>("that cannot be");
  if (kind == "diverged") fail<DivergedError>("step 7: loss is nan");
  if (kind == "memory") throw std::bad_alloc();
  if (kind == "allocation") fail_to_allocate();
  if (kind == "other") throw 42;
  fail("in.h5:/tokens/\x1b[31mids: first line\nsecond line");
}

void print(const SizeConfig& config) {
  std::cout << config.d_model << ' ' << config.dropout << ' ' << config.norm << ' ' << config.tied << '\n';
}

void wait(double seconds, const std::atomic<bool>* stop) {
  using namespace std::chrono;
  auto end = steady_clock::now() + duration<double>(seconds);
  while (steady_clock::now() < end && !(stop && *stop)) std::this_thread::sleep_for(milliseconds(5));
}

}  // namespace

int main(int argc, char** argv) {
  std::string input, output, model, failure, temporary;
  std::vector<std::string> lists, repeated;
  double seconds = 0;
  std::int64_t count = 3, lines = 0;
  bool stoppable = false, stubborn = false, command = false, preset = false;
  SizeConfig config;
  return cli::run_tool("probe", "Do what the options say.", argc, argv, [&](cli::Tool& tool) {
    tool.input(input, "printed");
    tool.output(output);
    tool.model(model, cli::Need::optional);
    tool.bind(config);
    tool.option("-n,--count K", count, "printed", cli::between(1, 9));
    tool.option("--fail", failure, "end with this error",
                cli::one_of({"data", "usage", "diverged", "memory", "allocation", "other"}));
    tool.option("--sleep S", seconds, "seconds to wait", cli::at_least(0));
    tool.option("--temporary FILE", temporary, "write and register this file");
    tool.option("--stoppable", stoppable, "stop gently at the first signal");
    tool.option("--stubborn", stubborn, "with --stoppable: ignore the flag");
    tool.option("--command", command, "print the command line");
    tool.option("--preset", preset, "start from other sizes");
    tool.option("--lines N", lines, "lines to print");
    tool.option("--repeat WORD", repeated, "may come again");
    tool.list("--list WORD", lists, "takes several words");
    tool.example("probe --count 5");
    tool.example("probe --fail data; echo $?");
    tool.on_run([&] {
      const std::atomic<bool>* stop = stoppable ? &tool.stop_flag() : nullptr;
      if (!temporary.empty()) {
        std::ofstream(temporary) << "half";
        register_temporary(temporary);
      }
      if (seconds > 0) std::cout << "ready" << std::endl;
      wait(seconds, stubborn ? nullptr : stop);
      if (!failure.empty()) fail_like(failure);
      if (preset) {
        SizeConfig sizes{.d_model = 64, .dropout = 0.3, .norm = "pre", .tied = false};
        overlay(fields_of(config), fields_of(sizes), [&](auto& name) { return tool.given(name); });
        print(sizes);
      }
      for (std::int64_t i = 0; i < lines; ++i) std::cout << "line " << i << '\n';
      if (command) std::cout << tool.result_command({"command"}) << '\n';
      if (command || preset || lines > 0) return;
      std::cout << input << ' ' << count << ' ' << tool.common().seed << ' ' << (model.empty() ? "-" : model);
      for (const auto& word : lists) std::cout << " list:" << word;
      for (const auto& word : repeated) std::cout << " repeat:" << word;
      std::cout << '\n';
      print(config);
      if (stop && *stop) std::cout << "stopped\n";
    });
  });
}
