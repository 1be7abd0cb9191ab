// The passes for elements of FFT_TYPE, named pass_<radix>_<lanes>.
#include "libraries/fft/kernels/pass.cuh"

#define FFT_PASS(radix, name, lanes)                                                            \
  extern "C" __global__ void pass_##radix##_##name(const tutti::fft::PassArguments arguments) { \
    fft::Pass<FFT_TYPE, radix, fft::Lanes::lanes>(arguments);                                   \
  }
#define FFT_PASSES(radix)                 \
  FFT_PASS(radix, rows, kRows)            \
  FFT_PASS(radix, edge_rows, kEdgeRows)   \
  FFT_PASS(radix, first, kFirst)          \
  FFT_PASS(radix, edge_first, kEdgeFirst) \
  FFT_PASS(radix, tile8, kTile8)          \
  FFT_PASS(radix, tile16, kTile16)        \
  FFT_PASS(radix, edge_tile8, kEdgeTile8) \
  FFT_PASS(radix, edge_tile16, kEdgeTile16) \
  FFT_PASS(radix, tile, kTile)            \
  FFT_PASS(radix, flat, kFlat)

FFT_PASSES(2)
FFT_PASSES(3)
FFT_PASSES(4)
FFT_PASSES(5)
FFT_PASSES(7)
FFT_PASSES(8)
FFT_PASSES(11)
FFT_PASSES(13)
FFT_PASSES(16)
