#include "models/foreign/families.h"

namespace heed::foreign {

const std::vector<Family>& families() {
  static const std::vector<Family> all{kBert, kGpt2, kLlama, kVit};
  return all;
}

}  // namespace heed::foreign
