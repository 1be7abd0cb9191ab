// cuFFT's functions that make plans, or say what one would need.
#include <array>

#include "libraries/fft/entry.h"
#include "libraries/fft/request.h"

namespace {

using namespace tutti::fft;
using Int64 = long long;

// The layouts of both families of functions, as `read` takes them.
template <typename Int>
FftResult Many(int rank, const Int* n, const ManyLayout<Int>& layout, int type, Int batch, Problem* problem) {
  return ReadMany<Int>(rank, n, layout, type, batch, problem);
}
FftResult Many(int rank, const Int64* n, const ManyLayout<Int64>& layout, int type, Int64 batch, Problem* problem) {
  static_assert(sizeof(Int64) == sizeof(int64_t));
  const auto same = [](const Int64* numbers) { return reinterpret_cast<const int64_t*>(numbers); };
  return ReadMany<int64_t>(rank, same(n),
                           {same(layout.in_embed), layout.in_stride, layout.in_dist, same(layout.out_embed),
                            layout.out_stride, layout.out_dist},
                           type, batch, problem);
}

// read(Problem*), then a new plan of it.
template <typename Read>
int NewPlan(FftHandle* handle, Read read) {
  return Guarded([&] {
    if (handle == nullptr) return FftResult::kInvalidValue;
    *handle = 0;
    Problem problem;
    if (const FftResult result = read(&problem); result != FftResult::kSuccess) return result;
    const FftHandle added = AddPlan();
    const FftResult result = FindPlan(added)->Make(problem, nullptr);
    if (result == FftResult::kSuccess)
      *handle = added;
    else
      RemovePlan(added);
    return result;
  });
}

template <typename Read>
int MakePlan(FftHandle handle, size_t* work_bytes, Read read) {
  return WithPlan(handle, [&](Plan& plan) {
    Problem problem;
    const FftResult result = read(&problem);
    return result == FftResult::kSuccess ? plan.Make(problem, work_bytes) : result;
  });
}

template <typename Read>
FftResult Size(size_t* work_bytes, Read read) {
  Problem problem;
  if (work_bytes == nullptr) return FftResult::kInvalidValue;
  const FftResult result = read(&problem);
  return result == FftResult::kSuccess ? WorkBytes(problem, work_bytes) : result;
}
template <typename Read>
int Estimate(size_t* work_bytes, Read read) {
  return Guarded([&] { return Size(work_bytes, read); });
}
template <typename Read>
int GetSize(FftHandle handle, size_t* work_bytes, Read read) {
  return WithPlan(handle, [&](Plan&) { return Size(work_bytes, read); });
}

template <int kRank>
auto Dense(std::array<int64_t, kRank> n, int type, int64_t batch = 1) {
  return [=](Problem* problem) { return ReadDense(kRank, n.data(), type, batch, problem); };
}

template <typename Int>
auto Embedded(int rank, const Int* n, const ManyLayout<Int>& layout, int type, Int batch) {
  return [=](Problem* problem) { return Many(rank, n, layout, type, batch, problem); };
}

auto Typed(int rank, const Int64* n, const ManyLayout<Int64>& layout, int in, int out, int execution, Int64 batch) {
  return [=](Problem* problem) {
    int type = 0;
    const FftResult result = TypeOfData(in, out, execution, &type);
    return result == FftResult::kSuccess ? Many(rank, n, layout, type, batch, problem) : result;
  };
}

}  // namespace

FFT_EXPORT cufftCreate(FftHandle* handle) {
  return Guarded([&] {
    if (handle == nullptr) return FftResult::kInvalidValue;
    *handle = AddPlan();
    return FftResult::kSuccess;
  });
}

FFT_EXPORT cufftPlan1d(FftHandle* plan, int nx, int type, int batch) {
  return NewPlan(plan, Dense<1>({nx}, type, batch));
}
FFT_EXPORT cufftPlan2d(FftHandle* plan, int nx, int ny, int type) { return NewPlan(plan, Dense<2>({nx, ny}, type)); }
FFT_EXPORT cufftPlan3d(FftHandle* plan, int nx, int ny, int nz, int type) {
  return NewPlan(plan, Dense<3>({nx, ny, nz}, type));
}
FFT_EXPORT cufftPlanMany(FftHandle* plan, int rank, const int* n, const int* in_embed, int in_stride, int in_dist,
                         const int* out_embed, int out_stride, int out_dist, int type, int batch) {
  const ManyLayout<int> layout{in_embed, in_stride, in_dist, out_embed, out_stride, out_dist};
  return NewPlan(plan, Embedded(rank, n, layout, type, batch));
}

