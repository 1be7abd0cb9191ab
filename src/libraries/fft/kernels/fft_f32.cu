// float
#define FFT_TYPE float
#include "libraries/fft/kernels/others.cuh"
#include "libraries/fft/kernels/passes.cuh"
