#include "draw/print/model_card.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "draw/print/printable.h"
#include "io/provenance.h"
#include "text/bounded_json.h"

namespace heed::draw {
namespace {

using Json = nlohmann::json;

constexpr int kIndent = 14;
constexpr std::size_t kMostText = 200, kDigits = 12, kModelWord = 11;  // "from model "
const std::string kModel = "model/";

/// The JSON of /model/NAME of `file`; null when there is none.
Json json_of(const TensorMap& map, const std::string& file, const std::string& name) {
  const Tensor* text = map.find(kModel + name);
  if (!text || text->dtype() != DType::string || text->size() != 1) return nullptr;
  Json json = text::parse_bounded_json(text->values<std::string>().front(), concat(file, ":/", kModel, name));
  return json.is_object() ? json : Json(nullptr);
}

std::string shown(const Json& value) {
  if (value.is_string()) return printable(value.get<std::string>(), kMostText);
  if (value.is_number_float()) return shortest(value.get<double>());
  return printable(value.dump(-1, ' ', false, Json::error_handler_t::replace), kMostText);
}

/// A field of an object as text; "" when it is missing.
std::string field(const Json& object, const char* name) {
  return object.is_object() && object.contains(name) ? shown(object[name]) : "";
}

/// A setting that is off, or the same as another (-1), is not shown.
bool is_off(const Json& value) {
  return value.is_null() || value == false || value == 0 || value == -1 || value == "" || value == "none";
}

class Card {
 public:
  explicit Card(int width) : width_(width) {}
  /// A line that begins with `head`, broken between the parts.
  void row(const std::string& head, const std::vector<std::string>& parts,
           const std::string& separator = ", ") {
    std::string line = fit(head, kIndent);
    bool is_first = true;
    for (const std::string& part : parts) {
      if (part.empty()) continue;
      const int width = display_width(line) + display_width(separator) + display_width(part);
      if (!is_first) line += separator;
      if (!is_first && width > width_) {
        end(line);
        line = std::string(kIndent, ' ');
      }
      line += part;
      is_first = false;
    }
    if (!is_first) end(line);
  }
  std::string text;

