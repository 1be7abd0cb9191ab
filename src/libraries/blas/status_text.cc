#include "libraries/blas/status_text.h"

#include "libraries/blas/abi.h"

namespace tutti::blas {

const char* StatusName(int status) {
  switch (status) {
    case kSuccess: return "CUBLAS_STATUS_SUCCESS";
    case kNotInitialized: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case kAllocFailed: return "CUBLAS_STATUS_ALLOC_FAILED";
    case kInvalidValue: return "CUBLAS_STATUS_INVALID_VALUE";
    case kArchMismatch: return "CUBLAS_STATUS_ARCH_MISMATCH";
    case kMappingError: return "CUBLAS_STATUS_MAPPING_ERROR";
    case kExecutionFailed: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case kInternalError: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case kNotSupported: return "CUBLAS_STATUS_NOT_SUPPORTED";
    case kLicenseError: return "CUBLAS_STATUS_LICENSE_ERROR";
    default: return "CUBLAS_STATUS_UNKNOWN";
  }
}

const char* StatusText(int status) {
  switch (status) {
    case kSuccess: return "success";
    case kNotInitialized: return "the library was not initialized";
    case kAllocFailed: return "the resource allocation failed";
    case kInvalidValue: return "an invalid value was used as an argument";
    case kArchMismatch: return "an absent device architectural feature is required";
    case kMappingError: return "an access to memory failed";
    case kExecutionFailed: return "the kernel failed to run";
    case kInternalError: return "an internal operation failed";
    case kNotSupported: return "the functionality is not supported";
    case kLicenseError: return "the license is missing";
    default: return "unknown status";
  }
}

bool VersionPart(int which, int* value) {
  switch (which) {
    case 0: *value = kVersion / 10000; return true;
    case 1: *value = kVersion / 100 % 100; return true;
    case 2: *value = kVersion % 100; return true;
    default: return false;
  }
}

}  // namespace tutti::blas
