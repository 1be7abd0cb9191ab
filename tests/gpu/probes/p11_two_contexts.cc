// P11: two contexts of one process; a kernel in the first fails.
#include "cuda/result.h"
#include "frame/gpu.h"
#include "frame/record.h"
#include "probes/fault_kernels.h"
#include "probes/probes.h"
#include "probes/sticky_calls.h"

namespace tutti::gpu {
namespace {

using namespace cuda;

void Spoil(std::string_view) {
  const Gpu gpu = OpenGpu();  // the first is the primary one
  Culprit culprit(gpu.device, "far_write");
  const CUstream stream = NewStream();
  StickyCalls calls(gpu.device);
  CUcontext second = nullptr;
  CU(cuCtxCreate_v2, &second, 0u, gpu.device);
  // Its own module: functions belong to a context.
  const CUfunction empty =
      FunctionOf(Load(".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry empty() { ret; }\n"), "empty");
  const CUstream other = NewStream();
  Launch(empty, 1, 1, other);
  CU(cuStreamSynchronize, other);
  CU(cuCtxSetCurrent, gpu.context);
  culprit.Launch(stream);
  const FirstError error = AwaitError(stream, 5);
  CU_TRY(cuCtxSetCurrent, second);
  const int launched = TryLaunch(empty, 1, 1, other);
  const int result = launched != 0 ? launched : CU_TRY(cuStreamSynchronize, other);
  Record()
      .Set("error of the first", NameOf(error.result))
      .Set("the second's next kernel", NameOf(result))
      .Set("the second goes on", result == CUDA_SUCCESS)
      .Write();
  CU_TRY(cuCtxSetCurrent, gpu.context);
  if (error.result != CUDA_ERROR_NOT_READY && error.result != CUDA_SUCCESS) calls.Ask();
}

std::string Decide(const Evidence& evidence) {
  const auto goes_on = evidence.Truth("P11", "spoil", "the second goes on");
  if (!goes_on) return evidence.Undecided("P11");
  return *goes_on ? "several contexts could live in one executor; one context each stays simpler"
                  : "one context per executor: a fault in one spoils the process";
}

constexpr Step kSteps[] = {{"spoil", Spoil, 10}};

}  // namespace

const Probe kP11{"P11", "Two contexts in one process: does a fault in one spoil the other?", kSteps, {}, Decide};

}  // namespace tutti::gpu
