// Hard attention: one key of all, instead of their weighted mean (Xu et al. 2015, section 4).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "autograd/tape.h"

namespace heed {

/// The weights of a row that keeps its expectation instead of a chosen key.
inline constexpr std::int64_t kExpected = -1;

/// The key of the largest element; of equal ones the first. There must be one.
template <class T>
std::int64_t largest_key(std::span<const T> row);

/// A key drawn by its weight, with u uniform in [0, 1); as many as there are keys when all weights are 0.
template <class T>
std::int64_t drawn_key(std::span<const T> weights, double u);

/// Row i of alpha [n, keys] where chosen[i] is kExpected, else 1 at key chosen[i] and 0 elsewhere: no
/// gradient goes through a chosen key.
template <class T>
Var<T> choose(Var<T> alpha, const std::vector<std::int64_t>& chosen);

/// A row's weights when the key `chosen` takes them all: 1 there and 0 elsewhere; zeros when it is no key.
template <class T>
void choose_key(std::span<T> row, std::int64_t chosen);

}  // namespace heed
