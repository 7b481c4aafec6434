#include "draw/picture/document.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/number.h"
#include "draw/print/printable.h"

namespace heed::draw {
namespace {

constexpr std::size_t kMostWords = 4096;
constexpr std::size_t kLongest = 40;  // characters of a word
constexpr double kLine = 21;          // height of a line of words
constexpr double kBetween = 5;        // sentences
constexpr double kBar = 56;           // the bar of a sentence
constexpr double kNumber = 30;        // its weight
constexpr double kWidth = 560;        // of the lines
constexpr double kPad = 3;            // beside a word, within its box
constexpr double kGap = 2;            // between boxes
constexpr double kShown = 0.1;        // least shade that is told without colours
constexpr TextStyle kWord{12, {0x22, 0x22, 0x22}};
constexpr TextStyle kNumbers{9.5, {0x44, 0x44, 0x44}};
constexpr Rgb kTrack{0xee, 0xee, 0xee};
constexpr Rgb kWhite{0xff, 0xff, 0xff};

constexpr std::size_t kWordColor = 0, kSentenceColor = 1;

/// From white to the colour.
Rgb shaded(std::size_t color, double t) {
  const Rgb deep = series_color(color);
  const auto mix = [t](std::uint8_t from, std::uint8_t to) {
    return static_cast<std::uint8_t>(std::lround(from + (to - from) * std::clamp(t, 0.0, 1.0)));
  };
  return {mix(kWhite.red, deep.red), mix(kWhite.green, deep.green), mix(kWhite.blue, deep.blue)};
}

/// `name`: of the tensor that the words are from.
void check(const Document& document, const std::string& name) {
  std::size_t words = 0;
  const auto check_weight = [&](double weight) {
    if (!(weight >= 0 && weight <= 1 + 1e-3))
      fail("/", name, ": a document's weights are from 0 to 1, got ", weight);
  };
  for (const Document::Sentence& sentence : document.sentences) {
    check_weight(sentence.weight);
    words += sentence.words.size();
    for (const Document::Word& word : sentence.words) check_weight(word.weight);
  }
  if (words == 0) fail("/", name, ": a document without words");
  if (words > kMostWords) fail("/", name, ": a document of ", words, " words, wanted at most ", kMostWords);
}

std::string shown(const Document::Word& word) {
  return printable(word.text, kLongest);
}

// ---- the picture ----

/// Calls place(line, x, width) for each word: the line of the sentence it is in, and its box. Returns how
/// many lines there are.
template <class Place>
std::size_t place_words(const Document::Sentence& sentence, Place&& place) {
  double x = 0;
  std::size_t line = 0;
  for (const Document::Word& word : sentence.words) {
    const double width = text_width(shown(word), kWord) + 2 * kPad;
    if (x > 0 && x + width > kWidth) {
      x = 0;
      ++line;
    }
    place(word, line, x, width);
    x += width + kGap;
  }
  return line + 1;
}

double height_of(const Document::Sentence& sentence) {
  return kLine * static_cast<double>(place_words(sentence, [](auto&&...) {}));
}

void draw_sentence(const Document::Sentence& sentence, Point at, Painter& painter) {
  const double height = height_of(sentence) - 5, left = at.x + kNumber + kBar + 10;
  painter.text(fixed(sentence.weight, 2), at.x + kNumber - 6, at.y + height / 2, kNumbers, Anchor::end);
  painter.fill({at.x + kNumber, at.y, kBar, height}, kTrack);
  painter.fill({at.x + kNumber, at.y, kBar * std::min(sentence.weight, 1.0), height},
               series_color(kSentenceColor));
  place_words(sentence, [&](const Document::Word& word, std::size_t line, double x, double width) {
    const Rgb color = shaded(kWordColor, Document::shade(sentence, word));
    const double y = at.y + kLine * static_cast<double>(line);
    painter.fill({left + x, y, width, kLine - 5}, color);
    TextStyle style = kWord;
    style.color = ink_on(color);
    painter.text(shown(word), left + x + kPad, y + (kLine - 5) / 2, style);
  });
}

/// A colour from white on, and what it means.
double draw_scale(double x, double y, std::size_t color, const std::string& what, Painter& painter) {
  for (int i = 0; i < 24; ++i) painter.fill({x + 2 * i, y - 5, 2.2, 10}, shaded(color, i / 23.0));
  painter.outline({x, y - 5, 48, 10}, {0xcc, 0xcc, 0xcc}, 0.5);
  painter.text(what, x + 54, y, kSubtitle);
  return x + 54 + text_width(what, kSubtitle) + 18;
}

const std::string kOfWords = "word: \u221ap_s \u00b7 p_w, from 0 to 1";
const std::string kOfSentences = "bar: weight p_s of the sentence";

}  // namespace

double Document::shade(const Sentence& sentence, const Word& word) {
  return std::sqrt(std::max(sentence.weight, 0.0)) * word.weight;
}

Document document_of(const Slice& words, const Slice& sentences) {
  const auto has_axes = [](const Slice& slice) {
    return slice.axes.size() == 2 && slice.axes[0].name == "query" && slice.axes[1].name == "key";
  };
  if (!has_axes(words) || !has_axes(sentences))
    fail("a document has weights (query, key) of its words and of its sentences");
  const std::int64_t n = words.values.shape()[0], m = words.values.shape()[1];
  if (sentences.values.shape() != Shape{1, n})
    fail("/", sentences.name, ": shape ", to_string(sentences.values.shape()), ", wanted ",
         to_string(Shape{1, n}), " for the sentences of /", words.name);
  const std::vector<double> of_words = numbers(words), of_sentences = numbers(sentences);
  Document document;
  for (std::int64_t i = 0; i < n; ++i)
    document.sentences.push_back({of_sentences[static_cast<std::size_t>(i)], {}});
  std::int64_t now = 0;
  for (std::int64_t j = 0; j < m && n > 0; ++j) {
    const auto weight = [&](std::int64_t i) { return of_words[static_cast<std::size_t>(i * m + j)]; };
    for (std::int64_t i = 0; i < n; ++i)
      if (weight(i) > weight(now)) now = i;
    document.sentences[static_cast<std::size_t>(now)].words.push_back(
        {words.axes[1].name_at(j), weight(now)});
  }
  check(document, words.name);
  return document;
}

std::string draw_document(const Document& document, PictureFormat format) {
  const Size heading = heading_size(document.title, document.subtitle);
  const double top = kMargin + heading.height + 8;
  double height = top;
  for (const Document::Sentence& sentence : document.sentences) height += height_of(sentence) + kBetween;
  const double legend = height + 12;
  const Size size{std::ceil(2 * kMargin + std::max(kNumber + kBar + 10 + kWidth, heading.width)),
                  std::ceil(legend + 8 + kMargin)};
  return paint(format, size, [&](Painter& painter) {
    draw_heading(document.title, document.subtitle, kMargin, painter);
    double y = top;
    for (const Document::Sentence& sentence : document.sentences) {
      draw_sentence(sentence, {kMargin, y}, painter);
      y += height_of(sentence) + kBetween;
    }
    const double next = draw_scale(kMargin, legend, kWordColor, kOfWords, painter);
    painter.fill({next, legend - 5, 48, 10}, series_color(kSentenceColor));
    painter.text(kOfSentences, next + 54, legend, kSubtitle);
  });
}

std::string draw_on_terminal(const Document& document, const Terminal& terminal) {
  const bool plain = terminal.colors == ColorDepth::none;
  const int bar = 8, left = 5 + bar + 1, room = std::max(terminal.width - left, 16);
  std::string out = heading_lines(document.title, document.subtitle, terminal.width);
  for (const Document::Sentence& sentence : document.sentences) {
    const std::string length = bar_of(sentence.weight * bar, terminal.colors);
    std::string line = fit(fixed(sentence.weight, 2), 4, true) + " " +
                       colored(length, series_color(kSentenceColor), terminal.colors) +
                       std::string(static_cast<std::size_t>(std::max(bar - display_width(length), 0)), ' ') +
                       " ";
    int used = 0;
    for (const Document::Word& word : sentence.words) {
      const double shade = Document::shade(sentence, word);
      std::string text = shown(word);
      if (plain && shade >= kShown) text += "[" + fixed(shade, 2) + "]";
      const int width = display_width(text) + 1;
      if (used > 0 && used + width > room) {
        trim_right(line);
        out += line + "\n";
        line = std::string(static_cast<std::size_t>(left), ' ');
        used = 0;
      }
      const Rgb color = shaded(kWordColor, shade);
      line += plain || shade < 0.02
                  ? text + " "
                  : color_code(48, color, terminal.colors) + color_code(38, ink_on(color), terminal.colors) +
                        text + std::string(kReset) + " ";
      used += width;
    }
    trim_right(line);
    out += line + "\n";
  }
  return out + cut_line(kOfSentences, terminal.width) +
         cut_line(concat(kOfWords, plain ? concat(", told from ", kShown, " on") : ""), terminal.width);
}

}  // namespace heed::draw
