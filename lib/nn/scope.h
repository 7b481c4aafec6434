// What a layer needs: the tape, the parameters under its own path, dropout, and named values. Scopes read
// like HDF5 paths: scope / "encoder" / "layer_0" / "self_attention".
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/ops.h"
#include "nn/named_values.h"
#include "nn/parameters.h"
#include "tensor/packing.h"

namespace heed {

/// One pass of one shard, shared by all scopes of the pass.
template <class T>
struct Pass {
  Pass() = default;
  /// Without gradients and dropout.
  Pass(Tape<T>& on, const ParameterSet<T>& of) : tape(&on), parameters(&of) {}

  Tape<T>* tape = nullptr;
  const ParameterSet<T>* parameters = nullptr;
  T* gradients = nullptr;  ///< flat buffer of the parameters' layout; null: no gradients
  bool training = false;   ///< dropout on
  std::uint64_t seed = 0;
  std::uint64_t step = 0;  ///< update number; with shard it selects the random numbers
  std::uint64_t shard = 0;
  std::uint64_t draws = 0;  ///< number of random streams used so far in this pass
  Recorder<T>* recorder = nullptr;
  const Editor<T>* editor = nullptr;
  const StepRows* at_step = nullptr;           ///< while a step is computed (AtStep): its rows
  const Continuation* continuation = nullptr;  ///< while a decoder reads: what its sequences continue
};

/// For its lifetime, values named in the pass are the rows of one step.
template <class T>
class AtStep {
 public:
  AtStep(Pass<T>& pass, const StepRows& rows) : pass_(pass), before_(pass.at_step), rows_(rows) {
    pass.at_step = &rows_;
  }
  ~AtStep() { pass_.at_step = before_; }
  AtStep(const AtStep&) = delete;
  AtStep& operator=(const AtStep&) = delete;

 private:
  Pass<T>& pass_;
  const StepRows* before_;
  StepRows rows_;
};

template <class T>
class Scope {
 public:
  explicit Scope(Pass<T>& pass, std::string path = "")
      : pass_(&pass), place_(pass.parameters ? pass.parameters->below(0, path) : kNowhere) {
    if (place_ == kNowhere) path_ = std::move(path);
  }

  Scope operator/(std::string_view name) const {
    const std::int32_t place = below(name);
    return place == kNowhere ? Scope(pass_, place, join(name)) : Scope(pass_, place, {});
  }
  const std::string& path() const { return place_ == kNowhere ? path_ : pass_->parameters->path_of(place_); }
  Tape<T>& tape() const { return *pass_->tape; }
  Pass<T>& pass() const { return *pass_; }

  bool has(std::string_view name) const { return pass_->parameters->parameter_at(below(name)) != nullptr; }
  /// The parameter <path>/<name> as a leaf of the tape.
  Var<T> parameter(std::string_view name) const {
    const Parameter* found = pass_->parameters->parameter_at(below(name));
    return leaf(found ? *found : pass_->parameters->find(join(name)));  // throws
  }
  /// Adjacent stacked parts' parameters as one leaf (ParameterSet::stacked).
  Var<T> stacked(const std::vector<std::string>& parts, std::string_view field) const {
    return leaf(pass_->parameters->stacked(place_, parts, field));
  }
  /// The next dropout of this pass; inactive outside training.
  Dropout dropout(double p) const {
    return make_dropout(pass_->training ? p : 0.0, pass_->seed, next_stream());
  }
  /// Random numbers of this pass, different at each call.
  Random random() const { return Random(pass_->seed, next_stream()); }
  /// Names a value, so that it can be recorded and edited. Returns the value to compute with, after edits.
  /// `rows` are all rows with that name, unless a step is active; `n_heads` lie side by side.
  Var<T> name(std::string_view name, Var<T> v, const Packing& rows, std::int64_t n_heads = 1) const {
    return inspected(name) ? inspect(join(name), v, {&rows, n_heads}) : v;
  }
  /// Names the rows of a step; only the step knows their number.
  Var<T> name(std::string_view name, Var<T> v) const {
    return inspected(name) ? inspect(join(name), v, {nullptr, 1}) : v;
  }
  /// Names one row per sentence.
  Var<T> name_sentences(std::string_view name, Var<T> v) const {
    return inspected(name) ? inspect_sentences(join(name), v) : v;
  }
  /// Names rows that the operation computing them passes on to be edited in place.
  void name_in_place(std::string_view name, Matrix<T> value, const StepRows& rows) const {
    if (inspected(name)) inspect_in_place(join(name), value, rows);
  }
  /// Names attention scores or weights of a step, one head: [n, longest sentence of keys].
  Var<T> name_attention(std::string_view name, Var<T> v, const Packing& keys) const {
    return inspected(name) ? inspect_attention(join(name), v, keys) : v;
  }
  /// Scores or weights of all sentences and heads: each sentence's [n_heads, n_queries, n_keys] block, one
  /// after the other, dense. They have already been edited inside the operation, by attention_edit().
  void name_attention(std::string_view name, std::span<const T> blocks, const AttentionKind& kind) const;
  /// The edits of position_bias, scores and weights of this scope, applied inside the operation that computes
  /// them; none if they are not edited. `rows`: the queries; the operation may group them into other
  /// sentences, in the same order.
  std::optional<AttentionEdit<T>> attention_edit(const Packing& rows) const;
  bool wants(std::string_view name) const { return pass_->recorder && pass_->recorder->wants(join(name)); }
  bool edits(std::string_view name) const { return pass_->editor && pass_->editor->edits(join(name)); }
  bool inspected(std::string_view name) const { return wants(name) || edits(name); }

 private:
  std::uint64_t next_stream() const { return (pass_->step << 32) | (pass_->shard << 20) | ++pass_->draws; }
  static constexpr std::int32_t kNowhere = ParameterSet<T>::kNowhere;

  Scope(Pass<T>* pass, std::int32_t place, std::string path)
      : pass_(pass), place_(place), path_(std::move(path)) {}
  std::int32_t below(std::string_view name) const {
    return place_ == kNowhere ? kNowhere : pass_->parameters->below(place_, name);
  }
  std::string join(std::string_view name) const {
    std::string joined = path();
    if (!joined.empty()) joined += '/';
    return joined += name;
  }
  Var<T> leaf(const Parameter& p) const {
    Matrix<T> gradient;
    if (pass_->gradients) gradient = p.in(pass_->gradients);
    return pass_->tape->leaf(p.in(pass_->parameters->values().data()), gradient);
  }

  /// The places, in whole sentences, of rows of this pass.
  std::vector<Place> in_sentences(std::vector<Place> places) const;
  void inspect_in_place(const std::string& path, Matrix<T> value, const StepRows& rows) const;
  Var<T> inspect(const std::string& path, Var<T> v, RowKind kind) const;
  Var<T> inspect_sentences(const std::string& path, Var<T> v) const;
  Var<T> inspect(const std::string& path, Var<T> v, std::span<const Place> places, const RowKind& kind) const;
  Var<T> inspect_attention(const std::string& path, Var<T> v, const Packing& keys) const;

  Pass<T>* pass_;
  std::int32_t place_;  ///< among the parameters; kNowhere: no name begins with the path
  std::string path_;    ///< without such a place
};

extern template class Scope<float>;
extern template class Scope<double>;

/// <stack>/layer_<l>
template <class T>
Scope<T> layer_scope(const Scope<T>& stack, std::int64_t layer) {
  return stack / ("layer_" + std::to_string(layer));
}

}  // namespace heed
