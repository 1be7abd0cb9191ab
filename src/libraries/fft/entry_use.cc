// cuFFT's functions that set up, run and destroy plans, and those about the library.
#include "libraries/fft/entry.h"

using namespace tutti::fft;

FFT_EXPORT cufftSetStream(FftHandle plan, CUstream stream) {
  return WithPlan(plan, [&](Plan& found) { return found.SetStream(stream); });
}
FFT_EXPORT cufftSetWorkArea(FftHandle plan, void* area) {
  return WithPlan(plan, [&](Plan& found) { return found.SetWorkArea(AddressOf(area)); });
}
FFT_EXPORT cufftSetAutoAllocation(FftHandle plan, int is_on) {
  return WithPlan(plan, [&](Plan& found) { return found.SetAutoAllocation(is_on != 0); });
}
FFT_EXPORT cufftGetSize(FftHandle plan, size_t* work_bytes) {
  return WithPlan(plan, [&](Plan& found) {
    return work_bytes == nullptr ? FftResult::kInvalidValue : found.WorkBytes(work_bytes);
  });
}

FFT_EXPORT cufftDestroy(FftHandle plan) {
  return Guarded([&] { return plan == kNullPlan || RemovePlan(plan) ? FftResult::kSuccess : FftResult::kInvalidPlan; });
}

namespace {

int Execute(FftHandle plan, Kind kind, bool is_double, const void* in, void* out, int direction = kForward) {
  return WithPlan(
      plan, [&](Plan& found) { return found.Execute(kind, is_double, AddressOf(in), AddressOf(out), direction); });
}

}  // namespace

FFT_EXPORT cufftExecC2C(FftHandle plan, const void* in, void* out, int direction) {
  return Execute(plan, Kind::kComplex, false, in, out, direction);
}
FFT_EXPORT cufftExecZ2Z(FftHandle plan, const void* in, void* out, int direction) {
  return Execute(plan, Kind::kComplex, true, in, out, direction);
}
FFT_EXPORT cufftExecR2C(FftHandle plan, const void* in, void* out) {
  return Execute(plan, Kind::kRealToComplex, false, in, out);
}
FFT_EXPORT cufftExecD2Z(FftHandle plan, const void* in, void* out) {
  return Execute(plan, Kind::kRealToComplex, true, in, out);
}
FFT_EXPORT cufftExecC2R(FftHandle plan, const void* in, void* out) {
  return Execute(plan, Kind::kComplexToReal, false, in, out);
}
FFT_EXPORT cufftExecZ2D(FftHandle plan, const void* in, void* out) {
  return Execute(plan, Kind::kComplexToReal, true, in, out);
}
FFT_EXPORT cufftXtExec(FftHandle plan, const void* in, void* out, int direction) {
  return WithPlan(plan, [&](Plan& found) { return found.Execute(AddressOf(in), AddressOf(out), direction); });
}

FFT_EXPORT cufftGetVersion(int* version) {
  if (version != nullptr) *version = FftVersion();
  return static_cast<int>(FftResult::kSuccess);
}

FFT_EXPORT cufftGetProperty(int property, int* value) {
  if (value == nullptr) return static_cast<int>(FftResult::kInvalidValue);
  switch (property) {
    case kMajorVersion: *value = FftVersion() / 1000; break;
    case kMinorVersion: *value = FftVersion() % 1000 / 100; break;
    case kPatchLevel: *value = FftVersion() % 100; break;
    default: return static_cast<int>(FftResult::kInvalidType);
  }
  return static_cast<int>(FftResult::kSuccess);
}