FFT_EXPORT cufftMakePlan1d(FftHandle plan, int nx, int type, int batch, size_t* work_bytes) {
  return MakePlan(plan, work_bytes, Dense<1>({nx}, type, batch));
}
FFT_EXPORT cufftMakePlan2d(FftHandle plan, int nx, int ny, int type, size_t* work_bytes) {
  return MakePlan(plan, work_bytes, Dense<2>({nx, ny}, type));
}
FFT_EXPORT cufftMakePlan3d(FftHandle plan, int nx, int ny, int nz, int type, size_t* work_bytes) {
  return MakePlan(plan, work_bytes, Dense<3>({nx, ny, nz}, type));
}
FFT_EXPORT cufftMakePlanMany(FftHandle plan, int rank, const int* n, const int* in_embed, int in_stride, int in_dist,
                             const int* out_embed, int out_stride, int out_dist, int type, int batch,
                             size_t* work_bytes) {
  const ManyLayout<int> layout{in_embed, in_stride, in_dist, out_embed, out_stride, out_dist};
  return MakePlan(plan, work_bytes, Embedded(rank, n, layout, type, batch));
}
FFT_EXPORT cufftMakePlanMany64(FftHandle plan, int rank, const Int64* n, const Int64* in_embed, Int64 in_stride,
                               Int64 in_dist, const Int64* out_embed, Int64 out_stride, Int64 out_dist, int type,
                               Int64 batch, size_t* work_bytes) {
  const ManyLayout<Int64> layout{in_embed, in_stride, in_dist, out_embed, out_stride, out_dist};
  return MakePlan(plan, work_bytes, Embedded(rank, n, layout, type, batch));
}
FFT_EXPORT cufftXtMakePlanMany(FftHandle plan, int rank, const Int64* n, const Int64* in_embed, Int64 in_stride,
                               Int64 in_dist, int in_type, const Int64* out_embed, Int64 out_stride, Int64 out_dist,
                               int out_type, Int64 batch, size_t* work_bytes, int execution_type) {
  const ManyLayout<Int64> layout{in_embed, in_stride, in_dist, out_embed, out_stride, out_dist};
  return MakePlan(plan, work_bytes, Typed(rank, n, layout, in_type, out_type, execution_type, batch));
}

FFT_EXPORT cufftEstimate1d(int nx, int type, int batch, size_t* work_bytes) {
  return Estimate(work_bytes, Dense<1>({nx}, type, batch));
}
FFT_EXPORT cufftEstimate2d(int nx, int ny, int type, size_t* work_bytes) {
  return Estimate(work_bytes, Dense<2>({nx, ny}, type));
}
FFT_EXPORT cufftEstimate3d(int nx, int ny, int nz, int type, size_t* work_bytes) {
  return Estimate(work_bytes, Dense<3>({nx, ny, nz}, type));
}
FFT_EXPORT cufftEstimateMany(int rank, const int* n, const int* in_embed, int in_stride, int in_dist,
                             const int* out_embed, int out_stride, int out_dist, int type, int batch,
                             size_t* work_bytes) {
  const ManyLayout<int> layout{in_embed, in_stride, in_dist, out_embed, out_stride, out_dist};
  return Estimate(work_bytes, Embedded(rank, n, layout, type, batch));
}

FFT_EXPORT cufftGetSize1d(FftHandle plan, int nx, int type, int batch, size_t* work_bytes) {
  return GetSize(plan, work_bytes, Dense<1>({nx}, type, batch));
}
FFT_EXPORT cufftGetSize2d(FftHandle plan, int nx, int ny, int type, size_t* work_bytes) {
  return GetSize(plan, work_bytes, Dense<2>({nx, ny}, type));
}
FFT_EXPORT cufftGetSize3d(FftHandle plan, int nx, int ny, int nz, int type, size_t* work_bytes) {
  return GetSize(plan, work_bytes, Dense<3>({nx, ny, nz}, type));
}
FFT_EXPORT cufftGetSizeMany(FftHandle plan, int rank, const int* n, const int* in_embed, int in_stride, int in_dist,
                            const int* out_embed, int out_stride, int out_dist, int type, int batch,
                            size_t* work_bytes) {
  const ManyLayout<int> layout{in_embed, in_stride, in_dist, out_embed, out_stride, out_dist};
  return GetSize(plan, work_bytes, Embedded(rank, n, layout, type, batch));
}
FFT_EXPORT cufftGetSizeMany64(FftHandle plan, int rank, const Int64* n, const Int64* in_embed, Int64 in_stride,
                              Int64 in_dist, const Int64* out_embed, Int64 out_stride, Int64 out_dist, int type,
                              Int64 batch, size_t* work_bytes) {
  const ManyLayout<Int64> layout{in_embed, in_stride, in_dist, out_embed, out_stride, out_dist};
  return GetSize(plan, work_bytes, Embedded(rank, n, layout, type, batch));
}
FFT_EXPORT cufftXtGetSizeMany(FftHandle plan, int rank, const Int64* n, const Int64* in_embed, Int64 in_stride,
                              Int64 in_dist, int in_type, const Int64* out_embed, Int64 out_stride, Int64 out_dist,
                              int out_type, Int64 batch, size_t* work_bytes, int execution_type) {
  const ManyLayout<Int64> layout{in_embed, in_stride, in_dist, out_embed, out_stride, out_dist};
  return GetSize(plan, work_bytes, Typed(rank, n, layout, in_type, out_type, execution_type, batch));
}
