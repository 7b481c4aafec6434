// The attention of a model of documents (models/han.h) over a document, as in Yang et al. 2016, figures 5 and
// 6: each sentence with its weight as a bar on the left, and its words shaded by sqrt(p_s) p_w (section 3.6),
// so that words of sentences with little weight stay visible.
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

  /// The shade of a word, 0 to 1.
  static double shade(const Sentence& sentence, const Word& word);
};

/// From the weights of words (query: sentence, key: word of the document) and of sentences (query: one, key:
/// sentence). A word belongs to the sentence that gives it weight, or else to the sentence of the previous
/// word. Throws Error if the two do not fit, if there is no word or more than 4096, or if a weight is not
/// between 0 and 1.
Document document_of(const Slice& words, const Slice& sentences);

std::string draw_document(const Document& document, PictureFormat format);
/// Without colours, each clearly shaded word is followed by its weight.
std::string draw_on_terminal(const Document& document, const Terminal& terminal);

}  // namespace heed::draw
