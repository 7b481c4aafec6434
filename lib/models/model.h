// What every translation model can do, stage by stage: embed, encode, score a given target, decode step by
// step. The tools call the stages one by one, train calls them in a row. A model keeps no state between
// calls: all of a pass lies on the Pass's tape. Shapes: tokens are packed rows (tensor/packing.h), d =
// d_model.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "autograd/tape.h"
#include "base/special_ids.h"
#include "nn/parameters.h"
#include "nn/scope.h"
#include "tensor/kernels.h"
#include "tensor/packing.h"

namespace heed {

enum class Side { source, target };

/// What a decoder reads under teacher forcing: every sentence shifted right behind bos. Throws Error when one
/// is empty.
std::vector<std::int32_t> shifted_right(const PackedTokens& target);

/// Widths of the vectors that one head of an attention layer compares and sums up.
struct HeadWidths {
  std::int64_t key = 0, value = 0;
};

/// What encoder layers hand on: to the next layers, and behind the last one to the decoder.
template <class T>
struct Encoded {
  Var<T> states;                  ///< [rows, d_model]; before layer 0 the embeddings [rows, d_embedding]
  const Packing* rows = nullptr;  ///< must outlive the pass
  /// The last states of each recurrent layer so far [sentences, FinalWidths h + c]; empty in a Transformer.
  std::vector<Var<T>> final_states;
};

/// Widths of a recurrent layer's last hidden state h and, in an LSTM, memory cell c; of a bidirectional layer
/// both directions side by side. Zero: the encoder hands on none.
struct FinalWidths {
  std::int64_t h = 0, c = 0;
};

/// Decoding one token at a time from an encoded source. Copies what it needs of the memory.
template <class T>
class Stepper {
 public:
  virtual ~Stepper() = default;
  /// Hypothesis i continues hypothesis parents[i] of the previous call by tokens[i]; in the first call
  /// parents[i] is the sentence. Hypotheses of one sentence must be adjacent; those left out are dropped.
  /// Returns the logits [n, target vocabulary], valid until the next call.
  virtual Matrix<const T> step(std::span<const std::int32_t> tokens,
                               std::span<const std::int64_t> parents) = 0;
};

template <class T>
class Model {
 public:
  virtual ~Model() = default;
  virtual const std::string& architecture() const = 0;
  virtual std::string config_json() const = 0;
  virtual std::int64_t d_embedding() const = 0;  ///< width of the embeddings
  virtual std::int64_t d_model() const = 0;      ///< width of the encoder's states
  virtual std::int64_t n_encoder_layers() const = 0;
  virtual std::int64_t n_decoder_layers() const = 0;
  /// Decoder layers from here on have a cross_attention.
  virtual std::int64_t first_attending_layer() const { return 0; }
  virtual std::int64_t n_heads() const = 0;
  virtual HeadWidths head_widths() const = 0;
  virtual FinalWidths final_widths() const { return {}; }
  virtual bool self_attends() const = 0;  ///< its layers have a self_attention
  /// Its decoder attends to the source; else it reads the encoder's last states only.
  virtual bool attends() const { return true; }
  /// Hard attention: a step looks at one position, whose choice has no gradient.
  virtual bool picks_positions() const { return false; }
  virtual std::int64_t max_length(Side side) const = 0;  ///< longest sentence in tokens; 0: unlimited
  virtual std::int64_t vocabulary_size(Side side) const = 0;
  ParameterSet<T>& parameters() { return parameters_; }
  const ParameterSet<T>& parameters() const { return parameters_; }

  /// What the first layer reads: token embeddings, in the Transformer scaled and with positions [rows,
  /// d_embedding].
  virtual Var<T> embed(Pass<T>& pass, Side side, const PackedTokens& tokens) const = 0;
  /// Encoder layers first .. last-1 on what the layers before them handed on. The output of the last layer
  /// (with the final layer norm of pre-norm models) is the memory.
  virtual Encoded<T> encode(Pass<T>& pass, const Encoded<T>& input, std::int64_t first,
                            std::int64_t last) const = 0;
  /// Embeddings and all encoder layers. `tokens` must outlive the pass.
  Encoded<T> encode(Pass<T>& pass, const PackedTokens& tokens) const {
    return encode(pass, {embed(pass, Side::source, tokens), &tokens.rows, {}}, 0, n_encoder_layers());
  }
  /// Teacher forcing: the decoder's output states [target rows, ...] before the output projection. `target`
  /// holds the sentences with final eos; the decoder reads them shifted right behind bos.
  virtual Var<T> decode(Pass<T>& pass, const Encoded<T>& memory, const PackedTokens& target) const = 0;
  /// Label-smoothed cross-entropy of `target` given the decoder's states, times `scale`, put on the tape when
  /// it takes gradients.
  virtual CrossEntropySums loss(Pass<T>& pass, Var<T> states, const PackedTokens& target, double smoothing,
                                T scale) const = 0;
  /// Scores of every target word before the softmax [rows, V]. Without gradient.
  virtual Var<T> logits(Pass<T>& pass, Var<T> states) const = 0;
  /// Step-by-step decoding of the sentences of `memory`. `editor`, or none, must outlive the stepper; it
  /// meets the values that decode() names, those of one hypothesis at a time.
  virtual std::unique_ptr<Stepper<T>> stepper(const Encoded<T>& memory, const Editor<T>* editor) const = 0;
  std::unique_ptr<Stepper<T>> stepper(const Encoded<T>& memory) const { return stepper(memory, nullptr); }
  /// Likewise for sampling: what the model itself draws (hard attention) is drawn, for the first hypothesis
  /// of sentence i by sampled[i], for those behind it by the streams that follow.
  virtual std::unique_ptr<Stepper<T>> sampler(const Encoded<T>& memory, const Editor<T>* editor,
                                              const std::vector<SampleStream>&) const {
    return stepper(memory, editor);
  }

 protected:
  ParameterSet<T> parameters_;
};

/// A model of the architecture and sizes that `config_json` states, parameters at zero. Throws Error on an
/// unknown architecture or field.
template <class T>
std::unique_ptr<Model<T>> make_model(const std::string& config_json);

/// The config of an architecture with every field at its default. Throws Error on an unknown architecture.
std::string default_config_json(const std::string& architecture);

}  // namespace heed
