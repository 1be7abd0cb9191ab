// The vendor's device and context of an executor.
#pragma once

#include "base/error.h"
#include "executor/vendor.h"
#include "wire/channel_layout.h"

namespace tutti::executor {

struct Device {
  cuda::CUdevice device = 0;
  cuda::CUcontext context = nullptr;
  wire::DeviceInfo info{};
};

// Initialises the driver and makes the primary context of the first device that this process sees current.
Result<Device> OpenDevice(const Vendor& vendor);

}  // namespace tutti::executor
