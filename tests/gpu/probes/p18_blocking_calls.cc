// P18: which calls wait for a kernel that runs.
//
// Each call is made while a kernel holds a stream for at most `hold_ms`. It was blocked if it returned only when that
// time was nearly over; else the row tells how long it took.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "frame/gpu.h"
#include "frame/kernels.h"
#include "frame/numbers.h"
#include "frame/record.h"
#include "frame/settings.h"
#include "frame/slab.h"
#include "probes/green.h"
#include "probes/probes.h"

namespace tutti::gpu {
namespace {

using namespace cuda;

constexpr uint64_t kPage = 2 << 20;

class Shadow {
 public:
  explicit Shadow(const char* loading) : loading_(loading), stream_(NewStream()) {}

  // `call` returns a result of the driver.
  template <typename Do>
  void Try(const char* name, const Do& call) {
    const double hold_ms = Here().Size(400.0, 150.0);
    holder_.Rearm();
    holder_.Start(stream_, hold_ms);
    usleep(10'000);  // it runs
    const Stopwatch time;
    const int result = call();
    const double ms = time.ms();
    const bool running = CU_TRY(cuStreamQuery, stream_) != 0;
    holder_.Release();
    CU(cuStreamSynchronize, stream_);
    Record()
        .Set("call", name)
        .Set("loading", loading_)
        .Set("result", NameOf(result))
        .Set("ms", ms)
        .Set("waited for the kernel", !running)
        .Write();
  }

 private:
  const char* loading_;
  CUstream stream_;
  Holder holder_;
};

void Modules(std::string_view step) {
  setenv("CUDA_MODULE_LOADING", step == "eager" ? "EAGER" : "LAZY", 1);
  OpenGpu();
  Kernel("hold");
  Shadow shadow(step == "eager" ? "eager" : "lazy");
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  const CUstream other = NewStream();
  shadow.Try("cuModuleLoadData", [&] { return CU_TRY(cuModuleLoadData, &module, static_cast<const void*>(kKernels)); });
  shadow.Try("cuModuleGetFunction", [&] { return CU_TRY(cuModuleGetFunction, &function, module, "spin"); });
  shadow.Try("first launch of a kernel", [&] { return TryLaunch(function, 1, 1, other, uint64_t{1000}); });
  shadow.Try("first launch, until it is done", [&] {
    const int result = CU_TRY(cuModuleGetFunction, &function, module, "empty");
    return result != 0 ? result : TryLaunch(function, 1, 1, other) + CU_TRY(cuStreamSynchronize, other);
  });
  shadow.Try("cuModuleUnload", [&] { return CU_TRY(cuModuleUnload, module); });
}

void Memory(std::string_view) {
  const Gpu gpu = OpenGpu();
  Shadow shadow("lazy");
  CUdeviceptr plain = 0, pooled = 0;
  shadow.Try("cuMemAlloc", [&] { return CU_TRY(cuMemAlloc_v2, &plain, size_t{kPage}); });
  shadow.Try("cuMemFree", [&] { return CU_TRY(cuMemFree_v2, plain); });
  const CUstream other = NewStream();
  shadow.Try("cuMemAllocAsync", [&] { return CU_TRY(cuMemAllocAsync, &pooled, size_t{kPage}, other); });
  void* pinned = nullptr;
  shadow.Try("cuMemHostAlloc", [&] { return CU_TRY(cuMemHostAlloc, &pinned, size_t{kPage}, 0u); });
  shadow.Try("cuMemFreeHost", [&] { return CU_TRY(cuMemFreeHost, pinned); });
  void* const pages = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  shadow.Try("cuMemHostRegister", [&] {
    return CU_TRY(cuMemHostRegister_v2, pages, size_t{kPage}, static_cast<unsigned>(CU_MEMHOSTREGISTER_DEVICEMAP));
  });
  shadow.Try("cuMemHostUnregister", [&] { return CU_TRY(cuMemHostUnregister, pages); });
  CUstream stream = nullptr;
  shadow.Try("cuStreamCreate",
             [&] { return CU_TRY(cuStreamCreate, &stream, static_cast<unsigned>(CU_STREAM_NON_BLOCKING)); });
  shadow.Try("cuStreamDestroy", [&] { return CU_TRY(cuStreamDestroy_v2, stream); });
  const CUdeviceptr at = ReserveAddresses(2 * kPage);
  PhysicalHandle handle = 0;
  shadow.Try("cuMemCreate", [&] {
    handle = CreatePhysical(gpu.device, kPage);
    return 0;
  });
  shadow.Try("cuMemMap", [&] { return CU_TRY(cuMemMap, at, size_t{kPage}, size_t{0}, handle, 0ull); });
  shadow.Try("cuMemSetAccess", [&] {
    SetAccess(gpu.device, at, kPage);
    return 0;
  });
  shadow.Try("cuMemUnmap", [&] { return CU_TRY(cuMemUnmap, at, size_t{kPage}); });
  shadow.Try("cuMemRelease", [&] { return CU_TRY(cuMemRelease, handle); });
}

void Green(std::string_view) {
  const Gpu gpu = OpenGpu();
  const SmGroups split = SplitSms(gpu.device, Here().Size(8u, 1u));
  Shadow shadow("lazy");
  shadow.Try("green context", [&] {
    int result = 0;
    MakeGreenContext(gpu.device, std::span(split.groups).first(1), &result);
    return result;
  });
}

std::string Decide(const Evidence& evidence) {
  std::string blocked;
  bool lazy_blocks = false, eager_blocks = false, any = false;
  for (const Row* row : evidence.Of("P18")) {
    const auto waited = row->Truth("waited for the kernel");
    if (!waited) continue;
    any = true;
    if (!*waited) continue;
    const std::string call = row->Text("call");
    if (row->step == "lazy") lazy_blocks = lazy_blocks || call.starts_with("first launch");
    if (row->step == "eager") eager_blocks = eager_blocks || call.starts_with("first launch");
    if (blocked.find(call) == std::string::npos) blocked += (blocked.empty() ? "" : ", ") + call;
  }
  if (!any) return evidence.Undecided("P18");
  std::string text = lazy_blocks && !eager_blocks
                         ? "modules are loaded eagerly (a lazily loaded kernel waits for others)"
                     : eager_blocks ? "new kernels are loaded in the standby first"
                                    : "lazy loading may stay";
  return text + "; calls that wait for running kernels, so nothing of them is on the way of `shared`: " +
         (blocked.empty() ? "none" : blocked);
}

constexpr Step kSteps[] = {{"lazy", Modules, 12}, {"eager", Modules, 12}, {"memory", Memory, 14}, {"green", Green, 8}};

}  // namespace

const Probe kP18{"P18", "Which calls wait while somebody's kernel runs?", kSteps, {}, Decide};

}  // namespace tutti::gpu
