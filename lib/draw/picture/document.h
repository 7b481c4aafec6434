// A document on which a model of documents (models/han.h) has laid its attention, as in Yang et al. 2016, figures 5 and
// 6: each sentence with its weight as a bar on the left, and its words shaded by sqrt(p_s) p_w (section 3.6), so that
// words of sentences that matter little stay visible.
#pragma once

#include <string>
#include <vector>

#include "draw/picture/colormap.h"
#include "draw/picture/painter.h"
#include "draw/select/slice.h"
#include "draw/terminal/terminal.h"

namespace heed::draw {

struct Document {
  struct Word {
    std::string text;
    double weight = 0;  ///< p_w, in its sentence
  };
  struct Sentence {
    double weight = 0;  ///< p_s
    std::vector<Word> words;
  };
  std::string title, subtitle;
  std::vector<Sentence> sentences;

  /// How deep a word is shaded, 0 to 1.
  static double shade(const Sentence& sentence, const Word& word);
};

/// Of the weights of words (query: sentence, key: word of the document) and of sentences (query: one, key: sentence) of
/// a document. A word belongs to the sentence that gives it weight; to that of the word before when none does. Throws
/// Error when the two do not fit, and when there is no word, more than 4096, or a weight that is not between 0 and 1.
Document document_of(const Slice& words, const Slice& sentences);

std::string draw_document(const Document& document, PictureFormat format);
/// Without colours each word that is clearly shaded is followed by its weight.
std::string draw_on_terminal(const Document& document, const Terminal& terminal);

}  // namespace heed::draw
