// A plan of cuFFT: a transform made ready on a device.
#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <vector>

#include "libraries/common/device_code.h"
#include "libraries/fft/abi.h"
#include "libraries/fft/steps.h"

namespace tutti::fft {

using namespace cuda;  // NOLINT: the driver's names, as in libraries/common/driver.h

// Bytes of the work area for a problem.
FftResult WorkBytes(const Problem& problem, size_t* bytes);

// Thread-safe: the calls of one plan wait for each other (kernels that were launched do not). It belongs to the context
// that was current when it was made, whatever is current when it runs.
class Plan {
 public:
  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan();  // work that was launched ends before the memory is used again (cuMemFree)

  // Once. `work_bytes` may be null.
  FftResult Make(const Problem& problem, size_t* work_bytes);
  FftResult SetStream(CUstream stream);
  FftResult SetWorkArea(CUdeviceptr area);
  FftResult SetAutoAllocation(bool is_on);
  FftResult WorkBytes(size_t* bytes);

  // The direction counts for complex transforms.
  FftResult Execute(CUdeviceptr in, CUdeviceptr out, int direction);
  // Those of which the program says the type.
  FftResult Execute(Kind kind, bool is_double, CUdeviceptr in, CUdeviceptr out, int direction);

 private:
  // The steps of one way, with the kernels that they launch.
  struct Ready {
    Steps steps;
    std::vector<libraries::Kernel*> kernels;
  };

  FftResult Prepare(Tables& tables);
  FftResult UploadTables(const Tables& tables);
  FftResult ExecuteLocked(CUdeviceptr in, CUdeviceptr out, int direction);
  CUresult Launch(const Ready& ready, CUdeviceptr in, CUdeviceptr out);
  size_t element_bytes() const { return problem_.is_double ? 16 : 8; }

  std::mutex mutex_;  // guards all below
  bool is_made_ = false;
  Problem problem_;
  std::array<Ready, 4> ways_;  // in place: 1, inverse: 2
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  CUdeviceptr tables_ = 0;
  size_t work_bytes_ = 0;
  bool allocates_ = true;
  CUdeviceptr own_work_ = 0, work_ = 0;  // what was allocated, and what is used
};

}  // namespace tutti::fft
