#include "draw/select/slice.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "base/error.h"
#include "draw/select/tensors.h"
#include "unit/draw/support.h"

using namespace heed;
using namespace heed::draw;

namespace {

std::vector<Selection> selections(const std::vector<std::string>& texts) {
  std::vector<Selection> list;
  for (const auto& text : texts) list.push_back(parse_selection(text));
  return list;
}

Slice weights(const std::vector<std::string>& texts) {
  return take_slice(attention_map(), "attention/weights", selections(texts));
}

using Words = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_CASE(indices_pick_by_name_in_any_order) {
  const Slice slice = weights({"head=1", "sentence=0", "layer=2"});
  BOOST_TEST(slice.values.shape() == (Shape{4, 5}));
  BOOST_TEST(slice.values.values<float>()[0] == 2100);
  BOOST_TEST(slice.values.values<float>()[19] == 2134);
  BOOST_TEST(slice.chosen == (Words{"sentence 0", "head 1", "layer 2"}));
  BOOST_TEST(slice.axes[0].labels == (Words{"le", "chat", "dort", "</s>"}));
  BOOST_TEST(slice.axes[1].labels == (Words{"the", "cat", "is", "asleep", "</s>"}));
}

BOOST_AUTO_TEST_CASE(padding_is_cut_off) {
  const Slice slice = weights({"sentence=1", "layer=0", "head=0"});
  BOOST_TEST(slice.values.shape() == (Shape{3, 4}));
  BOOST_TEST(slice.values.values<float>()[11] == 10023);
  BOOST_TEST(slice.axes[1].labels == (Words{"it", "is", "asleep", "</s>"}));
}

BOOST_AUTO_TEST_CASE(ranges_count_from_either_end) {
  const Slice slice = weights({"sentence=0", "layer=-1", "head=0", "query=1:3", "key=-2:"});
  BOOST_TEST(slice.values.shape() == (Shape{2, 2}));
  BOOST_TEST(slice.values.values<float>()[0] == 2013);
  BOOST_TEST(slice.axes[0].first == 1);
  BOOST_TEST(slice.axes[0].labels == (Words{"chat", "dort"}));
  BOOST_TEST(slice.axes[1].labels == (Words{"asleep", "</s>"}));
}

BOOST_AUTO_TEST_CASE(what_is_chosen_is_named_by_its_place_in_the_tensor) {
  const Slice slice = weights({"sentence=0", "layer=1:3", "layer=0", "head=0", "key=1:5", "key=1:3"});
  BOOST_TEST(slice.values.values<float>()[0] == 1002);
  BOOST_TEST(slice.chosen == (Words{"sentence 0", "layer 1:3", "layer 1", "head 0", "key 1:5", "key 2:4"}));
}

BOOST_AUTO_TEST_CASE(a_layer_that_was_kept_alone_is_named) {
  TensorMap map;
  map.add("encoder/states", Tensor::zeros<float>({1, 1, 3, 7}, {"sentence", "layer", "position", "dim"}));
  map.groups["encoder"].attributes["layers_done"] = std::int64_t{4};
  map.add("attention/weights",
          Tensor::zeros<float>({1, 1, 2, 3, 3}, {"sentence", "layer", "head", "query", "key"}));
  map.groups["attention"].attributes["model_layer"] = std::string("decoder/layer_1/cross_attention");
  BOOST_TEST(take_slice(map, "encoder/states", selections({"layer=0"})).chosen ==
             (Words{"layer 0 (encoder layer 3)"}));
  BOOST_TEST(take_slice(map, "attention/weights", selections({"layer=0"})).chosen ==
             (Words{"layer 0 (decoder/layer_1/cross_attention)"}));
}

BOOST_AUTO_TEST_CASE(the_last_element_is_the_last_real_one) {
  const Slice slice = weights({"key=-1", "sentence=1", "layer=0", "head=0"});
  BOOST_TEST(slice.values.shape() == (Shape{3}));
  BOOST_TEST(slice.values.values<float>()[0] == 10003);
}

BOOST_AUTO_TEST_CASE(means_and_maxima_leave_the_padding_out) {
  const Slice mean = weights({"sentence=1", "layer=0", "head=mean", "query=0"});
  BOOST_TEST(mean.values.values<double>()[1] == 10051);
  const Slice max = weights({"sentence=1", "layer=max", "head=0", "query=max"});
  BOOST_TEST(max.values.shape() == (Shape{4}));
  BOOST_TEST(max.values.values<double>()[3] == 12023);
  BOOST_TEST(max.chosen.back() == "query max");
}

BOOST_AUTO_TEST_CASE(dimensions_without_names_have_numbers) {
  TensorMap map;
  map.add("plain", Tensor::of<double>({0, 1, 2, 3, 4, 5}, {2, 3}));
  const Slice slice = take_slice(map, "plain", selections({"0=1"}));
  BOOST_TEST(slice.values.values<double>()[2] == 5);
  BOOST_TEST(slice.axes[0].name == "dim_1");
  BOOST_TEST(take_slice(map, "plain", selections({"dim_1=-1"})).values.values<double>()[1] == 5);
}

BOOST_AUTO_TEST_CASE(a_name_that_comes_twice_means_the_first) {
  TensorMap map;
  map.add("square", Tensor::of<double>({0, 1, 2, 3, 4, 5}, {2, 3}, {"word", "word"}));
  const Slice slice = take_slice(map, "square", selections({"word=1"}));
  BOOST_TEST(slice.axes[0].name == "dim_1");
  BOOST_TEST(slice.values.values<double>()[0] == 3);
}

BOOST_AUTO_TEST_CASE(lengths_that_cannot_be_are_harmless) {
  TensorMap map;
  map.add("g/values", Tensor::zeros<float>({2, 3}, {"sentence", "position"}));
  map.add("g/length", Tensor::of<std::int64_t>({-7, INT64_MAX}, {2}, {"sentence"}));
  BOOST_TEST(take_slice(map, "g/values", selections({"sentence=0"})).values.shape() == (Shape{0}));
  BOOST_TEST(take_slice(map, "g/values", selections({"sentence=1"})).values.shape() == (Shape{3}));
}

BOOST_AUTO_TEST_CASE(positions_are_labelled_by_pieces_or_words) {
  TensorMap map;
  map.add("embeddings/values", Tensor::zeros<float>({2, 3, 7}, {"sentence", "position", "dim"}));
  map.add("embeddings/length", Tensor::of<std::int32_t>({3, 2}, {2}, {"sentence"}));
  map.add("tokens/text", Tensor::of<std::string>({"a cat", "go"}, {2}, {"sentence"}));
  BOOST_TEST(take_slice(map, "embeddings/values", selections({"sentence=1"})).axes[0].labels ==
             (Words{"go", "</s>"}));
  map.add("tokens/piece",
          Tensor::of<std::string>({"x", "y", "z", "u", "v", ""}, {2, 3}, {"sentence", "position"}));
  BOOST_TEST(take_slice(map, "embeddings/values", selections({"sentence=1"})).axes[0].labels ==
             (Words{"u", "v"}));
  BOOST_TEST(take_slice(map, "embeddings/values", {}).axes[1].labels.empty());
}

BOOST_AUTO_TEST_CASE(positions_of_other_groups_have_no_labels_of_the_source) {
  TensorMap map;
  map.add("tokens/text", Tensor::of<std::string>({"a cat"}, {1}, {"sentence"}));
  map.add("encoder/states", Tensor::zeros<float>({1, 1, 3, 7}, {"sentence", "layer", "position", "dim"}));
  const auto labels = [&](const std::string& path, std::size_t axis) {
    return take_slice(map, path, selections({"sentence=0"})).axes[axis].labels;
  };
  BOOST_TEST(labels("encoder/states", 1) == (Words{"a", "cat", "</s>"}));
  // A decoder alone reads <s> and no end.
  map.add("embeddings/token", Tensor::of<std::string>({"<s>", "a", "cat"}, {1, 3}, {"sentence", "position"}));
  BOOST_TEST(labels("encoder/states", 1) == (Words{"<s>", "a", "cat"}));

  map.add("hypotheses/token_logprob", Tensor::zeros<float>({1, 2, 3}, {"sentence", "rank", "position"}));
  BOOST_TEST(labels("hypotheses/token_logprob", 1).empty());
  map.add("hypotheses/token", Tensor::of<std::string>({"un", "chat", "</s>", "chat", "</s>", ""}, {1, 2, 3},
                                                      {"sentence", "rank", "position"}));
  map.add("hypotheses/length", Tensor::of<std::int32_t>({3, 2}, {1, 2}, {"sentence", "rank"}));
  const Slice second = take_slice(map, "hypotheses/token_logprob", selections({"sentence=0", "rank=1"}));
  BOOST_TEST(second.axes[0].labels == (Words{"chat", "</s>"}));

  // Of the likeliest pieces of each step, a chosen one does not name the step.
  map.add("decoder/logits/values", Tensor::zeros<float>({1, 3, 2}, {"sentence", "position", "choice"}));
  map.add("decoder/logits/piece", Tensor::of<std::string>({"a", "b", "c", "d", "e", "f"}, {1, 3, 2},
                                                          {"sentence", "position", "choice"}));
  const Slice first = take_slice(map, "decoder/logits/values", selections({"sentence=0", "choice=0"}));
  BOOST_TEST(first.axes[0].labels.empty());
}

BOOST_AUTO_TEST_CASE(tensors_are_found_by_path_end_or_group) {
  const TensorMap map = attention_map();
  for (const char* name : {"", "attention/weights", "/attention/weights", "weights", "attention"}) {
    BOOST_TEST(find_tensor(map, name) == "attention/weights");
  }
  BOOST_CHECK_THROW(find_tensor(map, "scores"), Error);
  BOOST_CHECK_THROW(find_tensor(TensorMap(), ""), Error);

  TensorMap trace;
  for (const char* group :
       {"decoder/layer_0/cross_attention/weights", "decoder/layer_1/cross_attention/weights"}) {
    trace.add(in_group(group, "values"), Tensor::zeros<float>({1}, {"sentence"}));
    trace.groups[group].signal = "values";
  }
  BOOST_TEST(find_tensor(trace, "layer_1/cross_attention/weights") ==
             "decoder/layer_1/cross_attention/weights/values");
  BOOST_CHECK_THROW(find_tensor(trace, "cross_attention/weights"), UsageError);
}

BOOST_AUTO_TEST_CASE(words_of_cells_are_cut_as_the_values_are) {
  TensorMap map;
  Tensor values = Tensor::zeros<float>({2, 2, 3}, {"sentence", "layer", "position"});
  values.attributes["cell_text"] = std::string("best");
  std::vector<std::string> words;
  for (int i = 0; i < 12; ++i) words.push_back(std::to_string(i));
  map.add("lens/length", Tensor::of<std::int32_t>({3, 2}, {2}, {"sentence"}));
  map.add("lens/values", std::move(values));
  map.add("lens/best", Tensor::of<std::string>(words, {2, 2, 3}, {"sentence", "layer", "position"}));
  const auto slice = [&](const char* selection) {
    return take_slice(map, "lens/values", {parse_selection(selection)}).words;
  };
  const std::vector<std::string> second{"6", "7", "9", "10"}, last{"5", "11"};
  BOOST_TEST(slice("sentence=1") == second, boost::test_tools::per_element());
  BOOST_TEST(
      take_slice(map, "lens/values", {parse_selection("layer=1"), parse_selection("position=2")}).words ==
          last,
      boost::test_tools::per_element());
  BOOST_TEST(slice("layer=mean").empty());  // a mean of values is of no word
}

BOOST_AUTO_TEST_CASE(errors_name_the_dimensions) {
  const auto message = [](const std::vector<std::string>& texts) -> std::string {
    try {
      weights(texts);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  BOOST_TEST(
      message({"head=2"}) ==
      "/attention/weights: there is no head 2 among 2; it has sentence 2, layer 3, head 2, query 4, key 5");
  BOOST_TEST(
      message({"beam=0"}).starts_with("/attention/weights has no dimension 'beam'; it has sentence 2"));
  BOOST_TEST(message({"key=3:9"}).starts_with("/attention/weights: there is no key 3:9 among 5; it has"));
  BOOST_TEST(!message({"head=0", "head=1"}).empty());
}

BOOST_AUTO_TEST_CASE(choices_are_checked) {
  for (const char* text : {"head", "=3", "head="}) {
    BOOST_CHECK_THROW(parse_selection(text), UsageError);
  }
  BOOST_TEST((parse_selection("head=all").kind == Selection::Kind::all));
  for (const char* text : {"key=x", "key=1:x", "key=3.5", "key==3"}) {
    BOOST_TEST((parse_selection(text).kind == Selection::Kind::label));
  }
  BOOST_TEST(parse_selection("key==3").label == "3");
  for (const char* text : {"head=nan", "head=nan:", "head=inf", "0=nan"}) {  // no label either
    BOOST_CHECK_THROW(weights({text}), Error);
  }
}
