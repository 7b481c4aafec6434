#include "text/metric.h"

#include "base/error.h"
#include "base/version.h"

namespace heed::text {

std::string signature(const Metric& metric, std::size_t references,
                      const std::optional<Resampling>& resampling) {
  const std::string samples =
      resampling ? concat("|bs:", resampling->samples, "|seed:", resampling->seed) : "";
  return concat("nrefs:", references, samples, "|", metric.settings(), "|version:heed-", version());
}

}  // namespace heed::text
