#include "io/channel.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

namespace heed::io {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 17;
constexpr std::int64_t kMost = std::int64_t{1} << 42;  // elements of a list

}  // namespace

Channel::Channel(int socket) : socket_(socket), in_(std::make_unique_for_overwrite<char[]>(kBuffer)) {
  out_.reserve(kBuffer);  // an error is sent when there may be no memory left
}

void Channel::put_bytes(const void* bytes, std::size_t count) {
  const char* from = static_cast<const char*>(bytes);
  if (out_.size() + count > kBuffer) flush();
  if (count > kBuffer) return send_all(from, count);
  out_.insert(out_.end(), from, from + count);
}

void Channel::flush() {
  send_all(out_.data(), out_.size());
  out_.clear();
}

void Channel::send_all(const char* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t put = send(socket_, bytes, count, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) throw Closed();
    bytes += put;
    count -= static_cast<std::size_t>(put);
  }
}

void Channel::spend(std::uint64_t bytes) {
  if (bytes > allowed_) throw Closed{.is_nonsense = true};
  allowed_ -= bytes;
}

void Channel::get_bytes(void* bytes, std::size_t count) {
  char* to = static_cast<char*>(bytes);
  spend(count);
  while (true) {
    const std::size_t ready = std::min(count, filled_ - read_);
    to = std::copy_n(in_.get() + read_, ready, to);
    read_ += ready;
    count -= ready;
    if (count == 0) return;
    // A long list goes straight to its place.
    const bool direct = count >= kBuffer;
    const ssize_t got = recv(socket_, direct ? to : in_.get(), direct ? count : kBuffer, 0);
    if (!direct) read_ = 0, filled_ = got > 0 ? static_cast<std::size_t>(got) : 0;
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw Closed();
    if (direct) to += got, count -= static_cast<std::size_t>(got);
  }
}

void Channel::expect_room(std::int64_t count, std::size_t item_bytes, std::uint64_t room) {
  if (count < 0 || count > kMost || static_cast<std::uint64_t>(count) > room / item_bytes)
    throw Closed{.is_nonsense = true};
}

std::size_t Channel::get_count(std::size_t item_bytes) {
  std::int64_t count = 0;
  get(count);
  expect_room(count, item_bytes, allowed_);
  return static_cast<std::size_t>(count);
}

void Channel::put(const Group& group) {
  put(group.signal), put(group.title), put(group.default_slice), put(group.attributes);
}

void Channel::get(Group& group) {
  get(group.signal), get(group.title), get(group.default_slice), get(group.attributes);
}

void Channel::put_description(const Tensor& tensor) {
  put(static_cast<std::int64_t>(tensor.dtype())), put(tensor.shape()), put(tensor.dims());
  put(tensor.attributes);
}

void Channel::put(const Tensor& tensor) {
  put_description(tensor);
  with_type(tensor.dtype(), [&]<class T>(T) {
    const auto values = tensor.values<T>();
    if constexpr (std::is_same_v<T, std::string>)
      for (const std::string& text : values) put(text);
    else
      put_bytes(values.data(), values.size_bytes());
  });
}

DType Channel::get_dtype() {
  std::int64_t dtype = 0;
  get(dtype);
  if (dtype < 0 || dtype > static_cast<std::int64_t>(DType::string)) throw Closed{.is_nonsense = true};
  return static_cast<DType>(dtype);
}

/// A tensor whose description comes next; its values, at most `room` bytes, come from `fill`.
template <class Fill>
Tensor Channel::get_described(std::uint64_t room, const Fill& fill) {
  const DType dtype = get_dtype();
  Shape shape;
  std::vector<std::string> dims;
  Attributes attributes;
  get(shape), get(dims), get(attributes);
  Tensor tensor = with_type(dtype, [&]<class T>(T) {
    const std::int64_t count = element_count(shape);
    expect_room(count, sizeof(T), room);
    std::vector<T> values(static_cast<std::size_t>(count));
    fill(std::span(values));
    return Tensor::of<T>(std::move(values), std::move(shape), std::move(dims));
  });
  tensor.attributes = std::move(attributes);
  return tensor;
}

void Channel::get(Tensor& tensor) {
  tensor = get_described(allowed_, [&]<class T>(std::span<T> values) {
    if constexpr (std::is_same_v<T, std::string>)
      for (std::string& text : values) get(text);
    else
      get_bytes(values.data(), values.size_bytes());
  });
}

Tensor Channel::get_numbers(std::uint64_t room, const std::function<void(std::span<std::byte>)>& values) {
  return get_described(std::min(room, allowed_), [&]<class T>(std::span<T> numbers) {
    if constexpr (std::is_same_v<T, std::string>)
      throw Closed{.is_nonsense = true};
    else
      spend(numbers.size_bytes()), values(std::as_writable_bytes(numbers));
  });
}

void Channel::put(const ChunkedTensor& tensor) {
  put(static_cast<std::int64_t>(tensor.dtype)), put(tensor.shape), put(tensor.dims), put(tensor.attributes);
  put(tensor.chunk), put(tensor.start), put(tensor.addresses);
}

void Channel::get(ChunkedTensor& tensor) {
  tensor.dtype = get_dtype();
  get(tensor.shape), get(tensor.dims), get(tensor.attributes);
  get(tensor.chunk), get(tensor.start), get(tensor.addresses);
}

}  // namespace heed::io
