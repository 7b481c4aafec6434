#include "text/tokenizer.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/choice.h"
#include "base/digest.h"
#include "base/fields.h"
#include "text/added_tokens.h"
#include "text/bounded_json.h"
#include "text/byte_bpe.h"
#include "text/character_bpe.h"
#include "text/foreign_sentencepiece.h"
#include "text/foreign_tokenizer.h"
#include "text/languages.h"
#include "text/piece_counts.h"
#include "text/scheme.h"
#include "text/unicode.h"
#include "text/word_unigram.h"
#include "text/wordpiece.h"

namespace heed::text {
namespace {

/// `vocabulary` (the special pieces), then the most frequent others; equally frequent ones in
/// code point order.
Vocabulary frequent_pieces(Vocabulary vocabulary, const WordCounts& counts, std::int64_t max_size,
                           std::int64_t min_frequency) {
  auto order = in_order(counts);
  std::stable_sort(order.begin(), order.end(), [](auto& a, auto& b) { return a.second > b.second; });
  for (const auto& [piece, count] : order) {
    if (vocabulary.size() >= max_size || count < min_frequency) break;
    if (std::string text(piece); !vocabulary.contains(text)) vocabulary.add(text);
  }
  return vocabulary;
}

constexpr std::int64_t kNoLimit = std::numeric_limits<std::int32_t>::max();

/// The types in files: those of PieceType, then those that are only imported.
enum class StoredType {
  bpe,
  unigram,
  word,
  character,
  byte_bpe,
  wordpiece,
  sentencepiece,
  word_unigram,
  character_bpe
};

StoredType stored_type(const std::string& type, const std::string& where) {
  std::vector<std::string> types = kPieceTypes.words;
  types.insert(types.end(),
               {kByteBpeType, kWordPieceType, kSentencePieceType, kWordUnigramType, kCharacterBpeType});
  return chosen<StoredType>(where + "type", types, type);
}

Vocabulary segments_of_words(Vocabulary special, const BpeCodes& codes, const WordCounts& words,
                             std::int64_t min_frequency) {
  WordCounts pieces;
  for (const auto& [word, count] : words) {
    for (const std::string& piece : subword_pieces(codes, word, special)) pieces[piece] += count;
  }
  return frequent_pieces(std::move(special), pieces, kNoLimit, min_frequency);
}

/// The special pieces, then those of the list that are frequent enough, in its order.
Vocabulary with_pieces(const std::vector<CountedPiece>& list, std::int64_t min_frequency) {
  Vocabulary vocabulary;
  for (const auto& [piece, count] : list) {
    if (count >= min_frequency) vocabulary.add(piece);
  }
  return vocabulary;
}

/// Masks are no words.
WordCounts count_all_words(const LineSource& next_line, const Vocabulary& special) {
  WordCounts counts;
  for (std::string line; next_line(line);) count_words(line, counts);
  counts.erase(std::string(special.mask()));
  return counts;
}

SchemePtr train_pretokenized_bpe(WordCounts words, const TrainOptions& options) {
  Vocabulary special(options.special);
  words.erase(std::string(special.mask()));
  BpeCodes codes(learn_bpe(words, options.merges > 0 ? options.merges : options.vocab_size));
  Vocabulary vocabulary = segments_of_words(std::move(special), codes, words, options.min_frequency);
  return make_subword_scheme(std::move(vocabulary), std::move(codes));
}

/// All lines, or the sample of lines with the lowest random draws.
std::vector<std::string> sampled_lines(const LineSource& next_line, const TrainOptions& options) {
  std::vector<std::string> lines;
  std::string line;
  if (options.sample_lines == 0) {
    while (next_line(line)) lines.push_back(nfc(line));
    return lines;
  }
  constexpr std::uint64_t sample_stream = 0x5a3b000000000000u;           // no other draws use it
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> drawn;  // (draw, number)
  for (std::uint64_t number = 0; next_line(line); ++number) {
    Random random(options.seed, sample_stream + number);
    const std::uint64_t draw = std::uint64_t{random.bits()} << 32 | random.bits();
    const bool is_full = std::cmp_equal(drawn.size(), options.sample_lines);
    if (is_full && draw >= std::prev(drawn.end())->first.first) continue;
    drawn.emplace(std::pair(draw, number), line);
    if (is_full) drawn.erase(std::prev(drawn.end()));
  }
  std::map<std::uint64_t, std::string*> in_place;
  for (auto& [key, text] : drawn) in_place[key.second] = &text;
  for (const auto& [number, text] : in_place) lines.push_back(nfc(*text));
  return lines;
}

void expect_room(const TrainOptions& options) {
  if (const std::int64_t special = Vocabulary(options.special).size(); options.vocab_size <= special) {
    fail<UsageError>("vocabulary size ", options.vocab_size, " leaves no room beside the ", special,
                     " special pieces");
  }
}

/// `values` of a tensor of strings as a vector.
std::vector<std::string> strings(const TensorMap& map, const std::string& path) {
  auto values = map.at(path).values<std::string>();
  return {values.begin(), values.end()};
}

Tensor string_tensor(std::vector<std::string> values, const std::string& dim) {
  Shape shape{static_cast<std::int64_t>(values.size())};
  return Tensor::of<std::string>(std::move(values), std::move(shape), {dim});
}

/// The path of a side's vocabulary in a model or a vocabulary file.
std::string prefix_of_side(const TensorMap& map, const std::string& side) {
  for (const std::string& prefix :
       {"model/" + side + "_vocabulary", std::string("model/vocabulary"), std::string("vocabulary")}) {
    if (map.contains(prefix + "/config")) return prefix;
  }
  fail("no vocabulary: /model/vocabulary, /model/", side,
       "_vocabulary and /vocabulary are missing: is it a vocabulary or a model?");
}

nlohmann::json parse_config(const std::string& path, const std::string& text) {
  nlohmann::json config = parse_bounded_json(text, "/" + path, kMostTokenizerValues);
  bool complete = config.is_object() && config.value("type", nlohmann::json()).is_string() &&
                  config.value("pretokenized", nlohmann::json()).is_boolean();
  if (!complete) fail("/", path, ": wanted JSON with type and pretokenized, got \"", escaped(text), "\"");
  return config;
}

/// The special ids in a vocabulary's config; ids that it does not name are absent.
SpecialIds special_from(const std::string& path, const nlohmann::json& config) {
  if (!config.contains("special")) return kDefaultSpecialIds;
  const nlohmann::json& ids = config["special"];
  SpecialIds special;
  for (const SpecialName& each : kSpecialNames) {
    const nlohmann::json id =
        ids.is_object() ? ids.value(each.name, nlohmann::json(SpecialIds::kAbsent)) : ids;
    const bool fits = id.is_number_integer() && id >= SpecialIds::kAbsent && id <= INT32_MAX;
    if (!fits) fail("/", path, ": special: wanted ids by name, got ", escaped(ids.dump()));
    special.*each.id = id.get<std::int32_t>();
  }
  if (const auto unused = config["special"].find("first_unused"); unused != config["special"].end()) {
    if (!unused->is_number_integer() || *unused < 0 || *unused > INT32_MAX)
      fail("/", path, ": first_unused: wanted an id, got ", escaped(unused->dump()));
    special.first_unused = unused->get<std::int32_t>();
  }
  if (const auto unknown = config["special"].find("produces_unk"); unknown != config["special"].end()) {
    if (!unknown->is_boolean())
      fail("/", path, ": produces_unk: wanted true or false, got ", escaped(unknown->dump()));
    special.produces_unk = unknown->get<bool>();
  }
  return special;
}

nlohmann::json as_json(const SpecialIds& special) {
  nlohmann::json ids = nlohmann::json::object();
  for (const SpecialName& each : kSpecialNames) {
    if (special.*each.id != SpecialIds::kAbsent) ids[each.name] = special.*each.id;
  }
  if (special.first_unused != kDefaultSpecialIds.first_unused) ids["first_unused"] = special.first_unused;
  if (!special.produces_unk) ids["produces_unk"] = false;
  return ids;
}

/// The codes of languages in a vocabulary's config, in order.
std::vector<std::int32_t> languages_from(const std::string& where, const nlohmann::json& config,
                                         std::int64_t size) {
  std::vector<std::int32_t> ids;
  if (!config.contains("languages")) return ids;
  for (const nlohmann::json& id : config["languages"]) {
    if (!id.is_number_unsigned() || id >= size || (!ids.empty() && id <= ids.back()))
      fail(where, ": languages: wanted growing ids below ", size, ", got ", escaped(id.dump(), 100));
    ids.push_back(id.get<std::int32_t>());
  }
  return ids;
}

SchemePtr scheme_from_map(const TensorMap& map, const std::string& prefix, const nlohmann::json& config) {
  const std::string at = "/" + prefix;
  const SpecialIds special = special_from(prefix + "/config", config);
  const auto vocabulary = [&] { return Vocabulary(strings(map, prefix + "/piece"), special, at + "/piece"); };
  const auto merges = [&] { return strings(map, prefix + "/merges"); };
  const auto model = [&] {
    const auto bytes = map.at(prefix + "/sentencepiece").values<std::uint8_t>();
    return std::string(bytes.begin(), bytes.end());
  };
  const nlohmann::json settings = config.value("settings", nlohmann::json());
  switch (stored_type(config["type"], at + "/config: ")) {
    case StoredType::word: {
      Vocabulary pieces = vocabulary();
      if (!config.contains("settings")) return make_word_scheme(std::move(pieces));
      SentenceFrame frame = frame_of_settings(settings, pieces, at + "/config");
      return make_word_scheme(std::move(pieces), std::move(frame));
    }
    case StoredType::character:
      return make_char_scheme(vocabulary());
    case StoredType::byte_bpe:
      return make_byte_bpe_scheme(vocabulary(), merges(), settings, at);
    case StoredType::wordpiece:
      return make_wordpiece_scheme(vocabulary(), settings, at);
    case StoredType::sentencepiece:
      return make_foreign_sentencepiece_scheme(vocabulary(), model(), settings, at);
    case StoredType::word_unigram:
      return make_word_unigram_scheme(vocabulary(), model(), settings, at);
    case StoredType::character_bpe:
      return make_character_bpe_scheme(
          vocabulary(), map.contains(prefix + "/merges") ? merges() : std::vector<std::string>(), settings,
          at);
    case StoredType::bpe:
      if (config["pretokenized"].get<bool>())
        return make_subword_scheme(vocabulary(), BpeCodes::parse(merges(), at + "/merges"));
      return make_sentencepiece_scheme(model(), PieceType::bpe, special);
    case StoredType::unigram:
      return make_sentencepiece_scheme(model(), PieceType::unigram, special);
  }
  __builtin_unreachable();
}

}  // namespace

Tokenizer::Tokenizer(std::string type, bool pretokenized, SchemePtr scheme,
                     std::vector<std::int32_t> languages)
    : type_(std::move(type)),
      pretokenized_(pretokenized),
      scheme_(std::move(scheme)),
      languages_(std::move(languages)),
      digest_(compute_digest()) {}

Tokenizer Tokenizer::train(const LineSource& next_line, const TrainOptions& options) {
  expect_room(options);
  const PieceType type = kPieceTypes(options.type);
  if (type == PieceType::unigram && options.min_word_count > 1)
    fail<UsageError>("--min-word-count: type unigram is learned from lines, not from counts of words");
  if (type == PieceType::unigram && options.pretokenized)
    fail<UsageError>("unigram does not know pre-tokenized text: use bpe");
  if (type != PieceType::unigram) {
    if (options.sample_lines > 0)
      fail<UsageError>("--sample-lines: type ", options.type,
                       " is learned from counts, which take all lines");
    PieceCounts counts(options);
    for (std::string line; next_line(line);) counts.add(line);
    return train(std::move(counts), options);
  }
  const Vocabulary special(options.special);
  std::string model =
      train_sentencepiece_unigram(sampled_lines(next_line, options), options.vocab_size, special);
  return Tokenizer(options.type, false, make_sentencepiece_scheme(std::move(model), type, special.special()));
}

Tokenizer Tokenizer::train(PieceCounts counts, const TrainOptions& options) {
  expect_room(options);
  counts.leave_out_rare_words();
  Vocabulary special(options.special);
  SchemePtr scheme;
  switch (const PieceType type = kPieceTypes(options.type)) {
    case PieceType::word:
      scheme = make_word_scheme(
          frequent_pieces(std::move(special), counts.counts(), options.vocab_size, options.min_frequency));
      break;
    case PieceType::character:
      scheme = make_char_scheme(
          frequent_pieces(std::move(special), counts.counts(), options.vocab_size, options.min_frequency));
      break;
    default:
      scheme = options.pretokenized
                   ? train_pretokenized_bpe(std::move(counts).counts(), options)
                   : make_sentencepiece_scheme(
                         train_sentencepiece_bpe(counts.counts(), options.vocab_size, special), type,
                         special.special());
  }
  return Tokenizer(options.type, options.pretokenized, std::move(scheme));
}

Tokenizer Tokenizer::from_words(const std::vector<CountedPiece>& words, std::int64_t min_frequency) {
  return Tokenizer("word", true, make_word_scheme(with_pieces(words, min_frequency)));
}

Tokenizer Tokenizer::from_foreign(const ForeignTokenizer& foreign) {
  return Tokenizer(foreign.type, !foreign.composes, foreign.scheme, foreign.languages);
}

Tokenizer Tokenizer::of_ids(std::int64_t size, const SpecialIds& special) {
  std::vector<std::string> pieces;
  for (std::int64_t id = 0; id < size; ++id) pieces.push_back(std::to_string(id));
  for (const SpecialName& each : kSpecialNames) {  // the default ids have their names
    const std::int32_t id = special.*each.id;
    if (special == kDefaultSpecialIds && id >= 0 && id < size)
      pieces[static_cast<std::size_t>(id)] = each.piece;
  }
  return Tokenizer("word", true,
                   make_word_scheme(Vocabulary(std::move(pieces), special, "vocabulary"), SentenceFrame()));
}

Tokenizer Tokenizer::fitted(std::int64_t wanted, const SpecialIds& ids) const {
  if (wanted < size()) fail("vocabulary: ", size(), " pieces, wanted at most ", wanted);
  constexpr const char* config_path = "vocabulary/config";
  TensorMap map = to_map();
  std::vector<std::string> pieces = strings(map, "vocabulary/piece");
  SpecialIds special = ids;
  if (wanted > size())
    special.first_unused = static_cast<std::int32_t>(std::min(size(), std::int64_t{INT32_MAX}));
  for (std::int64_t i = size(); i < wanted; ++i) pieces.push_back(concat("<unused_", i - size(), ">"));
  nlohmann::json config = parse_config(config_path, strings(map, config_path).front());
  config["special"] = as_json(special);
  map.erase(config_path);
  map.erase("vocabulary/piece");
  map.add(config_path, string_tensor({config.dump()}, "one"));
  map.add("vocabulary/piece", string_tensor(std::move(pieces), "id"));
  return from_map(map);
}

Tokenizer Tokenizer::from_codes(BpeCodes codes, const LineSource& next_line, std::int64_t min_frequency,
                                const std::string& special) {
  Vocabulary begin(special);
  const WordCounts words = count_all_words(next_line, begin);
  Vocabulary vocabulary = segments_of_words(std::move(begin), codes, words, min_frequency);
  return Tokenizer("bpe", true, make_subword_scheme(std::move(vocabulary), std::move(codes)));
}

Tokenizer Tokenizer::from_codes(BpeCodes codes, const std::vector<CountedPiece>& segments,
                                std::int64_t threshold) {
  return Tokenizer("bpe", true, make_subword_scheme(with_pieces(segments, threshold), std::move(codes)));
}

Tokenizer Tokenizer::from_codes(BpeCodes codes) {
  constexpr std::string_view end = "</w>";
  Vocabulary vocabulary;
  auto add = [&](const std::string& symbol) {
    bool final = symbol.ends_with(end);
    std::string piece =
        final ? escape_special(symbol.substr(0, symbol.size() - end.size()), vocabulary) : symbol + "@@";
    if (!piece.empty() && !vocabulary.contains(piece)) vocabulary.add(piece);
  };
  for (const auto& [left, right] : codes.merges()) {
    add(left);
    add(right);
  }
  for (const auto& [left, right] : codes.merges()) add(left + right);
  return Tokenizer("bpe", true, make_subword_scheme(std::move(vocabulary), std::move(codes)));
}

std::vector<std::int32_t> Tokenizer::encode(const std::string& line, PieceDraw* draw) const {
  const auto normalized = [&](const std::string& text) {
    return scheme_->normalized(pretokenized_ ? text : nfc(text));
  };
  const auto encoded = [&](const std::string& text, bool begins_line) {
    return draw ? scheme_->draw(text, *draw) : scheme_->encode_part(text, begins_line);
  };
  const AddedTokens* added = spelled_ ? spelled_.get() : scheme_->added();
  std::vector<std::int32_t> ids =
      added ? added->encode(line, normalized, encoded) : encoded(normalized(line), true);
  if (!languages_.empty() && !spelled_)
    std::ranges::replace_if(
        ids, [&](std::int32_t id) { return is_language(id); }, special().unk);
  return ids;
}

bool Tokenizer::is_language(std::int32_t id) const {
  return std::ranges::binary_search(languages_, id);
}

std::int32_t Tokenizer::language(const std::string& name, const std::string& option) const {
  return language_of(vocabulary(), languages_, name, option);
}

Tokenizer Tokenizer::in_language(std::int32_t code) const {
  if (source_language() == SpecialIds::kAbsent)
    fail<UsageError>("--language: the tokenizer puts no code of a language beside its sentences");
  Tokenizer other = *this;
  other.language_ = code;
  return other;
}

std::int32_t Tokenizer::source_language() const {
  const SentenceFrame around = frame();
  for (const auto* ids : {&around.before, &around.after})
    for (const std::int32_t id : *ids)
      if (is_language(id)) return id;
  return SpecialIds::kAbsent;
}

Tokenizer Tokenizer::beginning_with(std::int32_t first) const {
  if (first != SpecialIds::kAbsent) piece(first);  // refuses ids that are out of range
  Tokenizer other = *this;
  other.first_ = first;
  return other;
}

Tokenizer Tokenizer::spelling_special_tokens() const {
  std::vector<AddedToken> tokens = scheme_->special_tokens();
  if (tokens.empty())
    fail<UsageError>("--special-tokens: text of a vocabulary of type ", type_,
                     " spells no special tokens; that of BPE of bytes or characters and WordPiece does");
  Tokenizer other = *this;
  other.spelled_ = std::make_shared<const AddedTokens>(std::move(tokens), vocabulary(), "vocabulary", true);
  return other;
}

std::vector<std::int32_t> Tokenizer::with_eos(const std::string& line, PieceDraw* draw) const {
  std::vector<std::int32_t> ids = encode(line, draw);
  if (first_ != SpecialIds::kAbsent) ids.insert(ids.begin(), first_);
  if (special().eos != SpecialIds::kAbsent) ids.push_back(special().eos);
  return ids;
}

SentenceFrame Tokenizer::frame() const {
  if (const SentenceFrame* own = scheme_->frame()) {
    SentenceFrame around = *own;
    if (language_ != SpecialIds::kAbsent)
      for (auto* ids : {&around.before, &around.after})
        std::ranges::replace_if(
            *ids, [&](std::int32_t id) { return is_language(id); }, language_);
    return around;
  }
  const auto if_there = [](std::int32_t id) {
    return id == SpecialIds::kAbsent ? std::vector<std::int32_t>() : std::vector<std::int32_t>{id};
  };
  return {if_there(special().cls), if_there(special().eos), if_there(special().sep), 1};
}

std::vector<std::int32_t> Tokenizer::sentence(const std::string& line, PieceDraw* draw) const {
  const SentenceFrame around = frame();
  std::vector<std::int32_t> ids = encode(line, draw);
  ids.insert(ids.begin(), around.before.begin(), around.before.end());
  ids.insert(ids.end(), around.after.begin(), around.after.end());
  return ids;
}

TypedIds Tokenizer::pair(const std::string& line, const std::string& other, std::size_t most) const {
  const SentenceFrame around = frame();
  if (around.between.empty())
    fail("the vocabulary has no piece to put between two sentences, as <sep> or [SEP]");
  std::vector<std::int32_t> first = encode(line), second = encode(other);
  const std::size_t marks = around.before.size() + around.between.size() + around.after.size();
  TypedIds pair;
  while (most > 0 && first.size() + second.size() + marks > most && first.size() + second.size() > 0) {
    (first.size() > second.size() ? first : second).pop_back();
    pair.cut = true;
  }
  const auto append = [&](const std::vector<std::int32_t>& part, std::int32_t type) {
    pair.ids.insert(pair.ids.end(), part.begin(), part.end());
    pair.types.resize(pair.ids.size(), type);
  };
  append(around.before, 0);
  append(first, 0);
  append(around.between, 0);
  append(second, around.second_type);
  append(around.after, around.second_type);
  return pair;
}

bool Tokenizer::ends_sentences() const {
  const std::vector<std::int32_t> after = frame().after;
  return !after.empty() && after.back() == special().eos;
}

void Tokenizer::truncate(std::vector<std::int32_t>& ids, std::size_t most) const {
  if (ids.size() <= most) return;
  const std::vector<std::int32_t> end = frame().after;
  ids.resize(most);
  const auto kept = static_cast<std::ptrdiff_t>(std::min(end.size(), most));
  std::copy(end.end() - kept, end.end(), ids.end() - kept);
}

std::string Tokenizer::decode(std::span<const std::int32_t> ids) const {
  std::vector<std::int32_t> kept;
  for (std::int32_t id : ids) {
    piece(id);  // refuses ids that are out of range
    if (!is_mark(id)) kept.push_back(id);
  }
  return scheme_->decode(kept);
}

bool Tokenizer::is_mark(std::int32_t id) const {
  return (special().contains(id) && id != special().unk && id != special().mask) || is_language(id);
}

const Vocabulary& Tokenizer::vocabulary() const {
  return scheme_->vocabulary();
}

std::vector<std::string> Tokenizer::pieces(std::span<const std::int32_t> ids) const {
  std::vector<std::string> list;
  for (std::int32_t id : ids) list.push_back(piece(id));
  return list;
}

std::vector<std::int32_t> Tokenizer::word_of(std::span<const std::int32_t> ids) const {
  std::vector<std::int32_t> words;
  std::int32_t word = -1;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool apart = is_mark(ids[i]) || i == 0 || is_mark(ids[i - 1]);
    if (apart || scheme_->begins_word(piece(ids[i - 1]), piece(ids[i]))) ++word;
    words.push_back(word);
  }
  return words;
}

