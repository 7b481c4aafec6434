#include "tensor/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace heed {

namespace {
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kSmallestChunk = std::size_t{1} << 16, kUsualChunk = std::size_t{8} << 20;
/// From twice the usual size on, memory in pages of 2 MB where the system gives them: a pass of training touches
/// everything a few times only, and translating addresses costs as much as some kernels.
constexpr std::size_t kHugePage = std::size_t{2} << 20, kLargeChunk = 2 * kUsualChunk;
}  // namespace

void Arena::Free::operator()(std::byte* p) const {
  ::operator delete (p, std::align_val_t{kAlignment});
}

void* Arena::bytes(std::size_t count) {
  count = (count + kAlignment - 1) / kAlignment * kAlignment;
  while (chunk_ < chunks_.size() && used_ + count > chunks_[chunk_].size) {
    ++chunk_;
    used_ = 0;
  }
  if (chunk_ == chunks_.size()) {
    add_chunk(std::max(
        count, std::clamp(total_, kSmallestChunk, kUsualChunk)));  // doubles what there is, up to the usual
    used_ = 0;
  }
  void* p = chunks_[chunk_].data.get() + used_;
  used_ += count;
  total_ += count;
  return p;
}

void Arena::reset() {
  // Several chunks leave gaps that depend on the order of sizes, so the next pass gets a single large one, with room for
  // a somewhat larger batch: what is not used takes no memory.
  if (chunks_.size() > 1) {
    const std::size_t most = std::max(total_, most_);
    chunks_.clear();
    add_chunk(most + most / 4);
  }
  chunk_ = 0;
  used_ = 0;
  total_ = 0;
  most_ = 0;
}

void Arena::reserve(std::size_t count) {
  if (chunks_.empty()) add_chunk(count);
}

void Arena::rewind(const Mark& mark) {
  most_ = std::max(total_, most_);
  chunk_ = mark.chunk;
  used_ = mark.used;
  total_ = mark.total;
}

void Arena::add_chunk(std::size_t size) {
  auto* data = static_cast<std::byte*>(::operator new (size, std::align_val_t{kAlignment}));
  chunks_.push_back({std::unique_ptr<std::byte, Free>(data), size});
#ifdef MADV_HUGEPAGE
  if (size < kLargeChunk) return;
  const std::size_t before = kHugePage - reinterpret_cast<std::uintptr_t>(data) % kHugePage;
  madvise(data + before, (size - before) / kHugePage * kHugePage, MADV_HUGEPAGE);  // if not, then not
#endif
}

}  // namespace heed
