#include "executor/device.h"

#include <algorithm>
#include <cstring>

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
    CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED,
    CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED,
};

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
  TUTTI_TRY(vendor.Check(vendor.cuDevicePrimaryCtxRetain(&opened.context, opened.device), "cuDevicePrimaryCtxRetain"));
  TUTTI_TRY(vendor.Check(vendor.cuCtxSetCurrent(opened.context), "cuCtxSetCurrent"));
  int least = 0, most = 0;
  TUTTI_TRY(vendor.Check(vendor.cuCtxGetStreamPriorityRange(&least, &most), "cuCtxGetStreamPriorityRange"));
  constexpr int kMostUrgent = -5;
  opened.info.most_urgent = std::clamp(most, kMostUrgent, 0);
  return opened;
}

}  // namespace tutti::executor
