// Whether a launcher (mpirun, srun) started this process as one rank of several, and the exchange between them, which
// comes from a module that is loaded only then: heed needs no MPI to be built or to run.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "train/exchange.h"

namespace heed {

/// What a launcher says in the environment.
struct Launch {
  std::string variable;  ///< where
  std::optional<int> rank, size;
};
/// Nothing when this is the only process. `variable` is getenv, or a test's.
std::optional<Launch> find_launch(const std::function<const char*(const char*)>& variable);

/// Joins the other ranks that the launcher started, by heed-mpi.so beside this library or by the module that HEED_MPI_MODULE
/// names. Null when this is the only process. Throws Error when there is no module, or it finds another number of ranks.
/// A rank that hears nothing for `timeout` seconds, or ten times the longest update if that is more, ends all.
std::shared_ptr<Exchange> join_ranks(double timeout);

/// What a module defines, as `extern "C" const heed::ExchangeModule heed_exchange_module`.
struct ExchangeModule {
  const char* version;  ///< of heed
  Exchange* (*join)(double timeout);
};

}  // namespace heed
