// Whether a launcher (mpirun, srun) started this process as one of several ranks, and the exchange between
// them, from a module that is loaded only then: heed can be built and run without MPI.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "train/exchange.h"

namespace heed {

/// A launcher's environment.
struct Launch {
  std::string variable;  ///< the variable that states it
  std::optional<int> rank, size;
};
/// Nothing if this is the only process. `variable` is getenv, or a test's replacement.
std::optional<Launch> find_launch(const std::function<const char*(const char*)>& variable);

/// Joins the other ranks started by the launcher, through heed-mpi.so beside this library or the module named
/// by HEED_MPI_MODULE. Null if this is the only process. Throws Error if there is no module, or it finds
/// another number of ranks. A rank that receives nothing for `timeout` seconds, or ten times the longest
/// update if that is more, ends all.
std::shared_ptr<Exchange> join_ranks(double timeout);

/// The symbol defined by a module, as `extern "C" const heed::ExchangeModule heed_exchange_module`.
struct ExchangeModule {
  const char* version;  ///< of heed
  Exchange* (*join)(double timeout);
};

}  // namespace heed
