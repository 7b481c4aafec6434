// Traces: every named value of a pass in a file. A value NAME is the group /NAME of the file:
//   values       f32 (sentence, position, dim); with several heads (sentence, head, position, dim); attention
//                (sentence, head, query, key); logits and probabilities (sentence, position, word)
//   length       i32 (sentence); for attention query_length and key_length
//   token        str (sentence, position), if the tokens are known; for attention query_token and key_token.
//                Positions that are the sentences of a document have none. Decoder position i is the
//                step that produces token i; the keys of its self-attention are the tokens read.
//   word_token   str (word), for logits and probabilities
// With `top`, only the most likely words of logits and probabilities are kept: values (sentence, position,
// choice), best first, with id i32 and piece str.
#pragma once

#include <string>
#include <vector>

#include "inspect/value_names.h"
#include "io/frame_stream.h"
#include "nn/recording.h"
#include "text/token_map.h"

namespace heed {

/// The trace of one frame, filled shard by shard.
class TraceFrame {
 public:
  struct Sides {
    Packing source, target;  ///< of all sentences of the frame; target empty: there is no decoder
    Pieces source_tokens, target_tokens;  ///< may be empty
    const text::Tokenizer* target_tokenizer = nullptr;
    bool reads_as_given = false;  ///< Model::reads_as_given
    Packing segments{};           ///< the sentences of documents; empty: none
  };

  TraceFrame(const std::vector<NamedValue>& wanted, Sides sides, std::int64_t top);
  bool wants(const std::string& name) const;
  /// Adds a recording whose sentence i is sentence sentences[i]. Thread-safe. Throws Error if a value is
  /// larger than the sides allow.
  void add(const Recording<float>& recording, const std::vector<std::int64_t>& sentences);
  TensorMap take();

 private:
  struct Value {
    const NamedValue* named;
    Tensor values, id;
  };
  void make_room(Value& value);
  void label(TensorMap& map, const Value& value) const;
  Tensor words(std::int64_t count) const;

  Sides sides_;
  std::int64_t top_;
  std::vector<Value> values_;
};

/// A trace file being written.
class TraceWriter {
 public:
  /// `filters`: as in matching(); empty: all values.
  TraceWriter(const std::string& path, const io::WriteOptions& write, const std::vector<NamedValue>& values,
              const std::vector<std::string>& filters, std::int64_t top);

  TraceFrame begin(TraceFrame::Sides sides) const { return {values_, std::move(sides), top_}; }
  /// `attributes`: those of the traced frame.
  void write(TraceFrame& frame, const Attributes& attributes);
  void finish() { writer_.finish(); }

 private:
  std::vector<NamedValue> values_;  ///< attention weights last: viewers open the last group first
  std::int64_t top_;
  io::FrameWriter writer_;
};

}  // namespace heed
