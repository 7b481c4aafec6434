#include "text/bounded_json.h"

#include "base/error.h"

namespace heed::text {
namespace {

using Json = nlohmann::json;

/// Counts the values of a text without building them. A callback of the building parser would work too, but
/// that one scans a whole list for each object in it.
class Counter final : public Json::json_sax_t {
 public:
  Counter(const std::string& where, std::int64_t most) : where_(where), most_(most) {}

  bool null() override { return count(); }
  bool boolean(bool) override { return count(); }
  bool number_integer(number_integer_t) override { return count(); }
  bool number_unsigned(number_unsigned_t) override { return count(); }
  bool number_float(number_float_t, const string_t&) override { return count(); }
  bool string(string_t&) override { return count(); }
  bool binary(binary_t&) override { return count(); }
  bool key(string_t&) override { return count(); }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override { return false; }

 private:
  bool count() {
    if (++count_ > most_) fail(where_, ": JSON of more than ", most_, " names and values");
    return true;
  }
  bool open() {
    if (levels_++ >= kMostJsonLevels) fail(where_, ": JSON nested deeper than ", kMostJsonLevels, " levels");
    return count();
  }
  bool close() {
    --levels_;
    return true;
  }

  const std::string& where_;
  std::int64_t most_, count_ = 0;
  int levels_ = 0;
};

}  // namespace

Json parse_bounded_json(const std::string& text, const std::string& where, std::int64_t most) {
  Counter counter(where, most);
  const bool ends_early = text.find('\0') != text.npos;  // the parser takes it for the end
  if (ends_early || !Json::sax_parse(text, &counter)) return Json::value_t::discarded;
  return Json::parse(text, nullptr, false);
}

}  // namespace heed::text
