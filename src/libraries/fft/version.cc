#include "libraries/fft/abi.h"

int tutti::fft::FftVersion() { return FFT_VERSION; }