TensorMap Tokenizer::to_map(const std::string& prefix) const {
  TensorMap map;
  nlohmann::json config{
      {"type", type_}, {"pretokenized", pretokenized_}, {"normalization", pretokenized_ ? "none" : "nfc"}};
  if (special() != kDefaultSpecialIds) config["special"] = as_json(special());
  if (nlohmann::json settings = scheme_->settings(); !settings.is_null())
    config["settings"] = std::move(settings);
  if (!languages_.empty()) config["languages"] = languages_;
  map.add(prefix + "/config", string_tensor({config.dump()}, "one"));
  map.add(prefix + "/piece", string_tensor(vocabulary().pieces(), "id"));
  if (std::vector<std::string> merges = scheme_->merges(); !merges.empty())
    map.add(prefix + "/merges", string_tensor(std::move(merges), "line"));
  if (std::string_view model = scheme_->sentencepiece(); !model.empty()) {
    map.add(prefix + "/sentencepiece",
            Tensor::of<std::uint8_t>({model.begin(), model.end()}, {static_cast<std::int64_t>(model.size())},
                                     {"byte"}));
  }
  return map;
}

Tokenizer Tokenizer::from_map(const TensorMap& map, const std::string& prefix) {
  const std::string config_path = prefix + "/config";
  std::vector<std::string> text = strings(map, config_path);
  if (text.size() != 1) fail("/", config_path, ": ", text.size(), " strings, wanted 1");
  nlohmann::json config = parse_config(config_path, text[0]);
  try {
    SchemePtr scheme = scheme_from_map(map, prefix, config);
    std::vector<std::int32_t> languages =
        languages_from("/" + config_path, config, scheme->vocabulary().size());
    return Tokenizer(config["type"], config["pretokenized"], std::move(scheme), std::move(languages));
  } catch (const nlohmann::json::exception& e) {
    fail("/", prefix, ": ", escaped(e.what(), 200));
  } catch (const UsageError& e) {  // of a choice, here not the user's
    fail("/", config_path, ": ", e.what());
  }
}

