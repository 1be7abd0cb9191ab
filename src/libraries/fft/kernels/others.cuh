// The kernels around the passes, for elements of FFT_TYPE.
#include "libraries/fft/kernels/elements.cuh"
#include "libraries/fft/kernels/whole.cuh"

#define FFT_KERNEL(name, arguments_type, ...) \
  extern "C" __global__ void name(const tutti::fft::arguments_type arguments) { fft::__VA_ARGS__(arguments); }

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

FFT_KERNEL(whole_64, PassArguments, Whole<FFT_TYPE, 16, 4, 1>)
FFT_KERNEL(whole_128, PassArguments, Whole<FFT_TYPE, 16, 8, 1>)
FFT_KERNEL(whole_256, PassArguments, Whole<FFT_TYPE, 16, 16, 1>)
FFT_KERNEL(whole_512, PassArguments, Whole<FFT_TYPE, 16, 8, 4>)
FFT_KERNEL(whole_1024, PassArguments, Whole<FFT_TYPE, 16, 16, 4>)
FFT_KERNEL(whole_2048, PassArguments, Whole<FFT_TYPE, 16, 16, 8>)
#ifdef FFT_HAS_WHOLE_4096  // in double precision, more shared memory than a block has
FFT_KERNEL(whole_4096, PassArguments, Whole<FFT_TYPE, 16, 16, 16>)
#endif
