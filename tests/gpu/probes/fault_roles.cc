#include "probes/fault_roles.h"

#include <algorithm>
#include <vector>

#include "cuda/result.h"
#include "frame/gpu.h"
#include "frame/numbers.h"
#include "frame/settings.h"
#include "frame/slab.h"
#include "probes/fault_kernels.h"
#include "probes/sticky_calls.h"

namespace tutti::gpu {

using namespace cuda;

uint64_t SlabPartBytes() { return Here().Size<uint64_t>(32 << 20, 2 << 20); }

void RunBystander(Channel& step, std::string_view) {
  OpenGpu();
  const CUfunction spin = Kernel("spin");
  const CUstream stream = NewStream();
  struct Finish {
    uint64_t at_ns;
    double gap_ms;
  };
  std::vector<Finish> finishes;
  int result = CUDA_SUCCESS;
  step.Say("ready");
  uint64_t last = NowNs();
  Heard heard;
  do {
    if (result == CUDA_SUCCESS) result = TryLaunch(spin, 1, 1, stream, uint64_t{20'000});
    if (result == CUDA_SUCCESS) result = CU_TRY(cuStreamSynchronize, stream);
    const uint64_t now = NowNs();
    finishes.push_back({now, static_cast<double>(now - last) / 1e6});
    last = now;
    heard = step.Hear(result == CUDA_SUCCESS ? 0 : 30);
  } while (heard.word.empty() && result == CUDA_SUCCESS);
  if (heard.word.empty()) heard = step.Hear(30);
  // Since the culprit's launch, and before it.
  double before = 0, after = 0;
  std::vector<double> usual;
  for (const Finish& finish : finishes) {
    double& longest = static_cast<double>(finish.at_ns) > heard.number(0) ? after : before;
    longest = std::max(longest, finish.gap_ms);
    usual.push_back(finish.gap_ms);
  }
  step.Say("report", {static_cast<double>(result), Median(usual), before, after});
}

void RunCulprit(Channel& step, std::string_view kind) {
  const Gpu gpu = OpenGpu();
  const Heard slab = step.Hear(20);
  CUdeviceptr at = 0;
  const CUstream stream = NewStream();
  if (!slab.fds.empty()) {
    at = PlaceSlab(gpu.device, 3 * SlabPartBytes(), ImportSlab(slab.fds[0].get()));
    FillPattern(at + SlabPartBytes(), SlabPartBytes(), 2, stream);
    CU(cuStreamSynchronize, stream);
  }
  Culprit culprit(gpu.device, kind);
  StickyCalls calls(gpu.device);
  step.Say("ready");
  step.Hear(20);
  const auto launched_ns = static_cast<double>(NowNs());
  if (at != 0) FillPattern(at + 2 * SlabPartBytes(), SlabPartBytes(), 3, stream);
  culprit.Launch(stream);
  const FirstError error = AwaitError(stream, 6);
  // A kernel that neither ends nor fails is not waited for.
  const int sticky = error.result == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : CU_TRY(cuCtxSynchronize);
  step.Say("fault", {static_cast<double>(error.result), error.ms, launched_ns, static_cast<double>(sticky)});
  step.Hear(20);
  if (EndsContext(sticky)) calls.Ask();  // when nobody measures any more
}

}  // namespace tutti::gpu
