// What a layer needs to compute itself: the tape, the parameters under its own path, dropout, and the naming
// of values. Scopes read like HDF5 paths: scope / "encoder" / "layer_0" / "self_attention".
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "autograd/tape.h"
#include "nn/parameters.h"
#include "tensor/packing.h"
#include "tensor/philox.h"

namespace heed {

/// Receives named values of a forward pass. Matrices of packed rows, or blocks of attention weights.
template <class T>
class Recorder {
 public:
  virtual ~Recorder() = default;
  /// False: the value is not wanted and record() will not be called for it.
  virtual bool wants(const std::string& name) const = 0;
  virtual void record(const std::string& name, Matrix<const T> value, const Packing& rows) = 0;
  /// Attention weights or scores of all sentences and heads: for each sentence its [n_heads, n_queries,
  /// n_keys] block, one after the other, dense.
  virtual void record_attention(const std::string& name, std::span<const T> blocks, std::int64_t n_heads,
                                const Packing& queries, const Packing& keys) = 0;
};

/// One pass of one shard: shared by all scopes of the pass.
template <class T>
struct Pass {
  Tape<T>* tape = nullptr;
  const ParameterSet<T>* parameters = nullptr;
  T* gradients = nullptr;  ///< flat buffer of the parameters' layout; null: no gradients
  bool training = false;   ///< dropout on
  std::uint64_t seed = 0;
  std::uint64_t step = 0;  ///< update number; with shard it tells apart the random numbers of the run
  std::uint64_t shard = 0;
  std::uint64_t draws = 0;  ///< streams of random numbers used so far in this pass
  double baseline = 0;      ///< running mean of log p(target token) in the updates before
  /// What decode() in training wants in the loss besides the cross-entropy: gets -log p of each target row
  /// and the loss' scale, puts scale times its derivatives on the tape and returns its value, unscaled.
  std::function<double(std::span<const double> nll, double scale)> extra_loss;
  Recorder<T>* recorder = nullptr;
};

template <class T>
class Scope {
 public:
  explicit Scope(Pass<T>& pass, std::string path = "") : pass_(&pass), path_(std::move(path)) {}

  Scope operator/(const std::string& name) const { return Scope(*pass_, join(name)); }
  const std::string& path() const { return path_; }
  Tape<T>& tape() const { return *pass_->tape; }
  Pass<T>& pass() const { return *pass_; }

  bool has(const std::string& name) const { return pass_->parameters->contains(join(name)); }
  /// The parameter <path>/<name> as a leaf of the tape.
  Var<T> parameter(const std::string& name) const { return leaf(pass_->parameters->find(join(name))); }
  /// Adjacent stacked parts' parameters as one leaf (ParameterSet::stacked).
  Var<T> stacked(const std::vector<std::string>& parts, const std::string& field) const {
    return leaf(pass_->parameters->stacked(path_, parts, field));
  }
  /// The next dropout of this pass; inactive outside training.
  Dropout dropout(double p) const {
    return make_dropout(pass_->training ? p : 0.0, pass_->seed, next_stream());
  }
  /// Random numbers of this pass, others at each call.
  Random random() const { return Random(pass_->seed, next_stream()); }
  /// Names a value; naming is part of computing, so a trace cannot drift from the code.
  Var<T> name(const std::string& name, Var<T> v, const Packing& rows) const {
    if (wants(name)) pass_->recorder->record(join(name), v.value(), rows);
    return v;
  }
  /// Likewise for blocks of attention scores or weights.
  void name_attention(const std::string& name, std::span<const T> blocks, std::int64_t n_heads,
                      const Packing& queries, const Packing& keys) const {
    if (wants(name)) pass_->recorder->record_attention(join(name), blocks, n_heads, queries, keys);
  }
  bool wants(const std::string& name) const { return pass_->recorder && pass_->recorder->wants(join(name)); }

 private:
  std::uint64_t next_stream() const { return (pass_->step << 32) | (pass_->shard << 20) | ++pass_->draws; }
  std::string join(const std::string& name) const { return path_.empty() ? name : path_ + "/" + name; }
  Var<T> leaf(const Parameter& p) const {
    Matrix<T> gradient;
    if (pass_->gradients) gradient = p.in(pass_->gradients);
    return pass_->tape->leaf(p.in(pass_->parameters->values().data()), gradient);
  }

  Pass<T>* pass_;
  std::string path_;
};

/// <stack>/layer_<l>
template <class T>
Scope<T> layer_scope(const Scope<T>& stack, std::int64_t layer) {
  return stack / ("layer_" + std::to_string(layer));
}

}  // namespace heed
