#include "executor/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "cuda/device_attribute.h"

namespace tutti::executor {
namespace {

using namespace cuda;

// What clients would use in a way that Tutti does not support on a GPU yet, or answers otherwise.
constexpr DeviceAttribute kMasked[] = {
    CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS,
    CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST,
    CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS,
    CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES,
    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_SPARSE_CUDA_ARRAY_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED,
};

// Without which no client can be served, and what that is to a person.
struct Requirement {
  DeviceAttribute attribute;
  const char* what;
};
constexpr Requirement kRequired[] = {
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, "addresses that host and device share"},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, "host memory that kernels reach"},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, "registration of host memory"},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, "memory that is mapped at chosen addresses"},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, "memory that processes share by descriptors"},
};

// A window's host part lies at the same addresses for the host and for kernels. Not of our own driver, which reaches it
// by a mapping (executor/window.h).
constexpr Requirement kRequiredOfOthers = {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM,
                                           "registered host memory at the host's own addresses"};

// Before a context is asked for: what a driver says of one that it refuses names no remedy.
Status CheckUsable(const Vendor& vendor, const wire::DeviceInfo& info) {
  constexpr int kExclusiveProcess = 3, kProhibited = 2;  // CUcomputemode
  const int mode = info.attributes[CU_DEVICE_ATTRIBUTE_COMPUTE_MODE];
  if (mode == kExclusiveProcess || mode == kProhibited) {
    return Fail(CUDA_ERROR_DEVICE_UNAVAILABLE,
                fmt::format("{} is in compute mode {}, so {}: as root, nvidia-smi -c DEFAULT", info.name,
                            mode == kProhibited ? "PROHIBITED" : "EXCLUSIVE_PROCESS",
                            mode == kProhibited ? "no process may have a context"
                                                : "one process may have a context, and Tutti has several executors"));
  }
  std::string lacks;
  const auto require = [&](const Requirement& required) {
    if (info.attributes[required.attribute] == 0) lacks += (lacks.empty() ? "" : ", ") + std::string(required.what);
  };
  std::ranges::for_each(kRequired, require);
  if (!vendor.ours) require(kRequiredOfOthers);
  if (lacks.empty()) return {};
  return Fail(CUDA_ERROR_NOT_SUPPORTED, fmt::format("{}, by this driver, lacks what Tutti needs: {} (as do some vGPUs, "
                                                    "and WSL): it can be served where another driver or profile has it",
                                                    info.name, lacks));
}

// Slabs, windows, and the fence's map are of whole pieces of this size (executor/window.cc, guest/gpu/fenced_ptx.h); a
// driver may have smaller ones. Asked of memory that is shared, whose pieces may be larger than others.
Status CheckGranularity(const Vendor& vendor, CUdevice device, const char* name) {
  constexpr size_t kPiece = 2u << 20;
  constexpr int kMinimum = 0;  // CUmemAllocationGranularity_flags
  size_t piece = kPiece;
  const CUmemAllocationProp properties{.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                       .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                       .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
                                       .win32HandleMetaData = nullptr,
                                       .allocFlags = {}};
  TUTTI_TRY(vendor.Check(vendor.cuMemGetAllocationGranularity(&piece, &properties, kMinimum),
                         "cuMemGetAllocationGranularity"));
  if (piece != 0 && kPiece % piece == 0) return {};
  return Fail(CUDA_ERROR_NOT_SUPPORTED,
              fmt::format("the driver maps memory of {} in pieces of {} bytes, and Tutti in pieces of {}", name, piece,
                          kPiece));
}

Status Describe(const Vendor& vendor, CUdevice device, wire::DeviceInfo* info) {
  TUTTI_TRY(vendor.Check(vendor.cuDeviceGetName(info->name, sizeof info->name, device), "cuDeviceGetName"));
  CUuuid uuid{};
  TUTTI_TRY(vendor.Check(vendor.cuDeviceGetUuid_v2(&uuid, device), "cuDeviceGetUuid"));
  std::memcpy(info->uuid, uuid.bytes, sizeof info->uuid);
  size_t bytes = 0;
  TUTTI_TRY(vendor.Check(vendor.cuDeviceTotalMem_v2(&bytes, device), "cuDeviceTotalMem"));
  info->total_bytes = bytes;
  for (uint32_t number = 1; number < wire::kDeviceAttributes; ++number) {
    int value = 0;
    // Those that the driver does not know stay 0.
    if (vendor.cuDeviceGetAttribute(&value, static_cast<int>(number), device) == CUDA_SUCCESS)
      info->attributes[number] = value;
  }
  for (const DeviceAttribute masked : kMasked) info->attributes[masked] = 0;
  info->attributes[CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED] = 1;  // the server's own, whatever the driver has
  info->attributes[CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES] &= CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  info->sm_group = 1;
  return {};
}

}  // namespace

tutti::Result<Device> OpenDevice(const Vendor& vendor) {
  Device opened;
  TUTTI_TRY(vendor.Check(vendor.cuInit(0), "cuInit"));
  int count = 0;
  TUTTI_TRY(vendor.Check(vendor.cuDeviceGetCount(&count), "cuDeviceGetCount"));
  if (count == 0) return Fail(CUDA_ERROR_NO_DEVICE, "the vendor's driver sees no device");
  TUTTI_TRY(vendor.Check(vendor.cuDeviceGet(&opened.device, 0), "cuDeviceGet"));
  TUTTI_TRY(Describe(vendor, opened.device, &opened.info));
  TUTTI_TRY(CheckUsable(vendor, opened.info));
  TUTTI_TRY(CheckGranularity(vendor, opened.device, opened.info.name));
  // Who waits for a stream sleeps: the end of a place waits for its kernels, which may run for ever. By default a
  // driver spins where there are fewer contexts than processors. One that refuses this serves all the same.
  (void)vendor.cuDevicePrimaryCtxSetFlags_v2(opened.device, CU_CTX_SCHED_BLOCKING_SYNC);
  TUTTI_TRY(vendor.Check(vendor.cuDevicePrimaryCtxRetain(&opened.context, opened.device), "cuDevicePrimaryCtxRetain"));
  TUTTI_TRY(vendor.Check(vendor.cuCtxSetCurrent(opened.context), "cuCtxSetCurrent"));
  int least = 0, most = 0;
  TUTTI_TRY(vendor.Check(vendor.cuCtxGetStreamPriorityRange(&least, &most), "cuCtxGetStreamPriorityRange"));
  constexpr int kMostUrgent = -5;
  opened.info.most_urgent = std::clamp(most, kMostUrgent, 0);
  return opened;
}

}  // namespace tutti::executor
