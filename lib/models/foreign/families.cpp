#include "models/foreign/families.h"

namespace heed::foreign {

const std::vector<Family>& families() {
  static const std::vector<Family> all{kGpt2, kLlama, kMarian, kMarianNpz, kT5};
  return all;
}

}  // namespace heed::foreign
