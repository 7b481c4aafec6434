// Which values a stage of a model names, and their dimensions, determined without any data.
#pragma once

#include <string>
#include <vector>

#include "models/model.h"

namespace heed {

/// What the rows of a value are: positions of a side; the sentences of a document (models/documents.h); or one for each sentence.
enum class Rows { source, target, segments, one };

/// A named value as traces hold it (inspect/trace.h).
struct NamedValue {
  std::string name;
  bool attention = false;      ///< scores or weights: (sentence, head, query, key)
  std::int64_t n_heads = 1;    ///< more than one: (sentence, head, position, dim)
  std::int64_t cols = 0;       ///< of one head; of attention 0
  Rows rows = Rows::target;    ///< what its rows (attention: its queries) are
  Rows keys = Rows::target;    ///< of attention
  bool of_vocabulary = false;  ///< logits and probabilities: computed last, nothing reads them
  bool by_steps = false;       ///< a recurrence computes it, row after row

  std::vector<std::string> dims() const;
  /// "encoder/layer_0/self_attention/weights [sentence, head 4, query source, key source]"
  std::string text() const;
};

/// What a pass computes.
struct Stages {
  bool embed = false;
  Side side = Side::source;          ///< of embed
  std::int64_t first = 0, last = 0;  ///< encoder layers first .. last-1
  bool decode = false, logits = false;
  bool classify = false;  ///< the classes head on the encoder's states
};

std::vector<NamedValue> value_names(const Model<float>& model, const Stages& stages);

/// The values that some glob (base/glob.h) matches; without globs all. Throws UsageError, naming the option,
/// when one matches nothing.
std::vector<NamedValue> matching(const std::vector<NamedValue>& values, const std::vector<std::string>& globs,
                                 const char* option);

/// Says with --verbose what was matched: "--scale encoder/**=2: encoder/layer_0/output, ...".
void report_matches(const std::string& what, const std::vector<NamedValue>& values);

/// The names most like `name`, for messages.
std::string near_names(const std::vector<NamedValue>& values, const std::string& name);

}  // namespace heed
