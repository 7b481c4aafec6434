#include "io/provenance.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/version.h"
#include "io/layout.h"

namespace heed::io {

const std::string* text_of(const Attributes& attributes, const std::string& name) {
  const auto found = attributes.find(name);
  return found == attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
}

Attributes stamped(Attributes root, const std::string& command) {
  root["format"] = "heed";
  root["format_version"] = kFormatVersion;
  root["creator"] = concat("heed ", version());
  root["NX_class"] = "NXroot";
  add_history(root, command);
  return root;
}

void add_history(Attributes& root, const std::string& command) {
  if (command.empty()) return;
  std::string line = command;
  std::replace(line.begin(), line.end(), '\n', ' ');
  const std::string* old = text_of(root, "history");
  root["history"] = old && !old->empty() ? *old + "\n" + line : line;
}

void expect_digest(const TensorMap& frame, const std::string& source, const char* which,
                   const std::string& wanted, const std::string& owner) {
  if (!frame.attributes.contains(which)) return;
  const std::string* digest = text_of(frame.attributes, which);
  if (digest && *digest == wanted) return;
  const bool is_model = std::string_view(which) == kModelDigest;
  fail(source, ": made with another ", is_model ? "model" : "vocabulary", " (", which, " ",
       digest ? escaped(*digest, 12) : "not a string", ", ", owner, " has ", escaped(wanted, 12),
       "): use the same ", is_model ? "model" : "vocabulary", " in every stage");
}

std::int64_t sentences_of(const TensorMap& frame) {
  for (const auto& [path, tensor] : frame.tensors())
    if (const auto axis = sentence_axis_of(tensor.dims()); axis >= 0)
      return tensor.shape()[static_cast<std::size_t>(axis)];
  return 0;
}

std::int64_t first_sentence_of(const Attributes& root, const std::string& source) {
  const auto found = root.find(kFirstSentence);
  if (found == root.end()) return 0;
  const auto* number = std::get_if<std::int64_t>(&found->second);
  if (!number || *number < 0 || *number > kMostSentences)
    fail(source, ": the attribute ", kFirstSentence, " is not a number from 0 to ", kMostSentences);
  return *number;
}

void set_first_sentence(Attributes& root, std::int64_t number) {
  if (number > 0)
    root[kFirstSentence] = number;
  else
    root.erase(kFirstSentence);
}

void expect_known_format(const Attributes& root, const std::string& source) {
  const std::string* format = text_of(root, "format");
  if (!format || *format != "heed") return;
  auto number = root.find("format_version");
  auto* version = number == root.end() ? nullptr : std::get_if<std::int64_t>(&number->second);
  if (!version || *version < 1) fail(source, ": format \"heed\" without a valid format_version");
  if (*version > kFormatVersion) {
    fail(source, ": format version ", *version, ", but heed ", heed::version(), " reads up to version ",
         kFormatVersion, ": update heed");
  }
}

}  // namespace heed::io
