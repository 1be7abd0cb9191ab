// The operations of a transform along one axis.
#pragma once

#include "libraries/fft/route.h"

namespace tutti::fft {

// `outer` arrays of n * inner elements, transformed along n. An array is as many rows as `rows_per_array` says: it
// multiplies the pitches of operands.
struct Axis {
  uint64_t outer = 1, n = 1, inner = 1;
  bool is_inverse = false;
  uint64_t rows_per_array = 1;
};

// Where the builders put their steps.
struct Output {
  Steps& steps;
  Tables& tables;
  bool is_double = false;
};

// Appends them to `operations`; the result of each has the form `to`. None for n = 1.
//
// Sizes with prime factors up to 13 take one pass for each radix (factors.h), and rows of a small power of two one
// kernel for all of them. Others are a convolution with a chirp (Bluestein's method): of zero-padded copies, a power of
// two long, in the scratch arrays.
void AddAxis(const Axis& axis, const Form& to, Output& output, std::vector<Operation>& operations);

}  // namespace tutti::fft
