#include "models/foreign/families.h"

namespace heed::foreign {

const std::vector<Family>& families() {
  static const std::vector<Family> all{kBart,   kBert,         kDistilBert, kGpt2,    kGptNeoX, kLlama,
                                       kMarian, kMarianNative, kModernBert, kSockeye, kT5,      kVit};
  return all;
}

}  // namespace heed::foreign
