#include "draw/page/page.h"

#include <algorithm>
#include <string_view>

#include "base/digest.h"
#include "base/error.h"
#include "base/paths.h"
#include "base/version.h"
#include "draw/page/page_data.h"
#include "draw/picture/colormap.h"
#include "draw/print/printable.h"
#include "draw/select/tensors.h"
#include "draw/select/value_range.h"

namespace heed::draw {
namespace {

using Json = nlohmann::json;

/// `text` with each `character` replaced.
std::string with(std::string_view text, char character, std::string_view replacement) {
  std::string out;
  for (const char c : text) {
    if (c == character) {
      out += replacement;
    } else {
      out += c;
    }
  }
  return out;
}

/// JSON that cannot end its <script> element, whatever the tokens are.
std::string for_script(const Json& json) {
  return with(json.dump(-1, ' ', false, Json::error_handler_t::replace), '<', "\\u003c");
}

std::string for_html(std::string_view text) {
  return with(with(text, '&', "&amp;"), '<', "&lt;");
}

/// "'sha256-...'": admits the page's own script, or style, and no other.
std::string policy_source(std::string_view text) {
  const std::string hex = sha256_hex(text);
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return "'sha256-" + base64(bytes) + "'";
}

Json colormaps() {
  Json maps = Json::object();
  for (const auto& name : Colormap::names()) {
    constexpr char digits[] = "0123456789abcdef";
    std::string table;
    for (int i = 0; i < 256; ++i) {
      const Rgb color = Colormap::named(name).at(i / 255.0);
      for (const int channel : {color.red, color.green, color.blue}) {
        table += digits[channel / 16];
        table += digits[channel % 16];
      }
    }
    maps[name] = table;
  }
  return maps;
}

/// The selections without those of dimensions that only other parts have (rank).
std::vector<Selection> selections_for(const PageTensors& part, const std::vector<PageTensors>& parts,
                                      const TensorMap& frame, std::vector<Selection> selections) {
  std::erase_if(selections, [&](const Selection& c) {
    const auto has_dim = [&](const PageTensors& p) { return axis_named(frame.at(p.main).dims(), c.dim); };
    return !has_dim(part) && std::any_of(parts.begin(), parts.end(), has_dim);
  });
  return selections;
}

/// Replaces each {{name}} of the page by its text.
std::string filled(std::string_view page, const std::map<std::string, std::string, std::less<>>& texts) {
  std::string out;
  while (true) {
    const auto start = page.find("{{");
    if (start == std::string_view::npos) return out.append(page);
    const auto end = page.find("}}", start);
    out.append(page.substr(0, start)).append(texts.find(page.substr(start + 2, end - start - 2))->second);
    page.remove_prefix(end + 2);
  }
}

}  // namespace

std::string html_page(io::FrameReader& reader, const std::string& name,
                      const std::vector<Selection>& selections, const PageOptions& options) {
  if (options.colormap != "auto") Colormap::named(options.colormap);
  Json range;
  if (!options.range.empty()) range = {parse_range(options.range).low, parse_range(options.range).high};
  PageData payload(reader.name(), options.limit);
  std::vector<PageTensors> parts;
  const auto find = [&](const TensorMap& frame, std::vector<Selection>&) {
    parts = page_tensors_of(frame, name);
    return parts.front().main;
  };
  visit_sentences(reader, find, selections,
                  [&](const TensorMap& frame, SentenceAt at, const std::vector<Selection>& rest) {
                    for (const auto& part : parts) {
                      at_place(reader.name(), [&] {
                        payload.add(frame, part, at, selections_for(part, parts, frame, rest));
                      });
                    }
                  });

  const std::string file = printable(leaf_of(reader.name()));
  const std::string title = printable(options.title, 200);  // none: the page shows those of its groups
  std::string blocks;
  for (std::size_t i = 0; i < payload.blocks().size(); ++i) {
    blocks += concat("<script type=\"text/plain\" id=\"block-", i, "\">", payload.blocks()[i], "</script>\n");
  }
  const Json data = {{"version", version()},      {"title", title}, {"file", file},
                     {"colormaps", colormaps()},  {"range", range}, {"colormap", options.colormap},
                     {"groups", payload.groups()}};
  return filled(kHtmlTemplate, {{"policy-script", policy_source(kHtmlScript)},
                                {"policy-style", policy_source(kHtmlStyle)},
                                {"title", for_html(title.empty() ? file : title)},
                                {"style", kHtmlStyle},
                                {"script", kHtmlScript},
                                {"data", for_script(data)},
                                {"blocks", blocks}});
}

}  // namespace heed::draw
