// The functions that the library has by name only. They read none of their arguments, which can be anything.
#include "nvml/entry.h"

#define NVML_OWN(name)
#define NVML_NONE(name) \
  NVML_EXPORT name() { return tutti::nvml::Session::active() ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_UNINITIALIZED; }
#include "nvml/functions.def"

// Identifies this library as not the vendor's, as in libcuda.so.1.
extern "C" __attribute__((visibility("default"))) const char* tuttiVersion() { return TUTTI_VERSION; }
