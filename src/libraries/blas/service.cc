// Handles, their settings, and what the library says about itself.
#include "libraries/blas/handle.h"
#include "libraries/blas/status_text.h"

namespace tutti::blas {
namespace {

// A setting that is only kept, and read back.
Status Set(Handle* handle, int Handle::* setting, int value) {
  BLAS_CHECK_HANDLE(handle);
  handle->*setting = value;
  return kSuccess;
}
Status Get(const Handle* handle, int Handle::* setting, int* value) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK(value != nullptr);
  *value = handle->*setting;
  return kSuccess;
}

}  // namespace

BLAS_EXPORT cublasCreate_v2(Handle** handle) {
  if (handle == nullptr) return kInvalidValue;
  return Handle::Make(handle);
}
BLAS_EXPORT cublasDestroy_v2(Handle* handle) {
  BLAS_CHECK_HANDLE(handle);
  delete handle;
  return kSuccess;
}
BLAS_EXPORT cublasGetVersion_v2(Handle*, int* version) {
  BLAS_CHECK(version != nullptr);
  *version = kVersion;
  return kSuccess;
}
BLAS_EXPORT cublasGetVersion(int* version) {
  BLAS_CHECK(version != nullptr);
  *version = kVersion;
  return kSuccess;
}
BLAS_EXPORT cublasGetProperty(int which, int* value) {
  return value != nullptr && VersionPart(which, value) ? kSuccess : kInvalidValue;
}
extern "C" __attribute__((visibility("default"))) size_t cublasGetCudartVersion() { return kVersion / 100 * 10; }
extern "C" __attribute__((visibility("default"))) const char* cublasGetStatusName(int status) {
  return StatusName(status);
}
extern "C" __attribute__((visibility("default"))) const char* cublasGetStatusString(int status) {
  return StatusText(status);
}

BLAS_EXPORT cublasSetStream_v2(Handle* handle, CUstream_st* stream) {
  BLAS_CHECK_HANDLE(handle);
  handle->stream = stream;
  return kSuccess;
}
BLAS_EXPORT cublasGetStream_v2(Handle* handle, CUstream_st** stream) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK(stream != nullptr);
  *stream = handle->stream;
  return kSuccess;
}
BLAS_EXPORT cublasSetPointerMode_v2(Handle* handle, int mode) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK(mode == kHost || mode == kDevice);
  handle->pointer_mode = mode;
  return kSuccess;
}
BLAS_EXPORT cublasGetPointerMode_v2(Handle* handle, int* mode) { return Get(handle, &Handle::pointer_mode, mode); }
BLAS_EXPORT cublasSetAtomicsMode(Handle* handle, int mode) {
  BLAS_CHECK(mode == 0 || mode == 1);
  return Set(handle, &Handle::atomics_mode, mode);
}
BLAS_EXPORT cublasGetAtomicsMode(Handle* handle, int* mode) { return Get(handle, &Handle::atomics_mode, mode); }
BLAS_EXPORT cublasSetMathMode(Handle* handle, int mode) { return Set(handle, &Handle::math_mode, mode); }
BLAS_EXPORT cublasGetMathMode(Handle* handle, int* mode) { return Get(handle, &Handle::math_mode, mode); }
BLAS_EXPORT cublasSetSmCountTarget(Handle* handle, int count) {
  BLAS_CHECK(count >= 0);
  return Set(handle, &Handle::sm_count_target, count);
}
BLAS_EXPORT cublasGetSmCountTarget(Handle* handle, int* count) { return Get(handle, &Handle::sm_count_target, count); }
// No function of ours needs a workspace.
BLAS_EXPORT cublasSetWorkspace_v2(Handle* handle, void* workspace, size_t bytes) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK(workspace != nullptr || bytes == 0);
  return kSuccess;
}

BLAS_EXPORT cublasSetEmulationStrategy(Handle* handle, int value) {
  return Set(handle, &Handle::emulation_strategy, value);
}
BLAS_EXPORT cublasGetEmulationStrategy(Handle* handle, int* value) {
  return Get(handle, &Handle::emulation_strategy, value);
}
BLAS_EXPORT cublasSetEmulationSpecialValuesSupport(Handle* handle, int value) {
  return Set(handle, &Handle::special_values, value);
}
BLAS_EXPORT cublasGetEmulationSpecialValuesSupport(Handle* handle, int* value) {
  return Get(handle, &Handle::special_values, value);
}
BLAS_EXPORT cublasSetFixedPointEmulationMantissaControl(Handle* handle, int value) {
  return Set(handle, &Handle::mantissa_control, value);
}
BLAS_EXPORT cublasGetFixedPointEmulationMantissaControl(Handle* handle, int* value) {
  return Get(handle, &Handle::mantissa_control, value);
}
BLAS_EXPORT cublasSetFixedPointEmulationMaxMantissaBitCount(Handle* handle, int value) {
  return Set(handle, &Handle::mantissa_bits, value);
}
BLAS_EXPORT cublasGetFixedPointEmulationMaxMantissaBitCount(Handle* handle, int* value) {
  return Get(handle, &Handle::mantissa_bits, value);
}
BLAS_EXPORT cublasSetFixedPointEmulationMantissaBitOffset(Handle* handle, int value) {
  return Set(handle, &Handle::mantissa_offset, value);
}
BLAS_EXPORT cublasGetFixedPointEmulationMantissaBitOffset(Handle* handle, int* value) {
  return Get(handle, &Handle::mantissa_offset, value);
}
BLAS_EXPORT cublasSetFixedPointEmulationMantissaBitCountPointer(Handle* handle, int* place) {
  BLAS_CHECK_HANDLE(handle);
  handle->mantissa_place = place;
  return kSuccess;
}
BLAS_EXPORT cublasGetFixedPointEmulationMantissaBitCountPointer(Handle* handle, int** place) {
  BLAS_CHECK_HANDLE(handle);
  BLAS_CHECK(place != nullptr);
  *place = handle->mantissa_place;
  return kSuccess;
}

// cuSOLVER calls it for each handle of its own, and does nothing without it. What it sets is not documented, and there
// is nothing here to set.
BLAS_EXPORT cublasSetEnvironmentMode() { return kSuccess; }

// The library logs nothing.
BLAS_EXPORT cublasLoggerConfigure(int, int, int, const char*) { return kSuccess; }
BLAS_EXPORT cublasSetLoggerCallback(void (*)(const char*)) { return kSuccess; }
BLAS_EXPORT cublasGetLoggerCallback(void (**callback)(const char*)) {
  BLAS_CHECK(callback != nullptr);
  *callback = nullptr;
  return kSuccess;
}

// Identifies this library as not the vendor's, as in libcuda.so.1.
extern "C" __attribute__((visibility("default"))) const char* tuttiVersion() { return TUTTI_VERSION; }

}  // namespace tutti::blas
