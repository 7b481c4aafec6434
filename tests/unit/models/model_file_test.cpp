#include "models/model_file.h"
#include "train/metrics.h"

#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/error.h"
#include "io/frame_stream.h"
#include "io/provenance.h"
#include "unit/train/support.h"

using namespace heed;
using namespace heed::test;

namespace {

text::Tokenizer words(const std::string& letters) {
  std::vector<text::CountedPiece> list;
  for (char c : letters) list.push_back({std::string(1, c), 1});
  return text::Tokenizer::from_words(list);
}

/// 13 source and 17 target pieces, the special ones included.
const text::Tokenizer& source_words() {
  static const text::Tokenizer tokenizer = words("abcdefghi");
  return tokenizer;
}
const text::Tokenizer& target_words() {
  static const text::Tokenizer tokenizer = words("abcdefghijklm");
  return tokenizer;
}

TensorMap saved_model(const TemporaryFolder& folder) {
  save_model(folder / "m.h5", *small_transformer(), vocabulary_map(source_words(), target_words()), {});
  return io::read_map(folder / "m.h5");
}

void expect_refused(const TemporaryFolder& folder, const TensorMap& map, const std::string& words) {
  io::write_map(folder / "bad.h5", map);
  BOOST_CHECK_EXCEPTION(load_model(folder / "bad.h5"), Error, [&](const Error& e) {
    const std::string message = e.what();
    BOOST_TEST_MESSAGE(message);
    return message.find("bad.h5") != message.npos && message.find(words) != message.npos;
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(model_file)

BOOST_AUTO_TEST_CASE(comes_back_as_it_was) {
  const TemporaryFolder folder;
  const auto model = small_transformer();
  const TensorMap vocabularies = vocabulary_map(source_words(), target_words());
  MetricsRow row;
  row.step = 7;
  row.valid_loss = 2.5;
  save_model(folder / "m.h5", *model, vocabularies, model_metrics({row}));
  const LoadedModel loaded = load_model(folder / "m.h5");
  BOOST_TEST(loaded.model->config_json == model->config_json);
  const auto before = std::as_const(*model).parameters.values();
  const auto after = std::as_const(*loaded.model).parameters.values();
  BOOST_TEST(
      std::vector<float>(after.begin(), after.end()) == std::vector<float>(before.begin(), before.end()),
      boost::test_tools::per_element());
  BOOST_TEST(loaded.tokenizer(Side::source).digest() == source_words().digest());
  BOOST_TEST(loaded.tokenizer(Side::target).digest() == target_words().digest());
  BOOST_TEST(loaded.digest == model_digest(model->config_json, *model, vocabularies));
  BOOST_TEST(io::read_map(folder / "m.h5").at("model/training/valid_loss").values<double>()[0] == 2.5);
}

BOOST_AUTO_TEST_CASE(equal_vocabularies_are_stored_once) {
  BOOST_TEST(vocabulary_map(target_words(), target_words()).contains("model/vocabulary/config"));
  BOOST_TEST(vocabulary_map(source_words(), target_words()).contains("model/source_vocabulary/config"));
}

BOOST_AUTO_TEST_CASE(digest_covers_parameters_and_vocabulary) {
  const auto model = small_transformer();
  const TensorMap vocabularies = vocabulary_map(source_words(), target_words());
  const std::string digest = model_digest(model->config_json, *model, vocabularies);
  BOOST_TEST(digest != model_digest(model->config_json, *model,
                                    vocabulary_map(source_words(), words("abcdefghijkln"))));
  model->parameters.view("decoder/layer_1/feed_forward/inner/weight")(3, 4) += 0.5f;
  BOOST_TEST(digest != model_digest(model->config_json, *model, vocabularies));
}

BOOST_AUTO_TEST_CASE(files_from_before_a_field_existed_are_read) {
  const TemporaryFolder folder;
  const auto model = small_transformer();
  const TensorMap vocabularies = vocabulary_map(source_words(), target_words());
  TensorMap map = model_map(*model, vocabularies, {});
  std::string config = model->config_json;
  const std::size_t at = config.find("  \"attention_dropout\"");
  BOOST_REQUIRE(at != config.npos);
  config.erase(at, config.find('\n', at) + 1 - at);
  map.erase("model/config");
  map.add("model/config", Tensor::of<std::string>({config}, {1}));
  map.attributes[io::kModelDigest] = model_digest(config, *model, vocabularies);
  io::write_map(folder / "old.h5", map);
  const LoadedModel loaded = load_model(folder / "old.h5");
  BOOST_TEST(loaded.digest == model_digest(config, *model, vocabularies));
  BOOST_TEST(loaded.model->config_json == model->config_json);
}

BOOST_AUTO_TEST_CASE(bad_files_are_refused) {
  const TemporaryFolder folder;
  const std::string weight = "model/parameters/encoder/layer_0/feed_forward/inner/weight";
  const TensorMap good = saved_model(folder);

  TensorMap map = good;
  map.at(weight).values<float>()[5] += 1;
  expect_refused(folder, map, "model_digest");
  map.attributes.erase(io::kModelDigest);  // edited on purpose
  io::write_map(folder / "edited.h5", map);
  BOOST_CHECK_NO_THROW(load_model(folder / "edited.h5"));

  map = good;
  map.erase(weight);
  expect_refused(folder, map, "encoder/layer_0/feed_forward/inner/weight");
  map.add(weight, Tensor::zeros<float>({20, 12}));  // axes swapped
  expect_refused(folder, map, "[20, 12]");
  map.at(weight) = Tensor::zeros<float>({12, 20});
  map.at(weight).values<float>()[9] = std::numeric_limits<float>::quiet_NaN();
  expect_refused(folder, map, "element 9 is nan");
  map.at(weight).values<float>()[9] = -std::numeric_limits<float>::infinity();
  expect_refused(folder, map, "element 9 is -inf");

  map = good;
  map.add("model/parameters/encoder/layer_7/feed_forward/inner/weight", Tensor::zeros<float>({12, 20}));
  expect_refused(folder, map, "layer_7/feed_forward/inner/weight: no parameter of this model");

  map = good;
  map.at("model/config").values<std::string>()[0] = R"({"architecture": "tree-lstm", "d_model": 12})";
  expect_refused(folder, map, "tree-lstm");

  // Whoever prints what stands there would exhaust the stack.
  map.at("model/config").values<std::string>()[0] =
      concat(R"({"d_model": )", std::string(100'000, '['), std::string(100'000, ']'), "}");
  expect_refused(folder, map, "nested deeper");

  map = good;
  map.erase("model/config");
  expect_refused(folder, map, "no model");
}

BOOST_AUTO_TEST_CASE(numbers_of_a_config_are_checked_before_anything_is_made_of_them) {
  const TemporaryFolder folder;
  TensorMap map = saved_model(folder);
  std::string& config = map.at("model/config").values<std::string>()[0];
  const nlohmann::json good = nlohmann::json::parse(config);
  std::size_t tried = 0;
  for (const auto& [name, value] : good.items()) {
    if (!value.is_number()) continue;
    for (const std::string wrong :
         {"-2", "1e99", "18446744073709551616", "\"4\"", "null", "[4]", "0.5e", ""}) {
      if (name == "norm_epsilon" && wrong[0] == '1') continue;  // large, but a number that it may be
      nlohmann::json changed = good;
      changed[name] = "HERE";
      config = changed.dump();
      config.replace(config.find("\"HERE\""), 6, wrong);
      expect_refused(folder, map, wrong.empty() || wrong == "0.5e" ? "config" : name);
      ++tried;
    }
    if (!value.is_number_integer()) continue;
    for (const char* wrong : {"0", "2147483648", "9223372036854775807", "1.5"}) {
      nlohmann::json changed = good;
      changed[name] = nlohmann::json::parse(wrong);
      config = changed.dump();
      expect_refused(folder, map, name);
      ++tried;
    }
  }
  BOOST_TEST(tried > 100u);
}

namespace {

/// Changes a byte of the values of a parameter where they lie in the file.
void damage(const std::string& path, const Model<float>& model, const std::string& parameter) {
  const Matrix<const float> m = model.parameters.view(parameter);
  const std::string values(reinterpret_cast<const char*>(m.row(0)), static_cast<std::size_t>(m.cols) * 4);
  std::ifstream in(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(in), {});
  const std::size_t at = bytes.find(values);
  BOOST_REQUIRE(at != bytes.npos);
  bytes[at + 5] = static_cast<char>(bytes[at + 5] ^ 1);
  std::ofstream(path, std::ios::binary) << bytes;
}

/// What of a model each tool reads.
const std::map<Needed, const char*> kParts{{Needed::source_embedding, "encoder/embedding/weight"},
                                           {Needed::target_embedding, "decoder/embedding/weight"},
                                           {Needed::encoder, "encoder/layer_0/feed_forward/inner/weight"},
                                           {Needed::decoder, "decoder/layer_1/feed_forward/outer/weight"}};

bool loads(const std::string& path, Needed needed) {
  try {
    load_model(path, needed);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_part_is_what_it_is_in_the_whole) {
  const TemporaryFolder folder;
  const TensorMap map = saved_model(folder);
  const LoadedModel whole = load_model(folder / "m.h5");
  for (const auto& [needed, name] : kParts) {
    const LoadedModel part = load_model(folder / "m.h5", needed);
    BOOST_TEST(part.digest == whole.digest);
    const ParameterSet<float>& read = part.model->parameters;
    for (const Parameter& p : read.list()) {
      const Matrix<const float> now = read.view(p.name),
                                before = std::as_const(whole.model->parameters).view(p.name);
      for (std::int64_t i = 0; i < now.rows; ++i)
        BOOST_TEST(std::equal(now.row(i), now.row(i) + now.cols, before.row(i)));
    }
    BOOST_TEST(read.contains(name));
    BOOST_TEST(read.values().size() < std::as_const(whole.model->parameters).values().size() * 3 / 4);
  }
  // The text of which the model's digest is one says so by itself.
  const auto text = [&](const char* path) { return map.at(path).values<std::string>()[0]; };
  BOOST_TEST(sha256_hex(text("model/config") + "\n" + text("model/digests")) == whole.digest);
}

BOOST_AUTO_TEST_CASE(what_was_left_out_cannot_be_used) {
  const TemporaryFolder folder;
  saved_model(folder);
  const LoadedModel part = load_model(folder / "m.h5", Needed::encoder);
  Tape<float> tape;
  Pass<float> pass(tape, part.model->parameters);
  const std::vector<std::int32_t> length{3};
  const PackedTokens tokens{{4, 5, 6}, Packing(length)};
  const auto names_it = [](const Error& e) {
    return std::string(e.what()).find("embedding/weight") != std::string::npos;
  };
  BOOST_CHECK_EXCEPTION(part.model->embed(pass, Side::source, tokens), Error, names_it);
}

BOOST_AUTO_TEST_CASE(damage_stops_the_tools_that_read_there) {
  const TemporaryFolder folder;
  for (const auto& [damaged, name] : kParts) {
    saved_model(folder);
    damage(folder / "m.h5", *load_model(folder / "m.h5").model, name);
    BOOST_TEST(!loads(folder / "m.h5", Needed::everything));
    for (const auto& [needed, other] : kParts) {
      // The decoder's embeddings are its output layer, too.
      const bool reads =
          needed == damaged || (needed == Needed::decoder && damaged == Needed::target_embedding);
      BOOST_TEST(loads(folder / "m.h5", needed) == !reads);
    }
  }
}

BOOST_AUTO_TEST_CASE(digests_of_parts_are_believed_only_with_that_of_the_whole) {
  const TemporaryFolder folder;
  const std::string weight = kParts.at(Needed::encoder);
  const TensorMap good = saved_model(folder);
  const std::string digest = load_model(folder / "m.h5").digest;

  TensorMap map = good;  // edited, with sound checksums
  map.at(kParameterPrefix + weight).values<float>()[5] += 1;
  io::write_map(folder / "edited.h5", map);
  BOOST_TEST(!loads(folder / "edited.h5", Needed::encoder));
  std::string& lines = map.at("model/digests").values<std::string>()[0];
  const std::size_t at = lines.find(weight);
  lines[lines.find('\n', at) - 1] ^= 1;
  io::write_map(folder / "edited.h5", map);
  for (const Needed needed : {Needed::encoder, Needed::decoder})
    BOOST_TEST(!loads(folder / "edited.h5", needed));
  map.attributes.erase(io::kModelDigest);  // on purpose: all is read again
  io::write_map(folder / "edited.h5", map);
  const LoadedModel edited = load_model(folder / "edited.h5", Needed::decoder);
  BOOST_TEST(edited.model->parameters.contains(weight));
  BOOST_TEST(edited.digest != digest);

  map = good;  // as heed wrote models before
  map.erase("model/digests");
  io::write_map(folder / "older.h5", map);
  const LoadedModel older = load_model(folder / "older.h5", Needed::decoder);
  BOOST_TEST(older.model->parameters.contains(weight));
  BOOST_TEST(older.digest == digest);
}

BOOST_AUTO_TEST_CASE(a_vocabulary_of_another_size_is_refused) {
  const TemporaryFolder folder;
  TensorMap map = model_map(*small_transformer(), vocabulary_map(source_words(), source_words()), {});
  expect_refused(folder, map, "17 target pieces, its vocabulary has 13");
}

BOOST_AUTO_TEST_SUITE_END()
