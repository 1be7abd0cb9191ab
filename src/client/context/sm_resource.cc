#include "client/context/sm_resource.h"

#include "client/context/device.h"

namespace tutti::client {
namespace {

constexpr unsigned kMark = 0x5471'5352;

}  // namespace

constinit Pool<ResourceDescription, 1 << 16> ResourceDescription::pool_;

SmResource SmResource::Of(Device& device) { return {.device = &device, .count = device.given_sms()}; }

Answer<SmResource> SmResource::Read(const cuda::CUdevResource& resource) {
  if (resource.type != cuda::CU_DEV_RESOURCE_TYPE_SM) return Refuse(cuda::CUDA_ERROR_INVALID_RESOURCE_TYPE);
  Device* const device = Device::Find(resource.ours.device);
  if (resource.ours.mark != kMark || device == nullptr || resource.sm.smCount > device->sm_count() ||
      resource.ours.first_sm > device->sm_count() - resource.sm.smCount) {
    return Refuse(cuda::CUDA_ERROR_INVALID_VALUE);
  }
  return SmResource{.device = device, .first_sm = resource.ours.first_sm, .count = resource.sm.smCount};
}

void SmResource::Write(cuda::CUdevResource* out) const {
  *out = {};
  if (count == 0) return;
  out->type = cuda::CU_DEV_RESOURCE_TYPE_SM;
  out->ours = {.mark = kMark, .device = device->ordinal(), .first_sm = first_sm, .rest = {}};
  out->sm = {.smCount = count,
             .minSmPartitionSize = device->info().sm_group,
             .smCoscheduledAlignment = device->info().sm_group};
}

}  // namespace tutti::client