Tokenizer Tokenizer::of_side(const TensorMap& map, const std::string& side) {
  return from_map(map, prefix_of_side(map, side));
}

std::pair<Tokenizer, Tokenizer> Tokenizer::of_both_sides(const TensorMap& map) {
  const std::string at_source = prefix_of_side(map, "source"), at_target = prefix_of_side(map, "target");
  Tokenizer source = from_map(map, at_source);
  Tokenizer target = at_source == at_target ? source : from_map(map, at_target);
  return {std::move(source), std::move(target)};
}

std::string Tokenizer::compute_digest() const {
  std::string bytes;
  auto append = [&](std::string_view part) {
    bytes.append(std::to_string(part.size())).append(":").append(part);
  };
  append(type_);
  append(pretokenized_ ? "none" : "nfc");
  for (const std::string& piece : vocabulary().pieces()) append(piece);
  for (const std::string& line : scheme_->merges()) append(line);
  append(scheme_->sentencepiece());
  if (special() != kDefaultSpecialIds) append(as_json(special()).dump());
  if (const nlohmann::json settings = scheme_->settings(); !settings.is_null()) append(settings.dump());
  if (!languages_.empty()) append(nlohmann::json(languages_).dump());
  return sha256_hex(bytes);
}

}  // namespace heed::text
