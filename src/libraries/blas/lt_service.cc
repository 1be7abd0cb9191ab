// Handles of cublasLt, its versions and its log.
#include <cstdio>
#include <new>

#include "libraries/blas/abi.h"
#include "libraries/blas/status_text.h"
#include "libraries/common/context.h"

namespace tutti::blas::lt {
namespace {

// Programs pass handles of cuBLAS as well: so nothing is read from one.
struct LtHandle {
  int nothing;
};

}  // namespace

BLAS_EXPORT cublasLtCreate(LtHandle** handle) {
  if (handle == nullptr) return kInvalidValue;
  if (libraries::EnsureContext() != cuda::CUDA_SUCCESS) return kNotInitialized;
  *handle = new (std::nothrow) LtHandle{};
  return *handle != nullptr ? kSuccess : kAllocFailed;
}
BLAS_EXPORT cublasLtDestroy(LtHandle* handle) {
  if (handle == nullptr) return kNotInitialized;
  delete handle;
  return kSuccess;
}

#define LT_EXPORT(type) extern "C" __attribute__((visibility("default"))) type
LT_EXPORT(size_t) cublasLtGetVersion() { return kVersion; }
LT_EXPORT(size_t) cublasLtGetCudartVersion() { return kVersion / 100 * 10; }
LT_EXPORT(const char*) cublasLtGetStatusName(int status) { return StatusName(status); }
LT_EXPORT(const char*) cublasLtGetStatusString(int status) { return StatusText(status); }
BLAS_EXPORT cublasLtGetProperty(int which, int* value) {
  return value != nullptr && VersionPart(which, value) ? kSuccess : kInvalidValue;
}
LT_EXPORT(unsigned) cublasLtDisableCpuInstructionsSetMask(unsigned) { return 0; }

// There is no choice of algorithms to remember.
BLAS_EXPORT cublasLtHeuristicsCacheGetCapacity(size_t* capacity) {
  if (capacity == nullptr) return kInvalidValue;
  *capacity = 0;
  return kSuccess;
}
BLAS_EXPORT cublasLtHeuristicsCacheSetCapacity(size_t) { return kSuccess; }

// The library logs nothing.
BLAS_EXPORT cublasLtLoggerSetCallback(void*) { return kSuccess; }
BLAS_EXPORT cublasLtLoggerSetFile(FILE*) { return kSuccess; }
BLAS_EXPORT cublasLtLoggerOpenFile(const char*) { return kSuccess; }
BLAS_EXPORT cublasLtLoggerSetLevel(int) { return kSuccess; }
BLAS_EXPORT cublasLtLoggerSetMask(int) { return kSuccess; }
BLAS_EXPORT cublasLtLoggerForceDisable() { return kSuccess; }

// Identifies this library as not the vendor's, as in libcuda.so.1.
LT_EXPORT(const char*) tuttiVersion() { return TUTTI_VERSION; }

}  // namespace tutti::blas::lt
