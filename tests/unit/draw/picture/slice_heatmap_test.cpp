#include "draw/picture/slice_heatmap.h"

#include <boost/test/unit_test.hpp>

using namespace heed;
using namespace heed::draw;

BOOST_AUTO_TEST_SUITE(slice_map)

BOOST_AUTO_TEST_CASE(the_subtitle_leaves_out_the_layer_that_the_title_names) {
  TensorMap map;
  map.add("attention/weights",
          Tensor::zeros<float>({1, 1, 2, 3, 3}, {"sentence", "layer", "head", "query", "key"}));
  Group& group = map.groups["attention"];
  group.title = "Attention of encoder/layer_0/self_attention";
  group.attributes["model_layer"] = std::string("encoder/layer_0/self_attention");
  std::vector<Selection> selections;
  complete_for_picture(map, "attention/weights", selections);
  const Slice slice = take_slice(map, "attention/weights", selections);
  BOOST_CHECK_EQUAL(heatmap_of(map, slice, {}).subtitle,
                    "attention/weights \u00b7 sentence 0 \u00b7 layer 0 \u00b7 head 0");
  FigureOptions named;
  named.title = "One sentence";
  BOOST_CHECK_EQUAL(heatmap_of(map, slice, named).subtitle,
                    "attention/weights \u00b7 sentence 0 \u00b7 layer 0 (encoder/layer_0/self_attention) "
                    "\u00b7 head 0");
}

BOOST_AUTO_TEST_SUITE_END()
