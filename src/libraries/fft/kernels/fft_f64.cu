#define FFT_TYPE double
#include "libraries/fft/kernels/others.cuh"
#include "libraries/fft/kernels/passes.cuh"
