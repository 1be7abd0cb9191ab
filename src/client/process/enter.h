// The wrapper around every exported function: gate, trace, and the catch of last resort.
#pragma once

#include <new>

#include "client/session/gate.h"
#include "client/session/trace.h"
#include "cuda/api.h"
#include "cuda/types.h"

namespace tutti::client {

template <typename Body>
[[gnu::always_inline]] inline int Guarded(Body& body) noexcept {
  try {
    return body();
  } catch (...) {  // std::bad_alloc: nothing else is thrown here
    return cuda::CUDA_ERROR_OUT_OF_MEMORY;
  }
}

template <cuda::ApiClass kClass, typename Body>
[[gnu::noinline, gnu::cold]] int EnterSlowly(const char* symbol, Body& body) {
  if (kClass != cuda::ApiClass::early) {
    if (const int status = Gate::status(); status != 0) return status;
  }
  return Gate::tracing() ? Traced(symbol, Guarded(body)) : Guarded(body);
}

template <cuda::ApiClass kClass, typename Body>
[[gnu::always_inline]] inline int Enter(const char* symbol, Body body) {
  if (Gate::attention() != 0) [[unlikely]]
    return EnterSlowly<kClass>(symbol, body);
  return Guarded(body);
}

}  // namespace tutti::client
