#include "models/documents.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "models/recurrent_model.h"
#include "nn/attention/pooling.h"

namespace heed {

Segments Documents::segments(const PackedTokens& documents) const {
  Segments segments;
  for (std::int64_t d = 0; d < documents.rows.sentences(); ++d) {
    std::int64_t count = 0, length = 0;
    bool ended = false;
    const auto close = [&] {
      if (length == 0) return;
      segments.rows.append(length);
      ++count;
      length = 0;
    };
    for (std::int64_t i = documents.rows.offset(d); i < documents.rows.offset(d + 1); ++i) {
      const std::int32_t id = documents.ids[static_cast<std::size_t>(i)];
      const bool ends = std::ranges::count(end_ids, id) > 0;
      if (ended && !ends && id != eos) close();
      ended = ends;
      ++length;
    }
    close();
    segments.of_sentence.append(count);
  }
  return segments;
}

template <class T>
Encoded<T> Documents::read(Pass<T>& pass, const Encoded<T>& words) const {
  if (!words.segments) fail("the states of a document without its sentences");
  const Scope<T> top(pass), encoder = top / "sentence_encoder";
  const auto& [rows, of_document] = *words.segments;
  std::vector<std::int64_t> documents, numbers;  // of each sentence
  std::vector<KeyWindow> own_words;
  for (const Place& at : places_of(of_document)) {
    const std::int64_t first = rows.offset(std::ssize(documents));
    own_words.push_back({first - words.rows->offset(at.sentence), rows.length(std::ssize(documents))});
    documents.push_back(at.sentence);
    numbers.push_back(at.position);
  }
  // Scores are [sentences, words of the longest sentence]: those of all words of its document would need
  // memory quadratic in the length of a line.
  std::vector<std::int64_t> each(documents.size());
  std::iota(each.begin(), each.end(), 0);
  const Var<T> s = (top / "word_attention")
                       .name("context",
                             pool(top / "word_attention", words.states, {documents, 0, &of_document, numbers},
                                  {each, &rows}, {documents, words.rows, own_words}),
                             of_document);  // [sentences, d]
  const Var<T> h = bidirectional(encoder, layer, s, of_document).h;
  return {encoder.name("output", drop_out(h, encoder.dropout(dropout)), of_document), &of_document, {}};
}

template Encoded<float> Documents::read(Pass<float>&, const Encoded<float>&) const;
template Encoded<double> Documents::read(Pass<double>&, const Encoded<double>&) const;

}  // namespace heed
