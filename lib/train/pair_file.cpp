#include "train/pair_file.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "io/provenance.h"
#include "io/superblock.h"

namespace heed {
namespace {

constexpr const char* kSides[] = {"source", "target"};
constexpr std::int64_t kEvery = 64;  ///< sentences between two whose place is kept

std::string ids_of(const std::string& side) {
  return "corpus/" + side + "/ids";
}
std::string lengths_of(const std::string& side) {
  return "corpus/" + side + "/length";
}

}  // namespace

PairFileWriter::PairFileWriter(const std::string& path, io::WriteOptions options, std::int64_t source_size,
                               std::int64_t target_size)
    : columns_(path, std::move(options)) {
  for (const auto& [side, size] : {std::pair("source", source_size), {"target", target_size}}) {
    columns_.add(ids_of(side), size > std::int64_t{1} << 16, "token");
    columns_.add(lengths_of(side), false, "pair");
  }
}

void PairFileWriter::add(std::span<const std::int32_t> source, std::span<const std::int32_t> target) {
  for (const auto& [side, ids] : {std::pair("source", source), {"target", target}}) {
    columns_.append(ids_of(side), ids);
    const auto length = static_cast<std::int32_t>(ids.size());
    columns_.append(lengths_of(side), {&length, 1});
  }
}

void PairFileWriter::finish(const PairInfo& info) {
  Attributes root;
  io::set_first_sentence(root, info.first_sentence);
  columns_.finish(root, "corpus",
                  {{"source_vocabulary_digest", info.source_vocabulary},
                   {"target_vocabulary_digest", info.target_vocabulary},
                   {"source_sha256", info.source_digest},
                   {"target_sha256", info.target_digest},
                   {"texts", info.texts}});
}

namespace {

const std::string& expect_corpus(const std::string& path) {
  io::expect_hdf5_file(path, "a corpus (tokenize --pairs)");
  return path;
}

}  // namespace

PairFile::PairFile(const std::string& path)
    : columns_(expect_corpus(path)), source_(half("source")), target_(half("target")) {
  const Attributes about = columns_.group("corpus");
  info_ = {text(about, "source_vocabulary_digest"),
           text(about, "target_vocabulary_digest"),
           text(about, "source_sha256"),
           text(about, "target_sha256"),
           text(about, "texts"),
           io::first_sentence_of(columns_.root(), name())};
  size_ = source_.lengths->size();
  if (target_.lengths->size() != size_)
    fail(name(), ": ", size_, " source sentences, but ", target_.lengths->size(), " target sentences");
  if (size_ > UINT32_MAX) fail(name(), ": ", size_, " pairs, at most ", UINT32_MAX, " are read");
}

std::string PairFile::text(const Attributes& about, const char* attribute) const {
  const std::string* found = io::text_of(about, attribute);
  if (!found)
    fail(name(), ":/corpus: lacks the attribute ", attribute, ": is it a file of tokenize --pairs?");
  return *found;
}

/// Reads all lengths to find the position of every 64th sentence.
PairFile::Half PairFile::half(const char* side) const {
  Half half{&columns_.at(ids_of(side)), &columns_.at(lengths_of(side)), {}};
  std::array<std::int32_t, kEvery> lengths;
  std::int64_t sum = 0;
  for (std::int64_t i = 0, size = half.lengths->size(); i < size; i += kEvery) {
    half.begins.push_back(sum);
    const std::span<std::int32_t> some(lengths.data(), static_cast<std::size_t>(std::min(kEvery, size - i)));
    half.lengths->read(i, some);
    for (const std::int32_t length : some) {
      if (length < 1)
        fail(name(), ":/", lengths_of(side), ": a sentence without tokens, from number ", i, " on");
      sum += length;
    }
  }
  if (sum != half.ids->size())
    fail(name(), ":/", ids_of(side), ": ", half.ids->size(), " ids, but the sentences have ", sum);
  return half;
}

void PairFile::expect_vocabularies(const std::string& source_digest, std::int64_t source_size,
                                   const std::string& target_digest, std::int64_t target_size) {
  for (const auto& [side, made_with, wanted] : {std::tuple("source", info_.source_vocabulary, source_digest),
                                                {"target", info_.target_vocabulary, target_digest}})
    if (made_with != wanted)
      fail(name(), ": made with another ", side, " vocabulary (", escaped(made_with, 12), ", this run has ",
           escaped(wanted, 12), "): tokenize the texts again with this one");
  source_.vocabulary = source_size;
  target_.vocabulary = target_size;
}

std::int64_t PairFile::length(Side side, std::int64_t i) const {
  std::int32_t length = 0;
  of(side).lengths->read(i, {&length, 1});
  return length;
}

std::vector<std::int32_t> PairFile::ids(Side side, std::int64_t i) const {
  const Half& half = of(side);
  const std::int64_t before = i / kEvery * kEvery;
  std::array<std::int32_t, kEvery> lengths;
  const std::span<std::int32_t> some(lengths.data(), static_cast<std::size_t>(i - before + 1));
  half.lengths->read(before, some);
  std::int64_t begin = half.begins[static_cast<std::size_t>(i / kEvery)];
  for (const std::int32_t length : some.first(some.size() - 1)) begin += length;
  std::vector<std::int32_t> ids(static_cast<std::size_t>(some.back()));
  half.ids->read(begin, ids);
  for (const std::int32_t id : ids)
    if (id < 0 || id >= half.vocabulary)
      fail(name(), ":/", ids_of(kSides[side == Side::target]), ": the id ", id, " in sentence ", i,
           ", wanted one below ", half.vocabulary, ": damaged or malicious");
  return ids;
}

}  // namespace heed
