// What the host passes to the kernels: included by both sides. A block of each kernel is one warp, which takes units of
// 32 lanes in a row: `units` in all, `units_per_block` each; `chunks` of them are a row.
#pragma once

namespace tutti::fft {

using Address = unsigned long long;

// A division of numbers below 2^31 by one number: (n * factor) >> shift, exact (factors.h).
struct Divisor {
  unsigned divisor = 1, factor = 0;
  int shift = 0;
};

// What all kernels have first.
struct CommonArguments {
  Address in = 0, out = 0, table = 0;
  Address in_pitch = 0, out_pitch = 0;  // elements from one row (array) to the next
  unsigned units = 0, units_per_block = 0, chunks = 0;
};

// One pass of radix R of Stockham's transform along the middle axis of `outer` arrays of R * m * s elements:
//   out[q + s (R p + k)] = table[k - 1][p] * sum over r of in[q + s (p + m r)] exp(-2 pi i k r / R),   p < m, q < s
// where s has grown from the elements of the inner axes by the radices of the passes before. The table is not read if
// m = 1. Imaginary parts are multiplied by `in_sign` as they come and by `out_sign` as they go: -1 at both ends of all
// passes makes the transform inverse.
//
// All passes of a small power of two in one kernel (kernels/whole.cuh) take only `common` and the signs; their table is
// Tables::Whole.
struct PassArguments {
  CommonArguments common;
  unsigned m = 0, s = 0, outer = 0;
  Divisor by_ms, by_s;  // only where a lane divides
  int in_sign = 1, out_sign = 1;
};

// out[row][t] = table[t / inner] * (t < in_length ? in[row][t] : 0) for t < out_length.
struct MultiplyArguments {
  CommonArguments common;
  unsigned in_length = 0, out_length = 0;
  Divisor by_inner;
  int in_sign = 1, out_sign = 1;
};

// Rows of the halves of Hermitian spectra: `half` is N / 2, rows have N / 2 + 1 elements; the table holds
// exp(-2 pi i k / N) for k <= half / 2.
struct HalfArguments {
  CommonArguments common;
  unsigned half = 0, length = 0, rows = 0;
};

// out[sum of index * out_stride] = in[sum of index * in_stride] for all indices; lanes run along the last.
struct CopyArguments {
  CommonArguments common;
  unsigned extents[4] = {};
  long long in_strides[4] = {}, out_strides[4] = {};
};

}  // namespace tutti::fft
