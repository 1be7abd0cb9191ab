// The device runtime: what kernels call of CUDA. What launches is in cpu_space_children.cc; here is what they may ask.
#include <algorithm>
#include <cstring>

#include "cuda/api.h"
#include "cuda/device_attribute.h"
#include "device/cpu/cpu_space.h"
#include "device/cpu/exec/device_limits.h"

namespace tutti::device::cpu {
namespace {

using guest::RuntimeCall;
using guest::RuntimeError;
using guest::RuntimeFunction;

struct ErrorText {
  RuntimeError error;
  const char* name;
  const char* text;
};
constexpr ErrorText kErrorTexts[] = {
    {RuntimeError::kNone, "cudaSuccess", "no error"},
    {RuntimeError::kInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {RuntimeError::kMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {RuntimeError::kInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {RuntimeError::kInvalidPitchValue, "cudaErrorInvalidPitchValue", "invalid pitch argument"},
    {RuntimeError::kLaunchMaxDepthExceeded, "cudaErrorLaunchMaxDepthExceeded",
     "launch would exceed maximum depth of nested launches"},
    {RuntimeError::kLaunchPendingCountExceeded, "cudaErrorLaunchPendingCountExceeded",
     "launch failed because launch would exceed cudaLimitDevRuntimePendingLaunchCount"},
    {RuntimeError::kInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {RuntimeError::kInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {RuntimeError::kInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {RuntimeError::kLaunchOutOfResources, "cudaErrorLaunchOutOfResources", "too many resources requested for launch"},
    {RuntimeError::kLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {RuntimeError::kNotSupported, "cudaErrorNotSupported", "operation not supported"},
};

// Behind the last: what all other numbers are.
size_t IndexOf(uint64_t error) {
  const auto* const found =
      std::ranges::find(kErrorTexts, error, [](const ErrorText& row) { return static_cast<uint64_t>(row.error); });
  return static_cast<size_t>(found - kErrorTexts);
}

// As clients reckon it for their own kernels (client/module/occupancy.cc).
uint32_t BlocksPerSmOf(const module::KernelInfo& kernel, const wire::DeviceInfo& device, uint64_t threads,
                       uint64_t dynamic_shared_bytes) {
  if (threads == 0 || threads > kernel.max_threads) return 0;
  const uint64_t whole_warps = (threads + 31) / 32 * 32;
  uint64_t blocks = std::min<uint64_t>(kMaxBlocksPerSm, kMaxThreadsPerSm / whole_warps);
  const uint64_t shared = kernel.static_shared_bytes + kReservedSharedBytes +
                          std::min<uint64_t>(dynamic_shared_bytes, 2 * uint64_t{kSharedBytesPerSm});
  blocks = std::min<uint64_t>(blocks, kSharedBytesPerSm / shared);
  const auto all = static_cast<uint64_t>(device.attributes[cuda::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR]);
  const uint64_t registers = kernel.registers * whole_warps;
  return static_cast<uint32_t>(registers == 0 ? blocks : std::min(blocks, all / registers));
}

// cudaFuncAttributes up to what every version of it has.
struct FuncAttributes {
  uint64_t shared_bytes;
  uint64_t const_bytes;
  uint64_t local_bytes;
  int32_t max_threads;
  int32_t registers;
  int32_t ptx_version;
  int32_t binary_version;
  int32_t cache_mode;
  int32_t max_dynamic_shared_bytes;
  int32_t carveout;
  int32_t cluster_dimensions_must_be_set;
};

void Describe(const module::KernelInfo& kernel, RuntimeCall* call) {
  const FuncAttributes attributes{
      .shared_bytes = kernel.static_shared_bytes,
      .const_bytes = kernel.const_bytes,
      .local_bytes = kernel.local_bytes,
      .max_threads = static_cast<int32_t>(kernel.max_threads),
      .registers = static_cast<int32_t>(kernel.registers),
      .ptx_version = static_cast<int32_t>(kernel.ptx_version),
      .binary_version = static_cast<int32_t>(kernel.binary_version != 0 ? kernel.binary_version : kernel.ptx_version),
      .cache_mode = 0,
      .max_dynamic_shared_bytes = static_cast<int32_t>(kSharedBytesPerBlock) -
                                  static_cast<int32_t>(std::min(kernel.static_shared_bytes, kSharedBytesPerBlock)),
      .carveout = -1,
      .cluster_dimensions_must_be_set = 0,
  };
  static_assert(sizeof attributes == 56);
  std::memcpy(call->words.data(), &attributes, sizeof attributes);
}

}  // namespace

// The texts of one error, in the window's constants; 0 if the client has no memory for them.
uint64_t CpuSpace::ErrorText(Part* part, uint64_t error, bool name) {
  const size_t index = IndexOf(error);
  const bool known = index < std::size(kErrorTexts);
  const std::string_view text = !known ? "unrecognized error code"
                                : name ? kErrorTexts[index].name
                                       : kErrorTexts[index].text;
  std::lock_guard lock(mutex_);
  uint64_t& address = part->error_texts[static_cast<uint32_t>(2 * index + (name ? 1 : 0))];
  if (address != 0) return address;
  const auto memory = memory_.AllocateConstants(text.size() + 1);
  const auto* const bytes = reinterpret_cast<const uint8_t*>(text.data());
  if (memory && memory_.WriteConstants(*memory, std::span(bytes, text.size()))) address = *memory;
  return address;
}

void CpuSpace::Part::CallRuntime(const guest::KernelLaunch& launch, RuntimeCall* call) {
  auto& w = call->words;
  const auto* const from = static_cast<const CpuOperation*>(launch.operation);
  const auto kernel_at = [&](uint64_t address) -> const module::KernelInfo* {
    const ModuleInstance& module = *from->kernel->module;
    std::lock_guard lock(space->mutex_);
    const auto number = module.KernelAt(address);
    if (!number) call->error = RuntimeError::kInvalidDeviceFunction;
    return number ? &module.index->kernels[*number] : nullptr;
  };
  switch (call->function) {
    case RuntimeFunction::kMalloc:
      w[0] = w[1] != 0 ? heap.Allocate(w[1]) : 0;
      if (w[0] == 0 && w[1] != 0) call->error = RuntimeError::kMemoryAllocation;
      return;
    case RuntimeFunction::kFree: return heap.Release(w[0]);
    case RuntimeFunction::kCurrentGraph:
      if (from->role == CpuOperation::Role::kNode && !from->parent->run->graph->is_node)
        call->address = from->parent->run->graph->number;
      return;
    case RuntimeFunction::kGetErrorString: call->address = space->ErrorText(this, w[0], false); return;
    case RuntimeFunction::kGetErrorName: call->address = space->ErrorText(this, w[0], true); return;
    case RuntimeFunction::kDeviceGetAttribute:
      if (w[1] == 0 || w[1] >= wire::kDeviceAttributes) call->error = RuntimeError::kInvalidValue;
      if (w[2] != ordinal) call->error = RuntimeError::kInvalidDevice;
      if (call->error == RuntimeError::kNone) w[0] = static_cast<uint32_t>(device->info.attributes[w[1]]);
      return;
    case RuntimeFunction::kDeviceGetLimit:
      if (w[1] >= limits.size()) {
        call->error = RuntimeError::kInvalidValue;
      } else {
        w[0] = limits[w[1]].load(std::memory_order_relaxed);
      }
      return;
    case RuntimeFunction::kGetCacheConfig:  // no preference; banks of the default width
    case RuntimeFunction::kGetSharedMemConfig: w[0] = 0; return;
    case RuntimeFunction::kGetDevice: w[0] = ordinal; return;
    case RuntimeFunction::kGetDeviceCount: w[0] = space->parts_.size(); return;
    case RuntimeFunction::kRuntimeGetVersion: w[0] = cuda::kDriverVersion; return;
    case RuntimeFunction::kFuncGetAttributes:
      if (const module::KernelInfo* const kernel = kernel_at(w[1])) Describe(*kernel, call);
      return;
    case RuntimeFunction::kBlocksPerSm:
    case RuntimeFunction::kBlocksPerSmWithFlags:
      if (const module::KernelInfo* const kernel = kernel_at(w[1]))
        w[0] = BlocksPerSmOf(*kernel, device->info, w[2], w[3]);
      return;
    default: return space->CallLaunching(this, static_cast<CpuOperation*>(launch.operation), call);
  }
}

}  // namespace tutti::device::cpu
