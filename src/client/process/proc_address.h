// Finding functions by name and version, for cuGetProcAddress.
#pragma once

#include <cstdint>

#include "cuda/types.h"

namespace tutti::client {

struct FoundFunction {
  void (*function)() = nullptr;
  cuda::CUdriverProcAddressQueryResult status = cuda::CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
};

// The newest ABI of `name` that is not newer than `version`. With CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM in
// `flags`, returns the per-thread entry if the function has one. Thread-safe.
FoundFunction FindFunction(const char* name, int version, uint64_t flags);

}  // namespace tutti::client
