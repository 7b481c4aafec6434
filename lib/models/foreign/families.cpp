#include "models/foreign/families.h"

namespace heed::foreign {

const std::vector<Family>& families() {
  static const std::vector<Family> all{kBert,      kDistilBert, kGpt2, kLlama, kMarian,
                                       kMarianNpz, kSockeye,    kT5,   kVit};
  return all;
}

}  // namespace heed::foreign
