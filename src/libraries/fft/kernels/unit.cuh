// A block's units of 32 lanes (arguments.h).
#pragma once

#include "libraries/fft/kernels/arguments.h"

namespace fft {

// Calls body(row, position along the row) for each unit of this block.
template <typename Body>
__device__ __forceinline__ void ForUnits(const tutti::fft::CommonArguments& a, Body body) {
  const unsigned begin = blockIdx.x * a.units_per_block;
  const unsigned end = a.units - begin < a.units_per_block ? a.units : begin + a.units_per_block;
  for (unsigned unit = begin; unit < end; ++unit) body(unit / a.chunks, unit % a.chunks * 32 + threadIdx.x);
}

__device__ __forceinline__ unsigned Divide(unsigned n, tutti::fft::Divisor by) {
  return static_cast<unsigned>(static_cast<unsigned long long>(n) * by.factor >> by.shift);
}

}  // namespace fft
