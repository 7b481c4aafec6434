#include "stages/ensemble.h"

#include <algorithm>
#include <utility>

#include "base/paths.h"
#include "base/sentence_error.h"
#include "stages/encode.h"

namespace heed {
namespace {

/// Runs work(), prefixing its errors with the model's path.
template <class Work>
void naming(const std::string& model, const Work& work) {
  const auto named = [&](const Error& e) { return concat(escaped(model), ": ", e.what()); };
  try {
    work();
  } catch (const SentenceError& e) {
    throw SentenceError(e.sentence, named(e));
  } catch (const UsageError& e) {
    throw UsageError(named(e));
  } catch (const Error& e) {
    throw Error(named(e));
  }
}

/// The packed weights of the model's steps, from its parameters `exact`.
const PackedWeights<float>& weights_of(const LoadedModel& loaded, const PackedWeights<float>& exact) {
  return loaded.model->packed ? *loaded.model->packed : exact;
}

/// Throws UsageError unless it translates text.
void expect_translates_text(const Model<float>& model, const std::string& path) {
  if (!model.encoder || !model.decoder || model.images || model.documents)
    fail<UsageError>(escaped(path), ": is of architecture ", model.architecture,
                     ": only models that translate text can form an ensemble");
}

}  // namespace

ModelEnsemble::ModelEnsemble(const LoadedModel& first)
    : first_(first), weights_(first.model->parameters.values()) {}

void ModelEnsemble::add(const std::string& path, const std::string& first_path, Precision precision) {
  const LoadedModel& other = others_.emplace_back(std::make_unique<Other>(load_model(path), path))->loaded;
  naming(path, [&] { other.model->set_precision(precision); });
  expect_translates_text(*first_.model, first_path);
  expect_translates_text(*other.model, path);
  const bool source = other.source.digest() == first_.source.digest();
  if (!source || other.target.digest() != first_.target.digest())
    fail(escaped(path), ": has another ", source ? "target" : "source", " vocabulary than ",
         escaped(first_path), ": the models of an ensemble must have the same vocabularies");
}

bool ModelEnsemble::rows_apart() const {
  const auto apart = [](const LoadedModel& loaded) {
    return loaded.model->needed_decoder().sizes().rows_apart;
  };
  return apart(first_) &&
         std::ranges::all_of(others_, [&](const auto& other) { return apart(other->loaded); });
}

std::int64_t ModelEnsemble::most_parameters() const {
  std::int64_t most = first_.model->parameters.count();
  for (const auto& other : others_) most = std::max(most, other->loaded.model->parameters.count());
  return most;
}

void ModelEnsemble::read(const TensorMap& frame, const Packing& rows, Values wanted, int threads) {
  for (const auto& other : others_) {
    if (!frame.contains("tokens/ids")) fail("/tokens: is missing, but the second and further models read it");
    TensorMap own;
    for (const auto& [name, tensor] : frame.tensors())
      if (name.starts_with("tokens/")) own.add(name, tensor);
    own.attributes = frame.attributes;
    own.groups = frame.groups;
    EncodeOptions encoding;
    encoding.wanted = wanted;
    const Model<float>& model = *other->loaded.model;
    naming(other->path, [&] {
      embed_frame(model, Side::source, own);
      encode_frame(model, encoding, threads, own);
      other->memory = memory_of(own, model, wanted);
    });
    if (!(other->memory.rows == rows))
      fail("/tokens: its lengths differ from those of /encoder: are they of the same text?");
  }
}

std::vector<Member> ModelEnsemble::members(const PackedStates& memory) const {
  std::vector<Member> members{{first_.model.get(), &weights_of(first_, weights_), &memory}};
  for (const auto& other : others_)
    members.push_back(
        {other->loaded.model.get(), &weights_of(other->loaded, other->weights), &other->memory});
  return members;
}

std::vector<Member> ModelEnsemble::members(std::span<const PackedStates> memories) const {
  std::vector<Member> members = this->members(memories.front());
  for (std::size_t i = 0; i < members.size(); ++i) members[i].input = &memories[i];
  return members;
}

}  // namespace heed
