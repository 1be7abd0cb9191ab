#define FFT_TYPE float
#define FFT_HAS_WHOLE_4096
#include "libraries/fft/kernels/others.cuh"
#include "libraries/fft/kernels/passes.cuh"
