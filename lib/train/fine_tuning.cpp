#include "train/fine_tuning.h"

#include <algorithm>

#include "base/error.h"

namespace heed {
namespace {

bool are_the_same(std::vector<std::string> one, std::vector<std::string> other) {
  std::ranges::sort(one);
  std::ranges::sort(other);
  return one == other;
}

/// "classes/weight", "classes/attention/query/weight"  ->  "classes", once.
void note_scope(std::vector<std::string>& scopes, const std::string& parameter) {
  const std::string scope = parameter.substr(0, parameter.rfind('/'));
  const auto holds = [&](const std::string& other) { return (scope + "/").starts_with(other + "/"); };
  if (std::ranges::none_of(scopes, holds)) scopes.push_back(scope);
}

bool has(const ParameterSet<float>& parameters, const Parameter& p) {
  return parameters.contains(p.name) && parameters.find(p.name).shape == p.shape;
}

std::string word_of(Pooling pooling) {
  return kPoolings.words[static_cast<std::size_t>(pooling)];
}

}  // namespace

std::string start_from(LoadedModel& initial, std::unique_ptr<Model<float>>& model,
                       std::vector<std::string>& classes, std::uint64_t seed) {
  const bool keeps_head = classes.empty() || (are_the_same(classes, initial.classes) &&
                                              model->classes->tells_like(*initial.model->classes));
  if (keeps_head) classes = initial.classes;
  const std::unique_ptr<Model<float>> source = std::move(initial.model);
  const ParameterSet<float>& from = source->parameters;
  std::vector<std::string> drawn, left_out;
  for (const Parameter& p : model->parameters.list()) {
    const bool is_new = !keeps_head && (p.name == "classes/weight" || p.name == "classes/bias");
    if (is_new || !has(from, p)) {
      model->parameters.initialize(p, seed);
      note_scope(drawn, p.name);
      continue;
    }
    copy_rows(from.view(p.name), model->parameters.view(p.name));
  }
  for (const Parameter& p : from.list())
    if (!model->parameters.contains(p.name)) note_scope(left_out, p.name);
  if (classes.empty()) return "";
  if (keeps_head) return concat("the model's own head of ", classes.size(), " classes");
  return concat("new head of ", classes.size(),
                " classes (from --labels), pooling = ", word_of(model->classes->pooling),
                "; initialised at random: ", joined(drawn),
                left_out.empty() ? "" : concat("; not used: ", joined(left_out)));
}

}  // namespace heed
