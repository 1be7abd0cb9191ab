// CUdevice_attribute (cuda/device_attribute.def).
#pragma once

namespace tutti::cuda {

enum DeviceAttribute : int {
#define X(name, number) CU_DEVICE_ATTRIBUTE_##name = number,
#include "cuda/device_attribute.def"
#undef X
};

}  // namespace tutti::cuda
