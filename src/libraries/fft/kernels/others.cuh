// The kernels around the passes, for elements of FFT_TYPE.
#include "libraries/fft/kernels/elements.cuh"

#define FFT_KERNEL(name, arguments_type, ...)                                            \
  extern "C" __global__ void name(const tutti::fft::arguments_type arguments) { \
    fft::__VA_ARGS__(arguments);                                                         \
  }

FFT_KERNEL(multiply, MultiplyArguments, Multiply<FFT_TYPE>)
FFT_KERNEL(real_spectrum, HalfArguments, RealSpectrum<FFT_TYPE, false>)
FFT_KERNEL(real_spectrum_rows, HalfArguments, RealSpectrum<FFT_TYPE, true>)
FFT_KERNEL(spectrum_real, HalfArguments, SpectrumReal<FFT_TYPE, false>)
FFT_KERNEL(spectrum_real_rows, HalfArguments, SpectrumReal<FFT_TYPE, true>)
FFT_KERNEL(whole_spectrum, HalfArguments, WholeSpectrum<FFT_TYPE, false>)
FFT_KERNEL(whole_spectrum_rows, HalfArguments, WholeSpectrum<FFT_TYPE, true>)
FFT_KERNEL(copy_complex, CopyArguments, Copy<fft::Complex<FFT_TYPE>, fft::Complex<FFT_TYPE>>)
FFT_KERNEL(copy_real, CopyArguments, Copy<FFT_TYPE, FFT_TYPE>)
FFT_KERNEL(copy_real_to_complex, CopyArguments, Copy<FFT_TYPE, fft::Complex<FFT_TYPE>>)
FFT_KERNEL(copy_complex_to_real, CopyArguments, Copy<fft::Complex<FFT_TYPE>, FFT_TYPE>)
