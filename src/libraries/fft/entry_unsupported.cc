// They read none of their arguments, which can be anything.
#include "libraries/common/unsupported.h"
#include "libraries/fft/entry.h"

#define FFT_UNSUPPORTED(name)                        \
  FFT_EXPORT name() {                                \
    static constinit std::atomic<bool> said = false; \
    return tutti::fft::Guarded([] {                  \
      tutti::libraries::SayUnsupported(#name, said); \
      return tutti::fft::FftResult::kNotSupported;   \
    });                                              \
  }
#include "libraries/fft/unsupported.def"

// Identifies this library as not the vendor's, as in libcuda.so.1.
extern "C" __attribute__((visibility("default"))) const char* tuttiVersion() { return TUTTI_VERSION; }
