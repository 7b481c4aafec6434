// Values as bytes between a tool and the process that reads files for it. Both run the same program, so there
// are no versions and no byte orders. Internal to lib/io.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "io/chunked_tensor.h"
#include "tensor/tensor_map.h"

namespace heed::io {

/// One end of a socket, not owned. Output is buffered until flush().
class Channel {
 public:
  /// Thrown if the other end is gone or sends invalid data.
  struct Closed {
    bool is_nonsense = false;
  };

  explicit Channel(int socket);

  /// The maximal number of bytes until the next call: more, or a list that would need more memory, is
  /// invalid. Initially unlimited.
  void allow(std::uint64_t bytes) { allowed_ = bytes; }

  /// Counts bytes of the other end that come by another way. Throws Closed if there are too many.
  void spend(std::uint64_t bytes);

  void put_bytes(const void* bytes, std::size_t count);
  void get_bytes(void* bytes, std::size_t count);
  void flush();

  void put(std::int64_t number) { put_bytes(&number, sizeof number); }
  void put(double number) { put_bytes(&number, sizeof number); }
  void put(const std::string& text) { put_plain(text); }
  template <class T>
  void put(const std::vector<T>& list) {
    if constexpr (std::is_arithmetic_v<T>) return put_plain(list);
    put(static_cast<std::int64_t>(list.size()));
    if constexpr (!std::is_arithmetic_v<T>)
      for (const T& item : list) put(item);
  }
  template <class T>
  void put(const std::map<std::string, T>& map) {
    put(static_cast<std::int64_t>(map.size()));
    for (const auto& [name, value] : map) put(name), put(value);
  }
  template <class... T>
  void put(const std::variant<T...>& value) {
    put(static_cast<std::int64_t>(value.index()));
    std::visit([this](const auto& held) { put(held); }, value);
  }
  void put(const Group& group);
  void put(const Tensor& tensor);
  /// What there is of a tensor besides its values.
  void put_description(const Tensor& tensor);
  void put(const ChunkedTensor& tensor);

  void get(std::int64_t& number) { get_bytes(&number, sizeof number); }
  void get(double& number) { get_bytes(&number, sizeof number); }
  void get(std::string& text) { get_plain(text); }
  template <class T>
  void get(std::vector<T>& list) {
    if constexpr (std::is_arithmetic_v<T>) return get_plain(list);
    if constexpr (!std::is_arithmetic_v<T>)
      for (std::size_t left = get_count(sizeof(T)); left > 0; --left) get(list.emplace_back());
  }
  template <class T>
  void get(std::map<std::string, T>& map) {
    for (std::size_t left = get_count(sizeof(std::pair<const std::string, T>)); left > 0; --left) {
      std::string name;
      get(name);
      get(map[name]);
    }
  }
  template <class... T>
  void get(std::variant<T...>& value) {
    std::int64_t index = 0, at = 0;
    get(index);
    ((index == at++ ? get(value.template emplace<T>()) : void()), ...);
    if (index < 0 || index >= at) throw Closed{.is_nonsense = true};
  }
  void get(Group& group);
  void get(Tensor& tensor);
  /// A tensor of numbers whose description was put: `values` gets their place, at most `room` bytes.
  Tensor get_numbers(std::uint64_t room, const std::function<void(std::span<std::byte>)>& values);
  void get(ChunkedTensor& tensor);

 private:
  template <class List>
  void put_plain(const List& list) {
    put(static_cast<std::int64_t>(list.size()));
    put_bytes(list.data(), list.size() * sizeof(*list.data()));
  }
  template <class List>
  void get_plain(List& list) {
    list.resize(get_count(sizeof(*list.data())));
    get_bytes(list.data(), list.size() * sizeof(*list.data()));
  }
  std::size_t get_count(std::size_t item_bytes);
  static void expect_room(std::int64_t count, std::size_t item_bytes, std::uint64_t room);
  DType get_dtype();
  template <class Fill>
  Tensor get_described(std::uint64_t room, const Fill& fill);

  void send_all(const char* bytes, std::size_t count);

  int socket_;
  std::uint64_t allowed_ = UINT64_MAX;
  std::vector<char> out_;
  std::unique_ptr<char[]> in_;  ///< never touched beyond the bytes received at once
  std::size_t read_ = 0, filled_ = 0;
};

}  // namespace heed::io
