#include "train/launch.h"

#include <dlfcn.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/error.h"
#include "base/version.h"

namespace heed {

namespace {

constexpr const char* kModule = "HEED_MPI_MODULE";

std::optional<int> whole_number(const char* text) {
  if (!text) return std::nullopt;
  int value = 0;
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::string module_path() {
  const char* named = std::getenv(kModule);
  if (named && *named) return named;
  Dl_info here{};
  dladdr(reinterpret_cast<const void*>(&join_ranks), &here);
  return std::filesystem::path(here.dli_fname ? here.dli_fname : "").parent_path() / "heed-mpi.so";
}

std::string described(const Launch& launch) {
  std::string text = "started as ";
  text += launch.rank ? concat("rank ", *launch.rank) : std::string("a rank");
  if (launch.size) text += concat(" of ", *launch.size);
  return text + " (" + launch.variable + ")";
}

}  // namespace

std::optional<Launch> find_launch(const std::function<const char*(const char*)>& variable) {
  constexpr const char* kLaunchers[][2] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
                                           {"PMI_SIZE", "PMI_RANK"},
                                           {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"}};
  for (const auto& [size_name, rank_name] : kLaunchers) {
    const std::optional<int> size = whole_number(variable(size_name));
    if (!size) continue;
    if (*size <= 1) return std::nullopt;
    return Launch{size_name, whole_number(variable(rank_name)), size};
  }
  if (const char* rank = variable("PMIX_RANK")) return Launch{"PMIX_RANK", whole_number(rank), std::nullopt};
  return std::nullopt;
}

std::shared_ptr<Exchange> join_ranks(double timeout) {
  const std::optional<Launch> launch = find_launch([](const char* name) { return std::getenv(name); });
  if (!launch) return nullptr;
  const std::string path = module_path();
  const auto refuse = [&](const std::string& problem) {
    fail(described(*launch), ", but ", problem,
         ": install heed with MPI, or name its module in HEED_MPI_MODULE; --exchange none trains alone");
  };
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* reason = dlerror();
    refuse(std::filesystem::exists(path)
               ? concat(escaped(path), " cannot be loaded (", reason ? reason : "no reason given", ")")
               : concat(escaped(path), " is not there"));
  }
  const auto* module = static_cast<const ExchangeModule*>(dlsym(library, "heed_exchange_module"));
  if (!module) refuse(escaped(path) + " is not a heed module");
  if (std::string_view(module->version) != version())
    refuse(concat(escaped(path), " is of heed ", escaped(module->version), ", not ", version()));
  std::shared_ptr<Exchange> exchange(module->join(timeout));
  if (launch->size && *launch->size != exchange->size())
    fail(described(*launch), ", but MPI knows of ", count_of(exchange->size(), "rank"),
         ": the launcher and this MPI are incompatible; with srun give --mpi=pmix (srun --mpi=list shows "
         "what there is); --exchange none trains alone");
  return exchange;
}

}  // namespace heed
