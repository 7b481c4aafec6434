#include "draw/picture/svg_text.h"

#include "base/error.h"

namespace heed::draw {
namespace {

std::string xml_escaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    // XML forbids control characters and U+FFFE and U+FFFF, even escaped.
    const bool noncharacter = c == 0xef && text.compare(i, 2, "\xef\xbf") == 0 && i + 2 < text.size() &&
                              static_cast<unsigned char>(text[i + 2]) >= 0xbe;
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (noncharacter) {
      out += "\xef\xbf\xbd";
      i += 2;
    } else {
      out += c < 0x20 ? ' ' : text[i];
    }
  }
  return out;
}

std::string element(const PlacedText& text) {
  const std::string turn =
      text.degrees == 0 ? "" : concat(" transform=\"rotate(", -text.degrees, " ", text.x, " ", text.y, ")\"");
  return concat("<text x=\"", text.x, "\" y=\"", text.y, "\" font-size=\"", text.size, "\" textLength=\"",
                text.width, "\"", turn, ">", xml_escaped(text.text), "</text>\n");
}

}  // namespace

std::string with_text(std::string svg, const std::vector<PlacedText>& texts) {
  const std::size_t end = svg.rfind("</svg>");
  if (texts.empty() || end == std::string::npos) return svg;
  std::string layer =
      "<g id=\"words\" fill-opacity=\"0\" xml:space=\"preserve\" font-family=\"sans-serif\">\n";
  for (const PlacedText& text : texts) layer += element(text);
  return svg.insert(end, layer + "</g>\n");
}

}  // namespace heed::draw
