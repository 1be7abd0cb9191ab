// What the exported functions share.
#pragma once

#include <new>

#include "libraries/fft/handles.h"

#define FFT_EXPORT extern "C" __attribute__((visibility("default"))) int

namespace tutti::fft {

// Throws nothing into the program: the only possible failure is lack of memory.
template <typename Body>
int Guarded(Body body) {
  try {
    return static_cast<int>(body());
  } catch (const std::bad_alloc&) {
    return static_cast<int>(FftResult::kAllocFailed);
  } catch (...) {
    return static_cast<int>(FftResult::kInternalError);
  }
}

// body(Plan&) with the plan of a handle.
template <typename Body>
int WithPlan(FftHandle handle, Body body) {
  return Guarded([&] {
    const auto plan = FindPlan(handle);
    return plan == nullptr ? FftResult::kInvalidPlan : body(*plan);
  });
}

inline CUdeviceptr AddressOf(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

}  // namespace tutti::fft
