// The functions that the library has by name only, so that programs which are linked with them start. They read none
// of their arguments, which can be anything.
#include "libraries/common/unsupported.h"

#include "libraries/blas/abi.h"

#define BLAS_NONE(name)                              \
  BLAS_EXPORT name() {                               \
    static constinit std::atomic<bool> said = false; \
    ::tutti::libraries::SayUnsupported(#name, said); \
    return ::tutti::blas::kNotSupported;             \
  }
#include "libraries/blas/unsupported.def"
