// Fuzzes the readers of other programs' tokenizers: any bytes are an Error or a tokenizer, which gives ids of
// its own for a text and text for all of its ids.
#include "text/tokenizer.h"

#include <numeric>

#include "base/error.h"
#include "fuzz/input.h"
#include "text/foreign_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace heed;
  const FuzzedFile input(bytes, size);
  try {
    const auto tokenizer = text::Tokenizer::from_foreign(text::read_foreign_tokenizer(input.path()));
    const auto sentence =
        tokenizer.sentence(">>fra<< The n\xC3\xA4ive kings'  houses, 1234 <mask>\xE3\x80\x82");
    for (const std::int32_t id : sentence)
      if (id < 0 || id >= tokenizer.size()) std::abort();
    std::vector<std::int32_t> all(static_cast<std::size_t>(std::min<std::int64_t>(tokenizer.size(), 1000)));
    std::iota(all.begin(), all.end(), 0);
    tokenizer.decode(all);
  } catch (const Error&) {
  }
  return 0;
}
