#include "base/fields.h"

#include <type_traits>

namespace heed {

void check_ranges(const std::vector<Field>& fields) {
  for (const Field& field : fields) {
    std::visit(
        [&]<class T>(const T* value) {
          if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, double>) {
            if (!field.range.holds(static_cast<double>(*value)))
              fail<UsageError>(field.name, " is ", *value, ", wanted ", to_string(field.range));
          }
        },
        field.value);
  }
}

}  // namespace heed
