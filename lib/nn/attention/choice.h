// Hard attention: a single key instead of the weighted mean of all (Xu et al. 2015, section 4).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "autograd/tape.h"

namespace heed {

/// Marks a row that keeps its expectation instead of a chosen key.
inline constexpr std::int64_t kExpected = -1;

/// The key of the largest element, the first of equal ones. There must be at least one.
template <class T>
std::int64_t largest_key(std::span<const T> row);

/// A key sampled by its weight, with u uniform in [0, 1); the number of keys if all weights are 0.
template <class T>
std::int64_t drawn_key(std::span<const T> weights, double u);

/// Row i of alpha [n, keys] if chosen[i] is kExpected, otherwise 1 at key chosen[i] and 0 elsewhere: no
/// gradient passes through a chosen key.
template <class T>
Var<T> choose(Var<T> alpha, const std::vector<std::int64_t>& chosen);

/// A row's weights for the key `chosen`: 1 there and 0 elsewhere; all zeros if it is not a key.
template <class T>
void choose_key(std::span<T> row, std::int64_t chosen);

}  // namespace heed
