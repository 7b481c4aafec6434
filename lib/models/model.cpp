#include "models/model.h"

#include <algorithm>

#include "base/error.h"
#include "models/architectures.h"
#include "models/config_json.h"

namespace heed {

std::vector<std::int32_t> shifted_right(const PackedTokens& target) {
  std::vector<std::int32_t> shifted(target.ids.size());
  for (std::int64_t s = 0; s < target.rows.sentences(); ++s) {
    const auto begin = static_cast<std::size_t>(target.rows.offset(s));
    const auto length = static_cast<std::size_t>(target.rows.length(s));
    if (length == 0) fail("an empty target sentence cannot be decoded: at least <eos> is needed");
    shifted[begin] = kBos;
    std::copy_n(&target.ids[begin], length - 1, &shifted[begin + 1]);
  }
  return shifted;
}

template <class T>
std::unique_ptr<Model<T>> make_model(const std::string& config_json) {
  std::unique_ptr<Model<T>> model;
  with_architecture(architecture_of(config_json), [&](const auto& architecture) {
    using Architecture = std::decay_t<decltype(architecture)>;
    typename Architecture::Config config;
    from_json(config_json, fields_of(config));
    model = std::make_unique<typename Architecture::template Model<T>>(config);
  });
  return model;
}

std::string default_config_json(const std::string& architecture) {
  std::string json;
  with_architecture(architecture, [&](const auto& known) {
    typename std::decay_t<decltype(known)>::Config config;
    json = to_json(architecture, fields_of(config));
  });
  return json;
}

template std::unique_ptr<Model<float>> make_model(const std::string&);
template std::unique_ptr<Model<double>> make_model(const std::string&);

}  // namespace heed
