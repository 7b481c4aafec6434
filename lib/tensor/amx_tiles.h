// Blocks of products by AMX, whose tiles hold 16 rows of 64 bytes each: four tiles of sums, two of a and two of b, with b laid
// out as in bfloat16_tiles.h and ReducedPanels. For reduced_panels.cpp, bfloat16_product.cpp and bfloat16_loss.cpp, which check that
// the processor has AMX (base/simd_level.h).
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "hwy/base.h"
#include "tensor/precision.h"

#define HEED_AMX_TARGET "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16,amx-tile,amx-int8,amx-bf16"

/// Tile `sums` += tile a times tile b.
#define HEED_ADD_TILES(sums, a, b)              \
  do {                                          \
    if constexpr (precision == Precision::int8) \
      _tile_dpbusd(sums, a, b);                 \
    else                                        \
      _tile_dpbf16ps(sums, a, b);               \
  } while (false)

HWY_PUSH_ATTRIBUTES(HEED_AMX_TARGET)

namespace heed::amx {

using Index = std::int64_t;

inline constexpr Index kTileRows = 16;    ///< at most
inline constexpr Index kTileGroups = 16;  ///< at most, of 4 bytes: two bfloat16 or four int8 along k
inline constexpr Index kSums = 32;        ///< columns of a block of sums, and rows at most

/// How tiles take the groups of a factor that can be filled up with zeros: `count` steps of `depth` groups each.
struct TileSteps {
  Index count, depth;

  explicit TileSteps(Index groups)
      : count((groups + kTileGroups - 1) / kTileGroups), depth((groups + count - 1) / count) {}
  Index groups() const { return count * depth; }
};

/// The height of tiles that `rows` rows fill best.
inline Index tile_height(Index rows) {
  const Index tiles = (rows + kTileRows - 1) / kTileRows;
  return (rows + tiles - 1) / tiles;
}

/// The shape of tiles, for one thread, as long as this lives: `height` rows of a at a time, and `depth` groups.
class Tiles {
 public:
  Tiles(Index height, Index depth) : height_(height), a_step_(4 * depth), b_step_(depth * kRowBytes) {
    struct {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t bytes[16] = {};  // of a row
      std::uint8_t rows[16] = {};
    } shape;
    for (int tile = 0; tile < 8; ++tile) {
      const bool of_a = tile == 4 || tile == 5, of_b = tile >= 6;
      shape.bytes[tile] = static_cast<std::uint16_t>(of_a ? 4 * depth : 64);
      shape.rows[tile] = static_cast<std::uint8_t>(of_b ? depth : height);
    }
    written(&shape);
    _tile_loadconfig(&shape);
  }
  ~Tiles() { _tile_release(); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;

  Index height() const { return height_; }

  /// sums [rows, kSums], float or int32, = a b, rows at most twice the height. a: rows of a, `stride` bytes apart, of `steps`
  /// times the depth of groups; rows up to the next multiple of the height are read, too. b: for each group, the 4 bytes of
  /// 32 columns. bfloat16: of a step, the products of the first and of the second numbers of the groups are added up apart,
  /// then both sums to the sum so far, each addition rounded to float32, and denormal numbers count as 0; int8: unsigned times
  /// signed.
  template <Precision precision>
  HWY_INLINE void multiply(const void* a, Index stride, Index rows, const void* b, Index steps,
                           void* sums) const {
    const auto *at = static_cast<const std::byte*>(a), *panel = static_cast<const std::byte*>(b);
    auto* const to = static_cast<std::byte*>(sums);
    written(a);
    // The numbers of tiles are part of the instructions: sums in 0 to 3, a in 4 and 5, b in 6 and 7.
    _tile_zero(0);
    _tile_zero(1);
    if (rows <= height_) {
      for (Index step = 0; step < steps; ++step, at += a_step_, panel += b_step_)
        add_first<precision>(at, stride, panel);
    } else {
      const std::byte* below = at + height_ * stride;
      _tile_zero(2);
      _tile_zero(3);
      for (Index step = 0; step < steps; ++step, at += a_step_, below += a_step_, panel += b_step_) {
        add_first<precision>(at, stride, panel);
        _tile_loadd(5, below, stride);
        HEED_ADD_TILES(2, 5, 6);
        HEED_ADD_TILES(3, 5, 7);
      }
      _tile_stored(2, to + height_ * kRowBytes, kRowBytes);
      _tile_stored(3, to + height_ * kRowBytes + kVectorBytes, kRowBytes);
    }
    _tile_stored(0, to, kRowBytes);
    _tile_stored(1, to + kVectorBytes, kRowBytes);
    written(sums);
  }

  /// The same for rows up to the height and the two panels b and next: sums [rows, kSums] each. Four sums at a time, as above,
  /// hide how long an instruction takes.
  template <Precision precision>
  HWY_INLINE void multiply_two(const void* a, Index stride, const void* b, const void* next, Index steps,
                               void* sums, void* next_sums) const {
    const auto *at = static_cast<const std::byte*>(a), *panel = static_cast<const std::byte*>(b),
               *beside = static_cast<const std::byte*>(next);
    auto *const to = static_cast<std::byte*>(sums), *const beside_to = static_cast<std::byte*>(next_sums);
    written(a);
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (Index step = 0; step < steps; ++step, at += a_step_, panel += b_step_, beside += b_step_) {
      add_first<precision>(at, stride, panel);
      _tile_loadd(6, beside, kRowBytes);
      _tile_loadd(7, beside + kVectorBytes, kRowBytes);
      HEED_ADD_TILES(2, 4, 6);
      HEED_ADD_TILES(3, 4, 7);
    }
    _tile_stored(0, to, kRowBytes);
    _tile_stored(1, to + kVectorBytes, kRowBytes);
    _tile_stored(2, beside_to, kRowBytes);
    _tile_stored(3, beside_to + kVectorBytes, kRowBytes);
    written(sums);
  }

 private:
  static constexpr Index kRowBytes = 4 * kSums, kVectorBytes = kRowBytes / 2;

  /// Compilers do not know that the instructions for tiles read memory: what was stored before must be there now.
  static HWY_INLINE void written(const void* at) { asm volatile("" : : "r"(at) : "memory"); }

  /// A step of the first tile of a, left in 4, with a panel, whose halves are left in 6 and 7.
  template <Precision precision>
  static HWY_INLINE void add_first(const std::byte* a, Index stride, const std::byte* panel) {
    _tile_loadd(4, a, stride);
    _tile_loadd(6, panel, kRowBytes);
    _tile_loadd(7, panel + kVectorBytes, kRowBytes);
    HEED_ADD_TILES(0, 4, 6);
    HEED_ADD_TILES(1, 4, 7);
  }

  Index height_;
  Index a_step_, b_step_;  ///< bytes
};

}  // namespace heed::amx

HWY_POP_ATTRIBUTES
#undef HEED_ADD_TILES
#endif
