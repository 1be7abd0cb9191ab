// The driver's compute modes: values of CU_DEVICE_ATTRIBUTE_COMPUTE_MODE.
#pragma once

namespace tutti::cuda {

// The enumerators keep the vendor's names and values.
enum CUcomputemode : int {
  CU_COMPUTEMODE_DEFAULT = 0,
  CU_COMPUTEMODE_PROHIBITED = 2,
  CU_COMPUTEMODE_EXCLUSIVE_PROCESS = 3,
};

}  // namespace tutti::cuda
