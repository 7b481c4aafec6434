// The parts of a model: an encoder, which turns token embeddings into states, and a decoder, which reads
// tokens onto a state. A pair has both, a language model the decoder alone, a classifier the encoder alone;
// heads (models/heads.h) say what the states mean. A part keeps nothing between calls: all values of a pass
// lie on the Pass's tape, and what a decoder continues from is its DecoderState. Tokens are packed rows
// (tensor/packing.h).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/error.h"
#include "models/decoder_state.h"
#include "nn/scope.h"

namespace heed {

/// What encoder layers pass on: to the next layers, and after the last one to the decoder.
template <class T>
struct Encoded {
  Var<T> states;                  ///< [rows, d_model]; before layer 0 the embeddings [rows, d_embedding]
  const Packing* rows = nullptr;  ///< must outlive the pass
  /// The final states of each recurrent layer so far [sentences, FinalWidths h + c]; empty in a Transformer.
  std::vector<Var<T>> final_states;
  /// For documents (models/documents.h): the rows of each segment; must outlive the pass.
  const Segments* segments = nullptr;
};

/// Widths of a recurrent layer's final hidden state h and, in an LSTM, memory cell c; for a bidirectional
/// layer both directions side by side. Zero: the encoder has none.
struct FinalWidths {
  std::int64_t h = 0, c = 0;
};

/// Widths of the vectors that one head of an attention compares and sums.
struct HeadWidths {
  std::int64_t key = 0, value = 0;
};

/// The sizes common to encoders and decoders.
struct PartSizes {
  std::int64_t vocab_size = 0, n_layers = 0;
  std::int64_t d_embedding = 0;  ///< width of the embeddings
  std::int64_t d_model = 0;      ///< width of the states
  std::int64_t max_length = 0;   ///< longest sentence in tokens; 0: unlimited
  std::int64_t n_heads = 0;      ///< of its attentions; 0: it has no attention
  HeadWidths heads;
  bool self_attends = false;    ///< every layer has a self_attention
  std::int64_t n_kv_heads = 0;  ///< heads of keys and values, each for a group of the others; 0: n_heads
  bool any_precision = false;   ///< products with its weights may be in any precision, not just float32
};

struct EncoderSizes : PartSizes {
  FinalWidths final_states;
};

struct DecoderSizes : PartSizes {
  bool reads_memory = false;  ///< needs an encoder's output to start
  /// Layers from this one on have a cross_attention; n_layers: none has.
  std::int64_t first_attending_layer = 0;
  /// Hard attention: a step reads one position, whose choice has no gradient.
  bool picks_positions = false;
  /// With packed weights, reading onto a hypothesis gives the same bits whatever the other hypotheses, so a
  /// search may group sentences freely.
  bool rows_apart = false;

  bool cross_attends() const { return reads_memory && first_attending_layer < n_layers; }
};

template <class T>
class Encoder {
 public:
  explicit Encoder(const EncoderSizes& sizes) : sizes_(sizes) {}
  virtual ~Encoder() = default;
  const EncoderSizes& sizes() const { return sizes_; }

  /// The input of the first layer: token embeddings, in the Transformer scaled and with positions [rows,
  /// d_embedding].
  virtual Var<T> embed(Pass<T>& pass, const PackedTokens& tokens) const = 0;
  /// Layers first .. last-1 applied to the output of the layers before. The output of the last layer (with
  /// the final layer norm of pre-norm models) is the memory.
  virtual Encoded<T> encode(Pass<T>& pass, const Encoded<T>& input, std::int64_t first,
                            std::int64_t last) const = 0;

 protected:
  void expect_layers(std::int64_t first, std::int64_t last) const {
    if (first < 0 || first > last || last > sizes_.n_layers)
      fail<UsageError>("layers ", first, ":", last, " are not within the encoder's ", sizes_.n_layers);
  }

 private:
  EncoderSizes sizes_;
};

/// The result of a read.
template <class T>
struct Decoded {
  Var<T> states;  ///< of every token read, before the output projection
  /// In training: the decoder's loss in addition to the cross-entropy. Receives -log p of each target row,
  /// the running mean of log p(target token) over earlier updates, and the loss's scale; adds scale times its
  /// derivatives to the tape and returns its value, unscaled. Empty: none.
  std::function<double(std::span<const double> nll, double baseline, double scale)> extra_loss;
};

template <class T>
class Decoder {
 public:
  explicit Decoder(const DecoderSizes& sizes) : sizes_(sizes) {}
  virtual ~Decoder() = default;
  const DecoderSizes& sizes() const { return sizes_; }

  /// The input of the first layer [rows, d_embedding]: sequence i of `tokens` continues hypothesis i of a
  /// state.
  virtual Var<T> embed(Pass<T>& pass, const PackedTokens& tokens, const Continuation& at) const = 0;
  /// The state of an empty hypothesis for each of `sentences` sentences. `memory`: the encoder's output; null
  /// for a decoder that reads none.
  virtual DecoderState<T> start(Pass<T>& pass, std::int64_t sentences, const Encoded<T>* memory) const = 0;
  /// Reads embeddings (from embed) of any number of tokens for each hypothesis onto the state. `rows` must
  /// outlive the pass, and so must the state if gradients are taken.
  virtual Decoded<T> read(Pass<T>& pass, DecoderState<T>& state, Var<T> embedded,
                          const Packing& rows) const = 0;
  /// Maps the last layer's output to the states read by the words head: the final norm, if there is one.
  virtual Var<T> finish(Pass<T>&, Var<T> output, const Packing&) const { return output; }

 private:
  DecoderSizes sizes_;
};

/// For its lifetime, values named in the pass belong to rows that continue from `at`.
template <class T>
class Reading {
 public:
  Reading(Pass<T>& pass, const Continuation& at) : pass_(pass), at_(at) { pass.continuation = &at_; }
  /// Reads these rows onto the state; the read ends with this object.
  Reading(Pass<T>& pass, DecoderState<T>& state, const Packing& rows) : Reading(pass, state.continuation()) {
    state_ = &state;
    rows_ = &rows;
  }
  ~Reading() {
    pass_.continuation = nullptr;
    if (state_) state_->advance(*rows_);
  }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

 private:
  Pass<T>& pass_;
  Continuation at_;
  DecoderState<T>* state_ = nullptr;
  const Packing* rows_ = nullptr;
};

}  // namespace heed
