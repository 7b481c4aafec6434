#include "models/model.h"

#include "base/error.h"
#include "models/config_json.h"
#include "models/transformer.h"

namespace heed {

template <class T>
std::unique_ptr<Model<T>> make_model(const std::string& config_json) {
  const std::string architecture = architecture_of(config_json);
  if (architecture == "transformer") {
    TransformerConfig config;
    from_json(config_json, fields_of(config));
    return std::make_unique<Transformer<T>>(config);
  }
  fail("model config: architecture ", escaped(architecture), " is unknown; known: transformer");
}

template std::unique_ptr<Model<float>> make_model(const std::string&);
template std::unique_ptr<Model<double>> make_model(const std::string&);

}  // namespace heed
