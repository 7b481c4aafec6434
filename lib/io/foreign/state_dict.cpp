#include "io/foreign/state_dict.h"

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "io/foreign/elements.h"

namespace heed::io {
namespace {

constexpr std::size_t kMostOnStack = 10'000, kMostRemembered = 100'000, kMostPickled = 100'000, kMostAxes = 8,
                      kMostTextBytes = 4096;
constexpr int kMostLevels = 8;  // tuples within tuples

/// The globals that a state dict needs.
constexpr std::string_view kRebuild = "torch._utils _rebuild_tensor_v2",
                           kOrderedDict = "collections OrderedDict";
constexpr std::array<std::pair<std::string_view, const char*>, 10> kStorages{
    {{"torch FloatStorage", "F32"},
     {"torch HalfStorage", "F16"},
     {"torch BFloat16Storage", "BF16"},
     {"torch DoubleStorage", "F64"},
     {"torch LongStorage", "I64"},
     {"torch IntStorage", "I32"},
     {"torch ShortStorage", "I16"},
     {"torch CharStorage", "I8"},
     {"torch ByteStorage", "U8"},
     {"torch BoolStorage", "BOOL"}}};

enum class Kind { none, flag, number, text, tuple, dict, global, storage, tensor, mark };

constexpr std::array<const char*, 10> kKindNames{"None",   "a bool",   "a number",  "a text",   "a tuple",
                                                 "a dict", "a global", "a storage", "a tensor", "a mark"};

/// What a pickle puts into a dict.
struct Dict {
  std::vector<PickledTensor> tensors;
  std::string other;  ///< an entry that is no name and tensor, for a message; such entries are not kept
};

/// A value on the pickle's stack. Copies share their content.
struct Value {
  Kind kind = Kind::none;
  int levels = 0;                                   ///< of tuples
  std::int64_t number = 0;                          ///< a flag is 0 or 1
  std::shared_ptr<const std::string> text;          ///< of a text; "module name" of a global
  std::shared_ptr<const std::vector<Value>> items;  ///< of a tuple
  std::shared_ptr<const PickledTensor> tensor;      ///< or a storage, without name, offset and shape
  std::shared_ptr<Dict> dict;
};

class Machine {
 public:
  Machine(std::string_view pickle, const std::string& where) : rest_(pickle), where_(where) {}

  std::vector<PickledTensor> run() {
    while (true) {
      const char op = take(1)[0];
      if (op == '.') break;  // STOP
      step(op);
      if (stack_.size() > kMostOnStack) refuse("keeps more than ", kMostOnStack, " values at a time");
    }
    const Value result = pop();
    if (result.kind != Kind::dict) refuse("holds ", name_of(result), ", wanted a dict of tensors");
    if (!stack_.empty()) refuse("leaves values behind");
    if (!result.dict->other.empty())
      refuse("has an entry of ", result.dict->other, ", wanted names of tensors only");
    return std::move(result.dict->tensors);
  }

 private:
  template <class... Words>
  [[noreturn]] void refuse(const Words&... words) const {
    fail(where_, ": this pickle ", words..., ": is it a state dict of PyTorch, saved by torch.save?");
  }
  static const char* name_of(const Value& value) { return kKindNames[static_cast<std::size_t>(value.kind)]; }

