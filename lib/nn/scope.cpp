#include "nn/scope.h"

#include <limits>
#include <memory>

#include "base/error.h"
#include "tensor/matrix.h"

namespace heed {

namespace {

/// A copy of a value that may be written to.
template <class T>
Var<T> copy_of(Tape<T>& tape, Var<T> v, const std::string& path) {
  if (tape.with_gradients()) fail(path, ": an edited value has no gradient");
  const Matrix<const T> from = v.value();
  Var<T> copy = tape.result(from.rows, from.cols);
  const Matrix<T> to = tape.mutable_value(copy);
  for (std::int64_t i = 0; i < from.rows; ++i) {
    for (std::int64_t j = 0; j < from.cols; ++j) to(i, j) = from(i, j);
  }
  return copy;
}

}  // namespace

template <class T>
Var<T> Scope<T>::inspect(const std::string& path, Var<T> v, RowKind kind) const {
  const StepRows* step = pass_->at_step;
  if (!step && !kind.rows) fail(path, ": was named outside of a step");
  if (step) kind.rows = step->rows;
  return inspect(path, v, step ? step->places() : in_sentences(places_of(*kind.rows)), kind);
}

template <class T>
std::vector<Place> Scope<T>::in_sentences(std::vector<Place> places) const {
  if (pass_->continuation)
    for (Place& place : places) place = (*pass_->continuation)(place);
  return places;
}

template <class T>
void Scope<T>::inspect_in_place(const std::string& path, Matrix<T> value, const StepRows& rows) const {
  const std::vector<Place> places = rows.places();
  if (static_cast<std::int64_t>(places.size()) != value.rows)
    fail(path, ": has ", value.rows, " rows for ", places.size(), " positions");
  if (pass_->editor && pass_->editor->edits(path)) {
    if (tape().with_gradients()) fail(path, ": an edited value has no gradient");
    pass_->editor->edit(path, value, places, 1);
  }
  if (pass_->recorder && pass_->recorder->wants(path))
    pass_->recorder->record(path, value, places, {rows.rows, 1});
}

template <class T>
Var<T> Scope<T>::inspect_sentences(const std::string& path, Var<T> v) const {
  const Packing ones = Packing::uniform(v.rows(), 1);
  return inspect(path, v, places_of(ones), {&ones, 1});
}

template <class T>
Var<T> Scope<T>::inspect(const std::string& path, Var<T> v, std::span<const Place> places,
                         const RowKind& kind) const {
  if (static_cast<std::int64_t>(places.size()) != v.rows()) {
    fail(path, ": has ", v.rows(), " rows for ", places.size(), " positions");
  }
  if (pass_->editor && pass_->editor->edits(path)) {
    v = copy_of(tape(), v, path);
    pass_->editor->edit(path, tape().mutable_value(v), places, kind.n_heads);
  }
  if (pass_->recorder && pass_->recorder->wants(path)) {
    pass_->recorder->record(path, v.value(), places, kind);
  }
  return v;
}

template <class T>
Var<T> Scope<T>::inspect_attention(const std::string& path, Var<T> v, const Packing& keys) const {
  const StepRows* step = pass_->at_step;
  if (!step) fail(path, ": was named outside of a step");
  const std::vector<Place> places = step->places();
  const bool edited = pass_->editor && pass_->editor->edits(path);
  if (edited) v = copy_of(tape(), v, path);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Matrix<T> rows = tape().mutable_value(v);
    const std::span<T> row(rows.row(static_cast<std::int64_t>(i)),
                           static_cast<std::size_t>(keys.length(places[i].sentence)));
    if (edited) {
      const std::vector<T> before(row.begin(), row.end());
      pass_->editor->edit_attention(path, row, places[i], 0);
      for (std::size_t j = 0; j < row.size(); ++j)  // a key that a query does not see stays unseen
        if (before[j] == -std::numeric_limits<T>::infinity()) row[j] = before[j];
    }
    if (pass_->recorder && pass_->recorder->wants(path))
      pass_->recorder->record_attention(path, row, places[i], 0, {step->rows, &keys, 1});
  }
  return v;
}

template <class T>
void Scope<T>::name_attention(std::string_view name, std::span<const T> blocks,
                              const AttentionKind& kind) const {
  if (!wants(name)) return;
  const std::string path = join(name);
  const T* row = blocks.data();
  for (std::int64_t s = 0; s < kind.queries->sentences(); ++s) {
    const std::int64_t m = kind.keys->length(s);
    for (std::int64_t h = 0; h < kind.n_heads; ++h) {
      for (std::int64_t q = 0; q < kind.queries->length(s); ++q, row += m)
        pass_->recorder->record_attention(path, {row, static_cast<std::size_t>(m)}, {s, q}, h, kind);
    }
  }
}

template <class T>
std::optional<AttentionEdit<T>> Scope<T>::attention_edit(const Packing& rows) const {
  if (!edits("position_bias") && !edits("scores") && !edits("weights")) return std::nullopt;
  if (tape().with_gradients()) fail(path(), ": edited attention has no gradient");
  const auto places = std::make_shared<std::vector<Place>>(in_sentences(places_of(rows)));
  auto edit = [&](std::string_view name) -> typename AttentionEdit<T>::Row {
    if (!edits(name)) return {};
    return [editor = pass_->editor, path = join(name), places](std::int64_t row_number, std::int64_t head,
                                                               std::span<T> row) {
      editor->edit_attention(path, row, (*places)[static_cast<std::size_t>(row_number)], head);
    };
  };
  return AttentionEdit<T>{edit("position_bias"), edit("scores"), edit("weights")};
}

template class Scope<float>;
template class Scope<double>;

}  // namespace heed
