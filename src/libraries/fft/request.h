// A transform as a program asks for it, in the forms of cuFFT's functions.
#pragma once

#include <cstdint>

#include "libraries/fft/abi.h"
#include "libraries/fft/problem.h"

namespace tutti::fft {

// Of cufftType.
FftResult ReadType(int type, Kind* kind, bool* is_double);

// One or more dense transforms of `rank` extents.
FftResult ReadDense(int rank, const int64_t* n, int type, int64_t batch, Problem* problem);

// The layouts of cufftPlanMany, with numbers of 32 or 64 bits. Both embeddings are null, or none is.
template <typename Int>
struct ManyLayout {
  const Int* in_embed;
  Int in_stride, in_dist;
  const Int* out_embed;
  Int out_stride, out_dist;
};
template <typename Int>
FftResult ReadMany(int rank, const Int* n, const ManyLayout<Int>& layout, int type, Int batch, Problem* problem);

// cufftType of what cufftXtMakePlanMany is given, if there is one.
FftResult TypeOfData(int in, int out, int execution, int* type);

}  // namespace tutti::fft