 private:
  int width_;
  void end(std::string line) {
    while (line.ends_with(' ')) line.pop_back();
    text += line + '\n';
  }
};

std::vector<std::string> settings(const Json& object) {
  std::vector<std::string> list;
  for (const auto& [name, value] : object.items())
    if (!is_off(value))
      list.push_back(value == true ? printable(name) : printable(name) + " " + shown(value));
  return list;
}

/// Where an imported model is from.
std::vector<std::string> parts_of_origin(Json origin) {
  const Json files = origin.value("files", Json());
  const std::string verified = field(origin, "verified");
  origin.erase("files");
  origin.erase("verified");
  std::vector<std::string> parts = settings(origin);
  if (files.is_object())
    for (const auto& [name, digest] : files.items())
      parts.push_back(printable(name) + " sha256 " + shown(digest).substr(0, kDigits));
  parts.push_back(verified.empty() || verified == "not verified" ? verified : "verified: " + verified);
  return parts;
}

std::int64_t parameters_of(const TensorMap& map) {
  std::int64_t count = 0;
  for (const auto& [path, tensor] : map.tensors())
    if (path.starts_with("model/parameters/")) count += tensor.size();
  return count;
}

void add_vocabularies(const TensorMap& map, const std::string& file, Card& card) {
  for (const auto& [group, side] :
       {std::pair("vocabulary", ""), {"source_vocabulary", "source: "}, {"target_vocabulary", "target: "}}) {
    const Tensor* pieces = map.find(kModel + group + "/piece");
    if (!pieces) continue;
    card.row("vocabulary", {side + field(json_of(map, file, concat(group, "/config")), "type"),
                            concat(pieces->size(), " pieces")});
  }
  if (const Tensor* classes = map.find("model/classes"); classes && classes->dtype() == DType::string) {
    std::vector<std::string> names;
    for (const std::string& name : classes->values<std::string>()) {
      if (names.size() == 20) {
        names.push_back(concat("and ", classes->size() - 20, " more"));
        break;
      }
      names.push_back(printable(name));
    }
    card.row("classes", names);
  }
}

std::string counted(const Json& corpus, const char* name, const std::string& word) {
  const std::string count = field(corpus, name);
  return count.empty() ? "" : count + " " + word;
}

void add_corpus(const std::string& head, const Json& corpus, Card& card) {
  if (!corpus.is_object()) return;
  std::vector<std::string> parts{counted(corpus, "sentences", "sentences"),
                                 counted(corpus, "source_tokens", "source tokens"),
                                 counted(corpus, "target_tokens", "target tokens"),
                                 counted(corpus, "skipped_empty", "left out as empty"),
                                 counted(corpus, "skipped_long", "left out as too long")};
  for (const char* side : {"source", "target", "labels"}) {
    const std::string digest = field(corpus, concat(side, "_sha256").c_str());
    if (!digest.empty()) parts.push_back(concat(side, " sha256 ", digest.substr(0, kDigits)));
  }
  card.row(head, parts);
}

void add_scores(const Json& run, Card& card) {
  std::vector<std::string> parts;
  for (const auto& [name, word] : {std::pair("valid_loss", "validation loss "),
                                   {"valid_accuracy", "accuracy "},
                                   {"valid_bleu", "BLEU "}})
    if (run.contains(name) && run[name].is_number()) parts.push_back(word + rounded(run[name].get<double>()));
  if (run.contains("valid_loss") && run["valid_loss"].is_number())
    parts.insert(parts.begin() + 1, "perplexity " + rounded(std::exp(run["valid_loss"].get<double>())));
  card.row("scores", parts);
}

}  // namespace

bool is_model(const TensorMap& map) {
  return map.contains("model/config");
}

std::string model_card(const TensorMap& map, const std::string& name, int width) {
  Json config = json_of(map, name, "config");
  if (config.is_null()) fail(name, ":/model/config: not a JSON object: is it a heed model?");
  Card card(width);
  const std::string architecture = field(config, "architecture");
  config.erase("architecture");
  card.text = printable(name, kMostText) + ": " + architecture + " of " + std::to_string(parameters_of(map)) +
              " parameters\n";
  card.row("architecture", settings(config));
  add_vocabularies(map, name, card);
  if (const Json run = json_of(map, name, "provenance"); run.is_object()) {
    const auto counted_of_run = [&](const char* name, const std::string& word) {
      const std::string count = field(run, name);
      return count.empty() ? "" : concat(count, " ", word, count == "1" ? "" : "s");
    };
    const auto with = [&](const std::string& before, const char* name) {
      const std::string value = field(run, name);
      return value.empty() ? "" : before + value;
    };
    card.row("trained", {with("from preset ", "preset"),
                         with("from model ", "initial_model").substr(0, kModelWord + kDigits),
                         run.contains("mean_of") && run["mean_of"].is_array()
                             ? concat("mean of ", run["mean_of"].size(), " models")
                             : "",
                         with("seed ", "seed"), counted_of_run("updates", "update"),
                         counted_of_run("epochs", "epoch"), with("ended by ", "ended_by")});
    if (run.contains("recipe") && run["recipe"].is_object()) card.row("recipe", settings(run["recipe"]));
    add_corpus("text", run.value("training", Json()), card);
    add_corpus("validation", run.value("validation", Json()), card);
    add_scores(run, card);
  }
  if (const Json origin = json_of(map, name, "origin"); origin.is_object())
    card.row("imported", parts_of_origin(origin));
  const auto root = [&](const char* name) {
    const std::string* text = io::text_of(map.attributes, name);
    return text ? *text : "";
  };
  card.row("made by", {printable(root("creator")),
                       root(io::kModelDigest).empty()
                           ? ""
                           : "model digest " + printable(root(io::kModelDigest).substr(0, kDigits))});
  const std::string history = root("history");
  for (std::size_t at = 0; at < history.size();) {
    const std::size_t stop = std::min(history.find('\n', at), history.size());
    std::vector<std::string> words;
    const std::string line = history.substr(at, stop - at);
    for (std::size_t from = 0; from < line.size();) {
      const std::size_t to = std::min(line.find(' ', from), line.size());
      words.push_back(printable(line.substr(from, to - from), kMostText));
      from = to + 1;
    }
    card.row(at == 0 ? "history" : "", words, " ");
    at = stop + 1;
  }
  return card.text;
}

}  // namespace heed::draw
