// Numbers as the passes need them.
#pragma once

#include <cstdint>
#include <vector>

#include "libraries/fft/kernels/arguments.h"

namespace tutti::fft {

// The radices of the passes for n points, in their order: the largest power of two first, since the lanes of later
// passes then run along more contiguous elements. Empty if n is 1, or has a prime factor above 13 (see HasPasses).
std::vector<unsigned> Radices(uint64_t n);
bool HasPasses(uint64_t n);

// Of numbers below 2^31, by a `divisor` from 1 to 2^31 - 1.
Divisor MakeDivisor(unsigned divisor);

}  // namespace tutti::fft
