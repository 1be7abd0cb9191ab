#include "probes/sticky_calls.h"

#include <string>

#include "cuda/device_attribute.h"
#include "cuda/result.h"
#include "frame/record.h"

namespace tutti::gpu {

using namespace cuda;

namespace {

constexpr size_t kBytes = 4096;
constexpr uint64_t kSlab = 2 << 20;

}  // namespace

StickyCalls::StickyCalls(CUdevice device) : idle_(NewStream()) {
  CU(cuEventCreate, &unrecorded_, static_cast<unsigned>(CU_EVENT_DISABLE_TIMING));
  CU(cuEventCreate, &reached_, static_cast<unsigned>(CU_EVENT_DISABLE_TIMING));
  CU(cuEventRecord, reached_, idle_);
  CU(cuStreamSynchronize, idle_);
  CU(cuMemAlloc_v2, &memory_, kBytes);
  module_ = Load(".version 6.0\n.target sm_60\n.address_size 64\n.visible .entry none() { ret; }\n");
  if (Driver().cuMemCreate == nullptr ||
      Attribute(device, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) == 0)
    return;
  addresses_ = ReserveAddresses(kSlab);
  MapSlab(addresses_, kSlab, CreatePhysical(device, kSlab));
  SetAccess(device, addresses_, kSlab);
}

// In the order of how little they change.
void StickyCalls::Ask() {
  std::string say, do_not, otherwise;
  const auto ask = [&](const char* call, int result) {
    std::string& list = EndsContext(result) ? say : result == CUDA_SUCCESS ? do_not : otherwise;
    list += (list.empty() ? "" : ", ") + std::string(call);
    if (&list == &otherwise) list += " (" + NameOf(result) + ")";
  };
  CUevent event = nullptr;
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
  void* pinned = nullptr;
  ask("cuStreamQuery (idle)", CU_TRY(cuStreamQuery, idle_));
  ask("cuStreamSynchronize (idle)", CU_TRY(cuStreamSynchronize, idle_));
  ask("cuEventQuery (not recorded)", CU_TRY(cuEventQuery, unrecorded_));
  ask("cuEventQuery (reached)", CU_TRY(cuEventQuery, reached_));
  ask("cuEventCreate", CU_TRY(cuEventCreate, &event, static_cast<unsigned>(CU_EVENT_DISABLE_TIMING)));
  ask("cuEventRecord", CU_TRY(cuEventRecord, unrecorded_, idle_));
  ask("cuStreamCreate", CU_TRY(cuStreamCreate, &stream, static_cast<unsigned>(CU_STREAM_NON_BLOCKING)));
  ask("cuMemAlloc", CU_TRY(cuMemAlloc_v2, &memory, kBytes));
  ask("cuMemHostAlloc", CU_TRY(cuMemHostAlloc, &pinned, kBytes, 0u));
  ask("cuMemcpyHtoDAsync",
      CU_TRY(cuMemcpyHtoDAsync_v2, memory_, static_cast<const void*>(&memory), sizeof memory, idle_));
  ask("cuCtxSynchronize", CU_TRY(cuCtxSynchronize));
  if (addresses_ != 0) {
    ask("cuMemUnmap", CU_TRY(cuMemUnmap, addresses_, size_t{kSlab}));
    ask("cuMemAddressFree", CU_TRY(cuMemAddressFree, addresses_, size_t{kSlab}));
  }
  ask("cuMemFree", CU_TRY(cuMemFree_v2, memory_));
  ask("cuModuleUnload", CU_TRY(cuModuleUnload, module_));
  ask("cuEventDestroy", CU_TRY(cuEventDestroy_v2, unrecorded_));
  ask("cuStreamDestroy", CU_TRY(cuStreamDestroy_v2, idle_));
  Record()
      .Set("calls that say so", say)
      .Set("calls that do not", do_not)
      .Set("calls that say something else", otherwise)
      .Write();
}

}  // namespace tutti::gpu