  std::string_view take(std::size_t count) {
    if (count > rest_.size()) refuse("is cut short");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  /// Little endian.
  std::uint64_t take_number(std::size_t bytes) {
    std::uint64_t value = 0;
    const std::string_view taken = take(bytes);
    for (std::size_t i = bytes; i-- > 0;) value = value << 8 | static_cast<unsigned char>(taken[i]);
    return value;
  }
  std::string take_line() {
    const std::size_t end = rest_.find('\n');
    if (end == rest_.npos || end > kMostTextBytes) refuse("is cut short");
    std::string line(take(end));
    take(1);
    return line;
  }
  /// Two's complement of up to 8 bytes.
  std::int64_t take_long() {
    const std::uint64_t size = take_number(1);
    if (size > 8) refuse("has a number of ", size, " bytes");
    if (size == 0) return 0;
    const unsigned unused = static_cast<unsigned>(64 - 8 * size);
    return static_cast<std::int64_t>(take_number(size) << unused) >> unused;
  }

  void push(Value value) { stack_.push_back(std::move(value)); }
  void push_number(std::int64_t number, Kind kind = Kind::number) {
    Value value;
    value.kind = kind;
    value.number = number;
    push(std::move(value));
  }
  void push_text(Kind kind, std::string text) {
    Value value;
    value.kind = kind;
    value.text = std::make_shared<const std::string>(std::move(text));
    push(std::move(value));
  }
  Value pop() {
    if (stack_.empty()) refuse("takes a value where there is none");
    Value value = std::move(stack_.back());
    stack_.pop_back();
    return value;
  }
  Value pop(Kind wanted) {
    Value value = pop();
    if (value.kind != wanted)
      refuse("has ", name_of(value), " where ", kKindNames[static_cast<std::size_t>(wanted)], " was wanted");
    return value;
  }
  std::vector<Value> pop_items(std::size_t count) {
    if (count > stack_.size()) refuse("takes a value where there is none");
    const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
    std::vector<Value> items(std::make_move_iterator(first), std::make_move_iterator(stack_.end()));
    stack_.erase(first, stack_.end());
    return items;
  }
  /// Pops the values after the last mark, and the mark.
  std::vector<Value> pop_to_mark() {
    std::size_t count = 0;
    while (count < stack_.size() && stack_[stack_.size() - 1 - count].kind != Kind::mark) ++count;
    std::vector<Value> items = pop_items(count);
    pop(Kind::mark);
    return items;
  }

  void remember(std::uint64_t key) {
    if (stack_.empty()) refuse("takes a value where there is none");
    if (remembered_.size() >= kMostRemembered) refuse("remembers more than ", kMostRemembered, " values");
    remembered_[key] = stack_.back();
  }
  void recall(std::uint64_t key) {
    const auto found = remembered_.find(key);
    if (found == remembered_.end()) refuse("recalls a value that it never kept");
    push(found->second);
  }

  void push_tuple(std::vector<Value> items) {
    Value tuple;
    tuple.kind = Kind::tuple;
    for (const Value& item : items) tuple.levels = std::max(tuple.levels, item.levels + 1);
    if (tuple.levels > kMostLevels) refuse("nests tuples deeper than ", kMostLevels);
    tuple.items = std::make_shared<const std::vector<Value>>(std::move(items));
    push(std::move(tuple));
  }
  void push_dict() {
    Value dict;
    dict.kind = Kind::dict;
    dict.dict = std::make_shared<Dict>();
    push(std::move(dict));
  }
  /// Adds entries to the dict on the stack.
  void set(const std::vector<Value>& items) {
    if (stack_.empty() || stack_.back().kind != Kind::dict || items.size() % 2 != 0)
      refuse("sets entries of something that is not a dict");
    Dict& dict = *stack_.back().dict;
    for (std::size_t i = 0; i < items.size(); i += 2) {
      if (items[i].kind != Kind::text || items[i + 1].kind != Kind::tensor) {
        dict.other = concat(name_of(items[i]), " and ", name_of(items[i + 1]));
        continue;
      }
      PickledTensor tensor = *items[i + 1].tensor;
      tensor.name = *items[i].text;
      if (tensor.name.empty() || !names_.insert(tensor.name).second)
        refuse("has the name \"", escaped(tensor.name, 100), "\" twice, or an empty one");
      if (names_.size() > kMostPickled) refuse("has more than ", kMostPickled, " tensors");
      dict.tensors.push_back(std::move(tensor));
    }
  }

  /// ('storage', class, key, device, number of elements)
  void push_storage() {
    const Value id = pop(Kind::tuple);
    const std::vector<Value>& items = *id.items;
    if (items.size() != 5 || items[0].kind != Kind::text || *items[0].text != "storage" ||
        items[1].kind != Kind::global || items[2].kind != Kind::text || items[4].kind != Kind::number ||
        items[4].number < 0)
      refuse("has a persistent object that is not a storage");
    const auto* found = std::ranges::find(kStorages, std::string_view(*items[1].text),
                                          &std::pair<std::string_view, const char*>::first);
    if (found == kStorages.end()) refuse("has a storage of the type ", escaped(*items[1].text, 100));
    PickledTensor storage;
    storage.type = found->second;
    storage.storage = items[2].text;
    storage.elements = items[4].number;
    Value value;
    value.kind = Kind::storage;
    value.tensor = std::make_shared<const PickledTensor>(std::move(storage));
    push(std::move(value));
  }

  Shape sizes_of(const Value& tuple) const {
    if (tuple.kind != Kind::tuple || tuple.items->size() > kMostAxes) refuse("has a tensor without a shape");
    Shape sizes;
    for (const Value& item : *tuple.items) {
      if (item.kind != Kind::number || item.number < 0)
        refuse("has a tensor whose shape is not a list of sizes");
      sizes.push_back(item.number);
    }
    return sizes;
  }

  static bool is_nothing(const Value& value) {
    return value.kind == Kind::none ||
           (value.kind == Kind::dict && value.dict->tensors.empty() && value.dict->other.empty());
  }

  /// (storage, offset, shape, strides, requires_grad, hooks), and further arguments that change the values,
  /// which must be absent.
  void push_tensor(const std::vector<Value>& items) {
    if (items.size() < 6 || items[0].kind != Kind::storage || items[1].kind != Kind::number ||
        items[1].number < 0)
      refuse("makes a tensor of something else than a storage");
    if (items.size() > 7 || (items.size() == 7 && !is_nothing(items[6])))
      refuse("has a tensor that is not its values alone (such as a negated view): save it after .clone()");
    PickledTensor tensor = *items[0].tensor;
    tensor.offset = items[1].number;
    tensor.shape = sizes_of(items[2]);
    const Shape strides = sizes_of(items[3]);
    if (strides.size() != tensor.shape.size()) refuse("has a tensor whose strides do not fit its shape");
    // Row-major: the stride of an axis is the number of values in those after it.
    std::uint64_t bits = 0;
    if (!count_bits(tensor.shape, 8, bits)) refuse("has a tensor that is larger than its storage");
    const std::int64_t count = element_count(tensor.shape);
    std::int64_t stride = 1;
    for (std::size_t axis = strides.size(); axis-- > 0 && count > 0;) {
      if (tensor.shape[axis] > 1 && strides[axis] != stride)
        refuse("has a tensor that is not stored row by row: save it after .contiguous()");
      stride *= tensor.shape[axis];
    }
    if (count > tensor.elements) refuse("has a tensor that is larger than its storage");
    if (tensor.offset > tensor.elements - count) refuse("has a tensor that is larger than its storage");
    Value value;
    value.kind = Kind::tensor;
    value.tensor = std::make_shared<const PickledTensor>(std::move(tensor));
    push(std::move(value));
  }

  void push_global() {
    std::string module = take_line();
    std::string name = concat(module, ' ', take_line());
    if (name != kRebuild && name != kOrderedDict &&
        std::ranges::find(kStorages, std::string_view(name),
                          &std::pair<std::string_view, const char*>::first) == kStorages.end())
      refuse("needs ", escaped(name, 100), ", which is not run");
    push_text(Kind::global, std::move(name));
  }

  /// A call of one of the two functions that a state dict needs.
  void reduce() {
    const Value arguments = pop(Kind::tuple), function = pop(Kind::global);
    if (*function.text == kRebuild) return push_tensor(*arguments.items);
    if (*function.text == kOrderedDict && arguments.items->empty()) return push_dict();
    refuse("calls ", escaped(*function.text, 100), ", which is not run");
  }

  void step(char op) {
    switch (op) {
      case '\x80':  // PROTO
        if (const auto version = take_number(1); version < 2 || version > 3)
          refuse("is of protocol ", version, ", wanted 2 or 3");
        return;
      case '}':
        return push_dict();
      case ')':
        return push_tuple({});
      case '(':
        return push_number(0, Kind::mark);
      case 'N':
        return push({});
      case '\x88':  // NEWTRUE, NEWFALSE
      case '\x89':
        return push_number(op == '\x88', Kind::flag);
      case 'K':  // BININT1, BININT2, BININT, LONG1
        return push_number(static_cast<std::int64_t>(take_number(1)));
      case 'M':
        return push_number(static_cast<std::int64_t>(take_number(2)));
      case 'J':
        return push_number(static_cast<std::int32_t>(take_number(4)));
      case '\x8a':
        return push_number(take_long());
      case 'X': {  // BINUNICODE
        const std::string_view text = take(take_number(4));
        if (text.size() > kMostTextBytes)
          refuse("has a text of ", text.size(), " bytes, wanted at most ", kMostTextBytes);
        if (!is_utf8(text) || text.find('\0') != text.npos) refuse("has a text that is not UTF-8");
        return push_text(Kind::text, std::string(text));
      }
      case 'c':
        return push_global();
      case 't':  // TUPLE, TUPLE1, TUPLE2, TUPLE3
        return push_tuple(pop_to_mark());
      case '\x85':
      case '\x86':
      case '\x87':
        return push_tuple(pop_items(static_cast<std::size_t>(op - '\x84')));
      case 'q':  // BINPUT, LONG_BINPUT
        return remember(take_number(1));
      case 'r':
        return remember(take_number(4));
      case 'h':  // BINGET, LONG_BINGET
        return recall(take_number(1));
      case 'j':
        return recall(take_number(4));
      case 'Q':  // BINPERSID
        return push_storage();
      case 'R':
        return reduce();
      case 's':  // SETITEM, SETITEMS
        return set(pop_items(2));
      case 'u':
        return set(pop_to_mark());
      case 'b':  // BUILD: attributes of an OrderedDict, versions of its modules
        pop();
        if (stack_.empty() || stack_.back().kind != Kind::dict)
          refuse("sets attributes of something that is not a dict");
        return;
      default:
        refuse("has the opcode ", static_cast<unsigned>(static_cast<unsigned char>(op)),
               ", which no state dict needs");
    }
  }

  std::string_view rest_;
  const std::string& where_;
  std::vector<Value> stack_;
  std::unordered_map<std::uint64_t, Value> remembered_;
  std::unordered_set<std::string> names_;
};

}  // namespace

std::vector<PickledTensor> read_state_dict(std::string_view pickle, const std::string& where) {
  return Machine(pickle, where).run();
}

}  // namespace heed::io
