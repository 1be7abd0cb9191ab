#include "libraries/fft/plan.h"

#include <algorithm>

#include "base/checked.h"
#include "libraries/common/context.h"
#include "libraries/common/launch.h"
#include "libraries/fft/kernel_table.h"

namespace tutti::fft {
namespace {

constexpr size_t kInPlace = 1, kInverseWay = 2;

// Makes a context current until its end.
class InContext {
 public:
  explicit InContext(CUcontext context) {
    CUcontext current = nullptr;
    if (cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context) return;
    status_ = cuCtxPushCurrent_v2(context);
    is_pushed_ = status_ == CUDA_SUCCESS;
  }
  InContext(const InContext&) = delete;
  ~InContext() {
    if (is_pushed_) cuCtxPopCurrent_v2(nullptr);
  }
  CUresult status() const { return status_; }

 private:
  CUresult status_ = CUDA_SUCCESS;
  bool is_pushed_ = false;
};

FftResult AllocationResult(CUresult result) {
  if (result == CUDA_SUCCESS) return FftResult::kSuccess;
  return result == CUDA_ERROR_OUT_OF_MEMORY ? FftResult::kAllocFailed : FftResult::kSetupFailed;
}

// Complex transforms have both directions; real ones have one, and are made for both settings of kInverseWay alike.
bool HasWay(const Problem& problem, size_t way) { return problem.kind == Kind::kComplex || (way & kInverseWay) == 0; }

Way WayOf(size_t way) { return {(way & kInPlace) != 0, (way & kInverseWay) != 0}; }

FftResult Bytes(uint64_t elements, bool is_double, size_t* bytes) {
  const auto product = CheckedMul<uint64_t>(elements, is_double ? 16 : 8);
  if (!product) return FftResult::kInvalidSize;
  *bytes = *product;
  return FftResult::kSuccess;
}

}  // namespace

FftResult WorkBytes(const Problem& problem, size_t* bytes) {
  Tables tables;
  uint64_t elements = 0;
  for (size_t way = 0; way < 4; ++way) {
    if (!HasWay(problem, way)) continue;
    const auto steps = MakeSteps(problem, WayOf(way), tables);
    if (!steps) return FftResult::kInvalidSize;
    elements = std::max(elements, steps->work_elements());
  }
  return Bytes(elements, problem.is_double, bytes);
}

Plan::~Plan() {
  if (context_ == nullptr) return;
  const InContext in(context_);
  if (in.status() != CUDA_SUCCESS) return;  // destroyed, and the memory with it
  if (tables_ != 0) cuMemFree_v2(tables_);
  if (own_work_ != 0) cuMemFree_v2(own_work_);
}

FftResult Plan::Make(const Problem& problem, size_t* work_bytes) {
  const std::lock_guard lock(mutex_);
  if (is_made_ || context_ != nullptr) return FftResult::kInvalidPlan;
  if (libraries::EnsureContext() != CUDA_SUCCESS || cuCtxGetCurrent(&context_) != CUDA_SUCCESS || context_ == nullptr)
    return FftResult::kSetupFailed;
  problem_ = problem;
  Tables tables;
  FftResult result = Prepare(tables);
  if (result == FftResult::kSuccess && allocates_ && work_bytes_ != 0) {
    result = AllocationResult(cuMemAlloc_v2(&own_work_, work_bytes_));
    work_ = own_work_;
  }
  if (result == FftResult::kSuccess) result = UploadTables(tables);
  if (result != FftResult::kSuccess) return result;
  if (work_bytes != nullptr) *work_bytes = work_bytes_;
  is_made_ = true;
  return result;
}

FftResult Plan::Prepare(Tables& tables) {
  uint64_t elements = 0;
  for (size_t way = 0; way < ways_.size(); ++way) {
    if (!HasWay(problem_, way)) continue;
    auto steps = MakeSteps(problem_, WayOf(way), tables);
    if (!steps) return FftResult::kInvalidSize;
    elements = std::max(elements, steps->work_elements());
    ways_[way].steps = std::move(*steps);
    for (const Step& step : ways_[way].steps.steps)
      ways_[way].kernels.push_back(&KernelOf(problem_.is_double, step.kernel));
  }
  return Bytes(elements, problem_.is_double, &work_bytes_);
}

FftResult Plan::UploadTables(const Tables& tables) {
  if (tables.elements() == 0) return FftResult::kSuccess;
  // The device's memory first, which is limited: what it does not hold is not computed.
  size_t bytes = 0;
  if (const FftResult fits = Bytes(tables.elements(), problem_.is_double, &bytes); fits != FftResult::kSuccess)
    return fits;
  if (const CUresult result = cuMemAlloc_v2(&tables_, bytes); result != CUDA_SUCCESS) return AllocationResult(result);
  const auto upload = [&](const auto& computed) {
    return AllocationResult(cuMemcpyHtoD_v2(tables_, computed.data(), bytes));
  };
  return problem_.is_double ? upload(tables.Compute<double>()) : upload(tables.Compute<float>());
}

FftResult Plan::SetStream(CUstream stream) {
  const std::lock_guard lock(mutex_);
  stream_ = stream;
  return FftResult::kSuccess;
}

FftResult Plan::SetWorkArea(CUdeviceptr area) {
  const std::lock_guard lock(mutex_);
  if (own_work_ != 0) {
    const InContext in(context_);
    if (in.status() == CUDA_SUCCESS) cuMemFree_v2(own_work_);
    own_work_ = 0;
  }
  work_ = area;
  allocates_ = false;
  return FftResult::kSuccess;
}

FftResult Plan::SetAutoAllocation(bool is_on) {
  const std::lock_guard lock(mutex_);
  allocates_ = is_on;
  return FftResult::kSuccess;
}

FftResult Plan::WorkBytes(size_t* bytes) {
  const std::lock_guard lock(mutex_);
  if (!is_made_) return FftResult::kInvalidPlan;
  *bytes = work_bytes_;
  return FftResult::kSuccess;
}

FftResult Plan::Execute(CUdeviceptr in, CUdeviceptr out, int direction) {
  const std::lock_guard lock(mutex_);
  return ExecuteLocked(in, out, direction);
}

FftResult Plan::Execute(Kind kind, bool is_double, CUdeviceptr in, CUdeviceptr out, int direction) {
  const std::lock_guard lock(mutex_);
  if (!is_made_) return FftResult::kInvalidPlan;
  if (problem_.kind != kind || problem_.is_double != is_double) return FftResult::kInvalidType;
  return ExecuteLocked(in, out, direction);
}

FftResult Plan::ExecuteLocked(CUdeviceptr in, CUdeviceptr out, int direction) {
  if (!is_made_) return FftResult::kInvalidPlan;
  if (in == 0 || out == 0) return FftResult::kInvalidValue;
  const bool is_complex = problem_.kind == Kind::kComplex;
  if (is_complex && direction != kForward && direction != kInverse) return FftResult::kInvalidValue;
  const Ready& ready = ways_[(in == out ? kInPlace : 0) | (is_complex && direction == kInverse ? kInverseWay : 0)];
  // As for the vendor's library, real data must be aligned like complex data where it is used as such.
  const auto is_aligned = [this](CUdeviceptr address, bool as_complex) {
    return address % (as_complex ? element_bytes() : element_bytes() / 2) == 0;
  };
  if (!is_aligned(in, problem_.kind != Kind::kRealToComplex || ready.steps.in_as_complex) ||
      !is_aligned(out, problem_.kind != Kind::kComplexToReal || ready.steps.out_as_complex))
    return FftResult::kInvalidValue;
  if (ready.steps.work_elements() != 0) {
    if (work_ == 0) return FftResult::kNoWorkspace;
    if (work_ % element_bytes() != 0) return FftResult::kInvalidValue;
  }
  const InContext in_context(context_);
  if (in_context.status() != CUDA_SUCCESS) return FftResult::kExecFailed;
  return Launch(ready, in, out) == CUDA_SUCCESS ? FftResult::kSuccess : FftResult::kExecFailed;
}

CUresult Plan::Launch(const Ready& ready, CUdeviceptr in, CUdeviceptr out) {
  const auto address_of = [&](const Operand& operand) {
    const uint64_t offset = ready.steps.OffsetOf(operand.place) + operand.offset;
    const CUdeviceptr base = operand.place == Place::kIn ? in : operand.place == Place::kOut ? out : work_;
    return base + offset * element_bytes();
  };
  for (size_t i = 0; i < ready.steps.steps.size(); ++i) {
    const Step& step = ready.steps.steps[i];
    const CUresult result = std::visit(
        [&](auto arguments) {
          arguments.common.in = address_of(step.from);
          arguments.common.out = address_of(step.to);
          arguments.common.in_pitch = step.from.pitch;
          arguments.common.out_pitch = step.to.pitch;
          if (step.table != kNoTable) arguments.common.table = tables_ + step.table * element_bytes();
          return libraries::Launch(*ready.kernels[i], stream_, {step.blocks}, {step.threads}, arguments);
        },
        step.arguments);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

}  // namespace tutti::fft
