#include "train/fine_tuning.h"

#include <algorithm>
#include <set>
#include <utility>

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

/// The name in `from` of what a parameter of `model` starts from. The pooler of a model that has a norm after it is what
/// comes before its words: in transformers the heads of ModernBERT share that layer.
std::string name_in(const Model<float>& from, const Model<float>& model, const std::string& name) {
  const bool same_layer = from.words && from.words->transform && model.pooler.norm &&
                          from.words->transform->activation == model.pooler.activation;
  if (same_layer)
    for (const auto& [scope, theirs] :
         {std::pair<std::string, std::string>("encoder/pooler/", "masked_word/inner/"),
          {"encoder/pooler_norm/", "masked_word/norm/"}})
      if (name.starts_with(scope)) return theirs + name.substr(scope.size());
  return name;
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
  std::set<std::string> taken;
  for (const Parameter& p : model->parameters.list()) {
    const std::string name = name_in(*source, *model, p.name);
    const bool is_new = !keeps_head && (p.name == "classes/weight" || p.name == "classes/bias");
    if (is_new || !from.contains(name) || from.find(name).shape != p.shape) {
      model->parameters.initialize(p, seed);
      note_scope(drawn, p.name);
      continue;
    }
    copy_rows(from.view(name), model->parameters.view(p.name));
    taken.insert(name);
  }
  for (const Parameter& p : from.list())
    if (!model->parameters.contains(p.name) && !taken.contains(p.name)) note_scope(left_out, p.name);
  if (classes.empty()) return "";
  if (keeps_head) return concat("the model's own head of ", classes.size(), " classes");
  return concat("new head of ", classes.size(),
                " classes (from --labels), pooling = ", word_of(model->classes->pooling),
                "; initialised at random: ", joined(drawn),
                left_out.empty() ? "" : concat("; not used: ", joined(left_out)));
}

}  // namespace heed
