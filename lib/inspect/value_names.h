// The named values of a stage of a model with their dimensions, determined without any data.
#pragma once

#include <string>
#include <vector>

#include "models/model.h"

namespace heed {

/// The meaning of a value's rows: positions of a side; the sentences of a document (models/documents.h); or
/// one per sentence.
enum class Rows { source, target, segments, one };

/// A named value as traces hold it (inspect/trace.h).
struct NamedValue {
  std::string name;
  bool attention = false;      ///< scores or weights: (sentence, head, query, key)
  std::int64_t n_heads = 1;    ///< if more than one: (sentence, head, position, dim)
  std::int64_t cols = 0;       ///< of one head; 0 for attention
  Rows rows = Rows::target;    ///< meaning of the rows (for attention, of the queries)
  Rows keys = Rows::target;    ///< meaning of the keys, for attention
  bool of_vocabulary = false;  ///< logits and probabilities: computed last, nothing reads them
  bool by_steps = false;       ///< computed by a recurrence, row by row

  std::vector<std::string> dims() const;
  /// "encoder/layer_0/self_attention/weights [sentence, head 4, query source, key source]"
  std::string text() const;
};

/// The part of a model that a pass computes.
struct Stages {
  bool embed = false;
  Side side = Side::source;          ///< for embed
  std::int64_t first = 0, last = 0;  ///< encoder layers first .. last-1
  bool decode = false, logits = false;
  bool classify = false;  ///< the classes head on the encoder's states
};

std::vector<NamedValue> value_names(const Model<float>& model, const Stages& stages);

/// The values matched by any of the globs (base/glob.h); without globs all. Throws UsageError, naming the
/// option, if a glob matches nothing.
std::vector<NamedValue> matching(const std::vector<NamedValue>& values, const std::vector<std::string>& globs,
                                 const char* option);

/// With --verbose, reports the matches: "--scale encoder/**=2: encoder/layer_0/output, ...".
void report_matches(const std::string& what, const std::vector<NamedValue>& values);

/// The names most similar to `name`, for messages.
std::string near_names(const std::vector<NamedValue>& values, const std::string& name);

}  // namespace heed
