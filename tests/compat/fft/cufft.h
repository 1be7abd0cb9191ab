// cuFFT as programs call it, in our own words; toolkit_test.cc compares them with the vendor's header where there is
// one.
#pragma once

#include <cstddef>

namespace tutti::compat::fft {

using Handle = int;
using Long = long long;

enum Status {
  kSuccess = 0,
  kInvalidPlan = 1,
  kAllocFailed = 2,
  kInvalidType = 3,
  kInvalidValue = 4,
  kExecFailed = 6,
  kSetupFailed = 7,
  kInvalidSize = 8,
  kNoWorkspace = 13,
  kNotSupported = 16
};
enum Type { kC2C = 0x29, kR2C = 0x2a, kC2R = 0x2c, kZ2Z = 0x69, kD2Z = 0x6a, kZ2D = 0x6c };
constexpr int kForward = -1, kInverse = 1;

extern "C" {
int cufftCreate(Handle* plan);
int cufftDestroy(Handle plan);
int cufftPlan1d(Handle* plan, int nx, int type, int batch);
int cufftPlan2d(Handle* plan, int nx, int ny, int type);
int cufftPlan3d(Handle* plan, int nx, int ny, int nz, int type);
int cufftPlanMany(Handle* plan, int rank, int* n, int* in_embed, int in_stride, int in_dist, int* out_embed,
                  int out_stride, int out_dist, int type, int batch);
int cufftMakePlan1d(Handle plan, int nx, int type, int batch, size_t* work);
int cufftMakePlan2d(Handle plan, int nx, int ny, int type, size_t* work);
int cufftMakePlan3d(Handle plan, int nx, int ny, int nz, int type, size_t* work);
int cufftMakePlanMany(Handle plan, int rank, int* n, int* in_embed, int in_stride, int in_dist, int* out_embed,
                      int out_stride, int out_dist, int type, int batch, size_t* work);
int cufftMakePlanMany64(Handle plan, int rank, Long* n, Long* in_embed, Long in_stride, Long in_dist, Long* out_embed,
                        Long out_stride, Long out_dist, int type, Long batch, size_t* work);
int cufftXtMakePlanMany(Handle plan, int rank, Long* n, Long* in_embed, Long in_stride, Long in_dist, int in_type,
                        Long* out_embed, Long out_stride, Long out_dist, int out_type, Long batch, size_t* work,
                        int execution_type);
int cufftEstimate1d(int nx, int type, int batch, size_t* work);
int cufftGetSize1d(Handle plan, int nx, int type, int batch, size_t* work);
int cufftGetSize(Handle plan, size_t* work);
int cufftSetStream(Handle plan, void* stream);
int cufftSetWorkArea(Handle plan, void* area);
int cufftSetAutoAllocation(Handle plan, int on);
int cufftExecC2C(Handle plan, void* in, void* out, int direction);
int cufftExecR2C(Handle plan, void* in, void* out);
int cufftExecC2R(Handle plan, void* in, void* out);
int cufftExecZ2Z(Handle plan, void* in, void* out, int direction);
int cufftExecD2Z(Handle plan, void* in, void* out);
int cufftExecZ2D(Handle plan, void* in, void* out);
int cufftXtExec(Handle plan, void* in, void* out, int direction);
int cufftGetVersion(int* version);
int cufftGetProperty(int property, int* value);
int cufftXtSetCallback(Handle plan, void** routine, int type, void** info);
}

}  // namespace tutti::compat::fft
