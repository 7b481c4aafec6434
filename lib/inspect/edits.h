// Edits of named values while a model runs, as the command line states them:
//   --patch NAME=FILE[:DATASET][@SENTENCE[,POSITION[,HEAD]]]   replace it from a file (inspect/patch_file.h)
//   --scale NAME[@...]=X          multiply it
//   --ablate NAME[@...]           set it to zero
//   --ablate-mean NAME[@...]      replace it by its mean over the positions of the sentence
//   --noise NAME[@...]=DEVIATION  add normal noise, the same for equal seeds
// NAME may be a glob (base/glob.h), as in --trace-filter: then all matching values except logits and
// probabilities are edited, and a patch takes each from its own dataset. @HEAD selects one head,
// @SENTENCE,POSITION,HEAD any subset, with * for all. Sentences are counted over the whole input; the
// position of attention is that of the query.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "inspect/patch_file.h"
#include "inspect/value_names.h"
#include "nn/named_values.h"

namespace heed {

struct EditConfig {
  std::vector<std::string> patch, scale, ablate, ablate_mean, noise;

  bool empty() const {
    return patch.empty() && scale.empty() && ablate.empty() && ablate_mean.empty() && noise.empty();
  }
};

/// -1: all of them.
struct RowSelection {
  std::int64_t sentence = -1, position = -1, head = -1;

  bool overlaps(const RowSelection& other) const;
};

struct Edit {
  enum class Kind { patch, scale, ablate, ablate_mean, noise } kind = Kind::patch;
  std::string text;  ///< as typed, for messages: "--scale NAME=2"
  std::string name;
  RowSelection chosen;
  double number = 0;                ///< factor or deviation
  std::shared_ptr<PatchFile> file;  ///< of a patch
  /// Whether it was applied anywhere.
  std::shared_ptr<std::atomic<bool>> done = std::make_shared<std::atomic<bool>>(false);
};

class Edits {
 public:
  /// Opens the files. Throws UsageError on names that are not in `values` or cannot be edited, on edits that
  /// overlap, and on text that is not an edit.
  Edits(const EditConfig& config, const std::vector<NamedValue>& values, std::uint64_t seed);

  bool empty() const { return edits_.empty(); }
  /// Prepares for a search: positions beyond the end of a patch stay unchanged, because the length of a
  /// hypothesis is not known yet. Throws UsageError on a mean over positions of the target, which are still
  /// to come.
  void expect_search();
  bool searches() const { return searches_; }
  /// The number of sentences before the input, which is part of a text: noise is that of the whole text.
  void count_from(std::int64_t sentences_before) { before_ = sentences_before; }
  /// Advances to the next `sentences` sentences of the input; reads their part of the patches.
  void next_frame(std::int64_t sentences);
  /// Throws Error unless patches of whole sentences are as long as `rows`, the rows of the source, of given
  /// translations or of documents' sentences.
  void expect_lengths(const Packing& rows, Rows of) const;
  /// Throws Error if an edit changed nothing because its sentence or position was not in the input. Reports
  /// how many values each glob changed.
  void expect_used() const;

  const std::vector<Edit>& list() const { return edits_; }
  std::int64_t first_sentence() const { return first_; }
  /// The number in the whole text of a sentence of the frame.
  std::int64_t number_of(std::int64_t sentence) const { return before_ + first_ + sentence; }
  std::uint64_t seed() const { return seed_; }

 private:
  void add(Edit::Kind kind, const char* option, const std::string& text,
           const std::vector<NamedValue>& values);
  void add(Edit edit, const NamedValue& value);

  /// An edit as typed, which may expand to several values.
  struct Typed {
    std::string text;
    bool glob = false;
    std::size_t first = 0, count = 0;  ///< among edits_
  };
  std::vector<Typed> typed_;
  std::vector<Edit> edits_;
  std::vector<NamedValue> named_;  ///< the value of each edit
  std::uint64_t seed_;
  std::int64_t before_ = 0;            ///< sentences of the text before the input
  std::int64_t first_ = 0, next_ = 0;  ///< range of sentences of the frame
  bool searches_ = false;
};

/// Applies the edits in a pass whose sentence i is sentence sentences[i] of the frame.
class FrameEditor final : public Editor<float> {
 public:
  FrameEditor(const Edits& edits, std::vector<std::int64_t> sentences);
  bool edits(const std::string& name) const override;
  void edit(const std::string& name, Matrix<float> value, std::span<const Place> places,
            std::int64_t n_heads) const override;
  void edit_attention(const std::string& name, std::span<float> row, const Place& query,
                      std::int64_t head) const override;

 private:
  void change(const Edit& edit, std::span<float> row, const Place& place, std::int64_t head) const;
  void take_means(const Edit& edit, Matrix<float> value, std::span<const Place> places,
                  std::int64_t head) const;
  bool meant(const Edit& edit, const Place& place, std::int64_t head) const;

  const Edits& edits_;
  std::vector<std::int64_t> sentences_;
};

}  // namespace heed
