#include "models/foreign/families.h"

namespace heed::foreign {

const std::vector<Family>& families() {
  static const std::vector<Family> all{kGpt2, kLlama};
  return all;
}

}  // namespace heed::foreign
